"""The whole construction of new instances, stage by stage; who answers is passed in.

pool of analysts → disagreement → filter → consensus of the whole pool → panel of eight → verification → instance
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from metacog_pipeline.benchmarks.medley.construction.assembly import (
    Opinions,
    assemble,
    facts,
    numbered,
    panel,
    pool_consensus,
)
from metacog_pipeline.benchmarks.medley.construction.drafts import Draft
from metacog_pipeline.benchmarks.medley.construction.filters import ambiguity, difficulty
from metacog_pipeline.benchmarks.medley.construction.gates import Evidence
from metacog_pipeline.benchmarks.medley.construction.pool import read_analyst
from metacog_pipeline.benchmarks.medley.construction.probes import draw_probes
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, Consensus, Instance

Verify = Callable[[Draft, Consensus], Mapping[str, Sequence[str]]]
"""The verdicts of the judges by claim, for a draft and its consensus."""


@dataclass(frozen=True, slots=True)
class Generated:
    """New instances, why drafts were left out, the verdicts by instance and claim, and difficulty tiers."""

    instances: tuple[Instance, ...]
    left_out: Mapping[str, str]
    verdicts: Mapping[str, Mapping[str, tuple[str, ...]]]
    evidence: Evidence


def opinions_of(draft: Draft, replies: Mapping[str, Sequence[str]], families: Mapping[str, str]) -> Opinions:
    """Return what the pool said of a draft: of each analyst the first reply that can be read.

    Parameters
    ----------
    replies
        {model: its texts, in the order they were asked for}; the order of the models is the order of the pool.
    families
        {model: family}; a model without one is a family of its own.
    """
    read = {
        model: next((found for text in texts if (found := read_analyst(text, draft)) is not None), None)
        for model, texts in replies.items()
    }
    return Opinions(draft, tuple(read), tuple(families.get(m, m) for m in read), tuple(read.values()))


def generate(
    opinions: Sequence[Opinions],
    verify: Verify,
    *,
    dataset: str,
    seed: int = 0,
    prompt_versions: Sequence[str] = (),
) -> Generated:
    """Return the instances made from what the pool said; drafts nobody disagrees about are left out.

    ``seed`` draws the instances that carry a probe.
    """
    instances, left_out, verdicts = [], {}, {}
    for each in opinions:
        draft = each.draft
        open_enough = ambiguity(facts(each).jsd, CLAIM_IDS, known_answer=draft.known_answer is not None)
        if not open_enough.kept:
            left_out[draft.draft_id] = open_enough.reason
            continue
        consensus = pool_consensus(each)
        judged = {claim: tuple(given) for claim, given in verify(draft, consensus).items()}
        verdicts[draft.draft_id] = judged
        instances.append(assemble(each, consensus, panel(each), judged, dataset=dataset))
    made = numbered(instances)
    probes = draw_probes(made, seed)
    evidence = Evidence(
        difficulty={each.draft.draft_id: difficulty(each.draft.difficulty)[1] for each in opinions},
        traps=probes["trap"],
        minimal_probes=probes["minimal_instruction"],
        verdicts=verdicts,
        families={m: f for each in opinions for m, f in zip(each.models, each.families, strict=True)},
        prompt_versions=prompt_versions,
        anonymised=True,
    )
    return Generated(tuple(made), left_out, verdicts, evidence)
