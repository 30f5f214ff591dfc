"""The stages of construction, once for all sets: the sample's, a study's own and published ones.

Where instances are made (`authored`) a stage computes; where they are given (`given`) the same stage computes again what
was published and counts what follows. Either says how its stages are made; names, order and what a stage reads stand here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from metacog_pipeline.benchmark.contract import Check, Checked, Inputs, Made, Role, Step
from metacog_pipeline.benchmark.seeded_sample import seeded_sample
from metacog_pipeline.benchmarks.medley.construction.gates import Gate, broken_invariants, gate_frame
from metacog_pipeline.benchmarks.medley.items import DOMAINS, Instance

INVARIANTS = Check("Five claims, a panel, a consensus that names the same claims.", blocking=True)

_SEEN = ("source", "drafts", "opinions", "disagreement", "consensus", "verification", "panels")
#: {stage: (what it is, what it reads where that is there)}; where instances are given, source stands for all before
#: disagreement. Verification comes before panels: what verifiers say enters the choice.
STAGES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "source": ("The published instances with their analysts and consensus, or a folder in their layout.", ()),
    "seeds": ("What new cases are to be about: a situation, what makes it open, and five claims.", ()),
    "designs": (
        "Cases that designers wrote from the seeds; their replies are kept as transcripts.",
        ("seeds",),
    ),
    "drafts": (
        "The longest case of each seed, its five claims with fixed texts, and how hard its designers find it.",
        ("seeds", "designs"),
    ),
    "opinions": ("What every analyst says of every case; the replies are kept as transcripts.", ("drafts",)),
    "disagreement": (
        "How much the analysts disagree about each claim, and which cases are open enough to be kept.",
        _SEEN[:3],
    ),
    "consensus": (
        "What the analysts say together: the majority that stands whoever is left out, and the label median.",
        _SEEN[:4],
    ),
    "verification": (
        "What three verifiers say of the consensus on each claim.",
        ("source", "drafts", "consensus"),
    ),
    "panels": (
        "The eight analysts who are shown with each case, chosen for how they differ and for what verifiers say.",
        _SEEN[:-1],
    ),
    "gates": (
        "Whether the finished set may be released, gate by gate; a small one fails those on size.",
        _SEEN,
    ),
    "items": (
        "The instances: a case, five claims, eight analysts who disagree, and what they say together.",
        (*_SEEN, "gates"),
    ),
}


@dataclass(frozen=True, slots=True)
class Stage:
    """How one stage is made: see `contract.Step`."""

    make: Callable[[Any, Inputs], Made]
    checks: Mapping[str, Check] = field(default_factory=dict)
    asks: Role | None = None
    inputs: Callable[[Any], Any] | None = None


def steps_of(**stages: Stage) -> tuple[Step, ...]:
    """Return the steps of a set: the stages given, in the one order, each reading those before that are there."""
    found = []
    for name, (says, reads) in STAGES.items():
        if name not in stages:
            continue
        stage, needs = stages[name], tuple(each for each in reads if each in stages)
        writes = Instance if name == "items" else None
        found.append(Step(name, says, stage.make, needs, writes, stage.checks, stage.asks, stage.inputs))
    return tuple(found)


def gates_made(found: Sequence[Gate], **counted: int) -> Made:
    """Return the gates of a set with whether it may be released."""
    failed = [gate.render() for gate in found if gate.stops]
    checks = {"fit_to_be_released": Checked(not failed, {"failed": "; ".join(failed)})}
    return Made(frame=gate_frame(found), facts={**counted, "gates that stop": len(failed)}, checks=checks)


def finished(benchmark: Any, whole: Sequence[Instance], left_out: int = 0) -> Made:
    """Return at most ``limit`` instances of a whole set, with what is known of them."""
    chosen = limited(whole, benchmark.settings.limit, benchmark.context.seed)
    facts = {
        **{domain: sum(each.domain == domain for each in chosen) for domain in DOMAINS},
        "known_answer": sum(each.known_answer is not None for each in chosen),
        "verified_wrong_claims": sum(len(each.verified_wrong) for each in chosen),
        "claims": sum(len(each.claims) for each in chosen),
        "left_out": left_out,
    }
    return Made(rows=chosen, facts=facts, checks=invariants_checked(chosen))


def invariants_checked(instances: Sequence[Instance]) -> dict[str, Checked]:
    """Return whether what must hold for any instances holds for these."""
    broken = broken_invariants(instances)
    return {"invariants_hold": Checked(not broken, {"violations": "; ".join(broken)})}


def limited(instances: Sequence[Instance], limit: int | None, seed: int) -> tuple[Instance, ...]:
    """Return at most ``limit`` instances, drawn by their ids, in their order and newly numbered; a larger one only adds."""
    if limit is None:
        return tuple(instances)
    kept = set(seeded_sample([instance.item_id for instance in instances], limit, seed, "medley"))
    chosen = [instance for instance in instances if instance.item_id in kept]
    return tuple(instance.changed(position=place) for place, instance in enumerate(chosen))
