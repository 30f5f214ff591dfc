"""Whether a set of instances is fit to be released: twelve gates of the published design, and three of this project.

What a gate needs and was not given is not counted as passed. The three gates of the design on judges of answers (G7, G8,
G15) are about answers, not about a set: the board shows how far judges agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from metacog_pipeline.benchmarks.medley.construction.selection import PER_FAMILY
from metacog_pipeline.benchmarks.medley.construction.sets import UNKNOWN, GivenSet
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, DOMAINS, Instance
from metacog_pipeline.benchmarks.medley.presentation import applicable, turned_visibly

# Share of the claims of known-answer cases: with fewer the adversarial arm shows nothing adversarial.
LEAST_VISIBLE = 0.9


class Gate(NamedTuple):
    """One gate: ``severity`` is blocks or warns, ``status`` passed or failed."""

    name: str
    rule: str
    severity: str
    status: str
    found: str
    wanted: str

    @property
    def stops(self) -> bool:
        """Whether the set may not be released because of this gate."""
        return self.severity == "blocks" and self.status != "passed"


def evaluate(given: GivenSet) -> list[Gate]:
    """Return the gates in the order of their names."""
    instances = given.instances
    sizes = Counter(instance.domain for instance in instances)
    tiers = {given.difficulty.get(i.item_id) for i in instances} - {None, ""}
    answered = [bool(i.analysts) and all(a.response for a in i.analysts) for i in instances]
    agreed = [{c.claim_id for c in i.claims} <= set(i.consensus.claim_confidences) for i in instances]
    traps, minimal = (len(set(given.probes.get(probe, ()))) for probe in ("trap", "minimal_instruction"))
    named = [all((i.item_id, i.domain, i.vignette, i.consensus.method)) for i in instances]
    counted = [all(None not in (c.majority_strength, c.jsd_score) for c in i.claims) for i in instances]
    five = [len(i.claims) == len(CLAIM_IDS) and i.states_claims for i in instances]
    return [
        _least("G1", "cases", "blocks", len(instances), 65),
        _least("G2", "cases in the smallest domain", "blocks", min(sizes[domain] for domain in DOMAINS), 15),
        _least("G3", "difficulty tiers", "warns", len(tiers), 1),
        _all("G4", "cases with analyst replies that could be read", answered),
        _all("G5", "cases with claims", [bool(i.claims) for i in instances]),
        _all("G6", "cases with a consensus on every claim", agreed),
        _least("G9", "trap cases", "warns", traps, 12),
        _least("G10", "known answers", "blocks", sum(i.known_answer is not None for i in instances), 18),
        _least("G11", "minimal probes", "warns", minimal, 8),
        _least("G12", "error probes", "warns", sum(i.is_error_detection for i in instances), 4),
        _least("G13", "prompt versions on record", "blocks", len(set(given.prompt_versions)), 5),
        _all("G14", "cases with complete metadata", [a and b for a, b in zip(named, counted, strict=True)]),
        _all("X1", "cases whose five claims have texts", five),
        _family_cap(given),
        _manipulation(instances),
    ]


def _family_cap(given: GivenSet) -> Gate:
    families = {name: family for name, family in given.families.items() if family != UNKNOWN}
    held = []
    for each in given.instances:
        panel = Counter(families[a.model_id] for a in each.analysts if a.model_id in families)
        held.append(bool(families) and max(panel.values(), default=0) <= PER_FAMILY)
    return _all("X4", f"cases with at most {PER_FAMILY} analysts per family", held)


def _manipulation(instances: Sequence[Instance]) -> Gate:
    """Whether a reader of an inverted consensus can see that it is inverted."""
    asked = applicable(instances, "adversarial")
    seen = [turned_visibly(each) for each in asked]
    claims = sum(len(each.claims) for each in asked)
    # No majority that survives every deletion, or a number in the middle, is shown as divided, inverted or not.
    return Gate(
        "X8",
        "claims of known-answer cases whose direction shown turns with the consensus",
        "blocks",
        "passed" if claims > 0 and sum(seen) >= LEAST_VISIBLE * claims else "failed",
        f"{sum(seen)} of {claims}, {seen.count(0)} of {len(asked)} cases unchanged; the others show divided either way",
        f"at least {100 * LEAST_VISIBLE:.0f} % (published set: 82 of 150, 4 of 30 cases unchanged)",
    )


def _least(name: str, rule: str, severity: str, found: int, wanted: int) -> Gate:
    status = "passed" if found >= wanted else "failed"
    return Gate(name, rule, severity, status, str(found), f"at least {wanted}")


def _all(name: str, rule: str, held: Sequence[bool]) -> Gate:
    # Of nothing, nothing can hold: an empty set fails.
    status = "passed" if held and all(held) else "failed"
    return Gate(name, rule, "blocks", status, f"{sum(held)} of {len(held)}", "all")


def broken_invariants(instances: Sequence[Instance]) -> list[str]:
    """Return one line per rule that no set may break, at most fifty; known defects of the published set are none."""
    lines = []
    for each in instances:
        claims, shown = tuple(claim.claim_id for claim in each.claims), [a.model_id for a in each.analysts]
        known, stated = each.known_answer, each.consensus.claim_confidences
        shares = [type(v) in (int, float) and 0 <= v <= 1 for v in stated.values()]
        rules = {
            f"domain {each.domain!r} is unknown": each.domain in DOMAINS,
            "the vignette is blank": bool(each.vignette.strip()),
            f"claims are {', '.join(claims)}, not {', '.join(CLAIM_IDS)}": claims == CLAIM_IDS,
            "no analysts": bool(shown),
            "an analyst is given twice": len(set(shown)) == len(shown),
            "a claim has no consensus": set(claims) <= set(stated),
            "a consensus is not within 0 and 1": all(shares),
            "a claim found wrong is not a claim": each.verified_wrong <= set(claims),
            "a known answer and its flag do not agree": each.is_known_answer == (known is not None),
            "the target of the known answer is not a claim": not known or known.target_wrong_claim in claims,
            "the selected analysts are not those shown": set(each.selected_models) in (set(), set(shown)),
        }
        lines += [f"{each.item_id}: {broken}" for broken, holds in rules.items() if not holds]
    return lines[:50]
