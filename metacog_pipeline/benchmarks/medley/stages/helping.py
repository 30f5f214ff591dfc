"""Those who help to make new instances, as the planner, the server and the table of partitions see them.

What has not been made yet is taken to be as long as it may be: cases of `MOST_WORDS` words, none of them left out.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from metacog_pipeline.benchmarks.common.benchmark import Helpers, Respondent, Seat
from metacog_pipeline.benchmarks.common.files import read_frame
from metacog_pipeline.benchmarks.medley import construction
from metacog_pipeline.benchmarks.medley.construction import steps, tables
from metacog_pipeline.benchmarks.medley.construction.assembly import (
    Opinions,
    assemble,
    numbered,
    panel,
    pool_consensus,
)
from metacog_pipeline.benchmarks.medley.construction.designs import Seed, designer_tasks
from metacog_pipeline.benchmarks.medley.construction.drafts import Draft
from metacog_pipeline.benchmarks.medley.construction.pool import pool_tasks
from metacog_pipeline.benchmarks.medley.construction.roles import ANALYSTS, DESIGNERS
from metacog_pipeline.benchmarks.medley.construction.simulated_authors import (
    Person,
    SimulatedAuthor,
    read_sample,
)
from metacog_pipeline.benchmarks.medley.construction.steps import MOST_WORDS
from metacog_pipeline.benchmarks.medley.construction.verdicts import verification_tasks
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, Consensus
from metacog_pipeline.benchmarks.medley.labels import LABELS
from metacog_pipeline.benchmarks.medley.stages.construction import items_current
from metacog_pipeline.benchmarks.medley.stages.generator import STAGES, stale, wanted
from metacog_pipeline.benchmarks.medley.stages.generator_asking import (
    MODES,
    PARTITIONS,
    RUN,
    fingerprint_of,
    partition_of,
)
from metacog_pipeline.benchmarks.medley.stages.generator_marks import ASKING, stage_path, words
from metacog_pipeline.benchmarks.medley.stages.roles import roles
from metacog_pipeline.benchmarks.medley.stages.settings import settings
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.querying.asking import Profile
from metacog_pipeline.querying.planning import CostEstimate, estimate_whole, stored_answers
from metacog_pipeline.querying.types import Task
from metacog_pipeline.study import Study

REASON_WORDS = 60  # of one analyst on one claim
_WORD = "measured "


def estimates(study: Study) -> list[tuple[str, ModelSpec, CostEstimate]]:
    """Return (name of the transcripts, who, what is left to ask) in the order of asking; the sample's people are free."""
    if not wanted(study) or settings(study).generator is None:
        return []
    found = []
    for role, people in roles(study).people.items():
        todo = _tasks(study, role)
        for spec in people:
            partition = partition_of(study, role, spec)
            profile = partition.known_profile() or Profile(MODES[0])
            stored = stored_answers(partition.folder)
            asked = estimate_whole(spec, RUN, partition.seed, profile, todo, stored)
            found.append((PARTITIONS[role], spec, asked))
    return found


def seats(study: Study) -> list[Seat]:
    """Return the partition of everybody who helps, with how many answers it needs; 0 before that can be known."""
    if not wanted(study):
        return []
    found = []
    for role, people in roles(study).people.items():
        todo = _tasks(study, role) if _known(study, role) else []
        for spec in people:
            partition = partition_of(study, role, spec)
            digest = fingerprint_of(partition, todo, words().digest)
            found.append(Seat(partition, len(todo), digest))
    return found


def respondent(study: Study, spec: ModelSpec) -> Respondent:
    """Return the simulated voice of somebody who helps, whatever the seeds."""
    seen = spec.observer
    person = Person(spec.name, spec.family or spec.name, seen.accuracy, untidiness=seen.sloppiness)
    return SimulatedAuthor(person, words(), read_sample(), seen.seed)


@contextmanager
def foreseen(study: Study) -> Iterator[Study | None]:
    """Give the study with instances of the greatest length in a home of their own; None where its own can be built."""
    if settings(study).generator is None or items_current(study) or not stale(study):
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="metacog-plan-") as home:
        elsewhere = study.model_copy(
            update={"study": study.study.model_copy(update={"home": home, "budget_usd": None})}
        )
        opinions = [_opinions(study, draft) for draft in _drafts(study)]
        made = [assemble(each, pool_consensus(each), panel(each), dataset="custom") for each in opinions]
        construction.keep(
            Path(home), numbered(made), (), {}, seed=study.study.seed, limit=settings(study).limit
        )
        yield elsewhere


def _tasks(study: Study, role: str) -> list[Task]:
    """Return what everybody of a role is asked, as far as it is known, and as it may be at most."""
    if role == DESIGNERS:
        return designer_tasks(roles(study).seeds, words())
    drafts = _drafts(study)
    if role == ANALYSTS:
        return pool_tasks(drafts, words())
    if _made(study, "medley_consensus"):
        names = ("drafts", "consensus")
        frames = {name: read_frame(stage_path(study, f"medley_{name}")) for name in names}
        return verification_tasks(steps.to_verify(frames), words())
    return verification_tasks([(draft, _consensus()) for draft in drafts], words())


def _known(study: Study, role: str) -> bool:
    """Whether what a role is asked is known already."""
    needed = {"medley_designs": "medley_seeds", "medley_opinions": "medley_drafts"}
    stage = next(stage for stage, asked in ASKING.items() if asked == role)
    return _made(study, needed.get(stage, "medley_consensus"))


def _made(study: Study, stage: str) -> bool:
    todo = stale(study)
    return not todo or STAGES.index(stage) < STAGES.index(todo[0])


def _drafts(study: Study) -> list[Draft]:
    if _made(study, "medley_drafts"):
        return tables.drafts_of(read_frame(stage_path(study, "medley_drafts")))
    return [_draft(seed) for seed in roles(study).seeds]


def _draft(seed: Seed) -> Draft:
    length = MOST_WORDS - len(seed.scenario.split())
    vignette = f"{seed.scenario} {_WORD * length}".strip()
    return Draft(seed.seed_id, seed.domain, vignette, seed.claims, (), seed.known_answer, bool(seed.error))


def _opinions(study: Study, draft: Draft) -> Opinions:
    """Return replies of the whole pool, unlike each other and as long as replies are."""
    pool = roles(study).people[ANALYSTS]
    said = []
    for place, spec in enumerate(pool):
        items = [
            {
                "claim_id": claim,
                "claim_text": text,
                "confidence": LABELS[(place + number) % len(LABELS)],
                "reasoning": f"{spec.name} {_WORD * REASON_WORDS}",
            }
            for number, (claim, text) in enumerate(draft.claims.items())
        ]
        said.append({"assessment": _WORD * REASON_WORDS, "claim_level_assessments": items})
    families = tuple(spec.family or spec.name for spec in pool)
    return Opinions(draft, tuple(spec.name for spec in pool), families, tuple(said))


def _consensus() -> Consensus:
    details = {"position_distribution": {"support": 10, "oppose": 10, "uncertain": 10}}
    return Consensus(dict.fromkeys(CLAIM_IDS, 0.54), dict.fromkeys(CLAIM_IDS, details))


HELPERS = Helpers(
    estimates=estimates,
    seats=seats,
    respondent=respondent,
    foreseen=foreseen,
    plan_note=f"Instances that are not made yet are counted as if every seed became one, of {MOST_WORDS} words.",
)
