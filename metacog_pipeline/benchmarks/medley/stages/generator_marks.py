"""In which order new instances are made, and what each stage's file was made from."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

from metacog_pipeline.benchmarks.common.files import mark_of
from metacog_pipeline.benchmarks.medley.construction.roles import ANALYSTS, DESIGNERS, VERIFIERS
from metacog_pipeline.benchmarks.medley.construction.wording import Words, load_words
from metacog_pipeline.benchmarks.medley.stages.generator_asking import noted
from metacog_pipeline.benchmarks.medley.stages.roles import roles
from metacog_pipeline.benchmarks.medley.stages.settings import generator_folder, settings
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.study import Study

VERSION = "1"
#: Stage → those whose files it reads, in the order in which they are made.
NEEDS: Mapping[str, tuple[str, ...]] = {
    "medley_seeds": (),
    "medley_designs": ("medley_seeds",),
    "medley_drafts": ("medley_seeds", "medley_designs"),
    "medley_opinions": ("medley_drafts",),
    "medley_disagreement": ("medley_drafts", "medley_opinions"),
    "medley_consensus": ("medley_drafts", "medley_opinions", "medley_disagreement"),
    "medley_panels": ("medley_drafts", "medley_opinions", "medley_disagreement"),
    "medley_verification": ("medley_drafts", "medley_consensus"),
    "medley_gates": (
        "medley_drafts",
        "medley_opinions",
        "medley_disagreement",
        "medley_consensus",
        "medley_panels",
        "medley_verification",
    ),
}
STAGES = tuple(NEEDS)
#: The stages that ask, and whom.
ASKING: Mapping[str, str] = {
    "medley_designs": DESIGNERS,
    "medley_opinions": ANALYSTS,
    "medley_verification": VERIFIERS,
}


def stage_path(study: Study, stage: str) -> Path:
    """Return where a stage of the generator keeps what it made."""
    return generator_folder(study) / f"{stage.removeprefix('medley_')}.parquet"


def mark(study: Study, stage: str) -> str:
    """Return the digest of everything a stage's file is made from, as it is now.

    In a stage that asks these are the manifests of who is asked: what was answered is not read for it.
    """
    before = [mark_of(stage_path(study, needed)) for needed in NEEDS[stage]]
    who = roles(study)
    own: list[object] = []
    if stage == STAGES[0]:
        own = [who.dataset, who.seeds_digest]
    elif stage in ASKING:
        people = noted(study, ASKING[stage], who.people[ASKING[stage]])
        # What was made of incomplete answers is as good as stale once that will not do any more.
        own = [words().digest, people, incomplete_will_do(study) or all(each["complete"] for each in people)]
    elif stage == STAGES[-1]:
        own = [words().digest, settings(study).anonymise, study.study.seed]
    return sha256_hex(canonical_json([VERSION, stage, before, own]))


def incomplete_will_do(study: Study) -> bool:
    """Whether the study makes instances although somebody has not answered everything."""
    made = settings(study).generator
    return made is not None and made.allow_incomplete


@functools.cache
def words() -> Words:
    """Return the texts designers, analysts and judges are asked in."""
    return load_words()
