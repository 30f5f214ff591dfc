"""From items to kept answers, and from answers to observations."""

from __future__ import annotations

import polars as pl

from metacog_pipeline.benchmarks.common.asking import item_tasks
from metacog_pipeline.benchmarks.common.benchmark import Respondent
from metacog_pipeline.benchmarks.common.scoring import source_word
from metacog_pipeline.benchmarks.metacogbench.asking import MODES, ask_item
from metacog_pipeline.benchmarks.metacogbench.items import Item
from metacog_pipeline.benchmarks.metacogbench.observe import observe
from metacog_pipeline.benchmarks.metacogbench.prompts import applicable
from metacog_pipeline.benchmarks.metacogbench.simulated import SimulatedRespondent
from metacog_pipeline.benchmarks.metacogbench.stages.construction import items, items_digest
from metacog_pipeline.benchmarks.metacogbench.stages.settings import conditions, lexicon, settings, wording
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.querying.session import Partition, asked_as
from metacog_pipeline.querying.types import Ask, Task
from metacog_pipeline.study import Study


def modes(spec: ModelSpec) -> tuple[str, ...]:
    """Return the one answer mode of a model: text, unless its row asks for a mode there is.

    There is no ladder to try from the top: the form of a reply is part of what is measured.
    """
    return (spec.answer_mode,) if spec.answer_mode in MODES else MODES[:1]


def tasks(study: Study, spec: ModelSpec) -> list[Task]:
    """Return one task per condition and item asked under it."""
    words = wording(study)
    lexicon(study)  # cues that cannot be used stop a study before a cent is spent

    async def ask_one(item: Item, condition: str, mode: str, ask: Ask) -> None:
        await ask_item(item, condition, mode, ask, words, spec)

    every = items(study)
    return item_tasks({name: applicable(every, name) for name in conditions(study)}, ask_one)


def respondent(study: Study, spec: ModelSpec) -> Respondent:
    """Return the simulated observer of a model, knowing the study's items and words."""
    return SimulatedRespondent(items(study), spec.observer, wording(study))


def parse(partition: Partition, transcripts: pl.DataFrame) -> pl.DataFrame:
    """Return one observation per condition and item asked under it."""
    study = partition.study
    return observe(
        items(study),
        transcripts,
        conditions=conditions(study),
        model=partition.spec.name,
        run=partition.run,
        source=source_word(partition),
        dataset=settings(study).set,
        lexicon=lexicon(study),
    )


def fingerprint(partition: Partition) -> str:
    """Return a digest of everything a partition's answers and their readings depend on."""
    study = partition.study
    asked = {
        "items": items_digest(study),
        "words": wording(study).digest,
        "conditions": conditions(study),
        "model": asked_as(partition.spec),
        "seed": partition.seed,
        "lexicon": lexicon(study).digest,
    }
    return sha256_hex(canonical_json(asked))
