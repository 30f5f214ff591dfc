"""From items to kept answers, and from answers to observations."""

from __future__ import annotations

import polars as pl

from metacog_pipeline.benchmarks.common.asking import item_tasks, mode_ladder
from metacog_pipeline.benchmarks.common.benchmark import Respondent
from metacog_pipeline.benchmarks.common.scoring import source_word
from metacog_pipeline.benchmarks.signaldetection.asking import MODES, ask_item
from metacog_pipeline.benchmarks.signaldetection.items import Item
from metacog_pipeline.benchmarks.signaldetection.observe import observe
from metacog_pipeline.benchmarks.signaldetection.simulated import SimulatedRespondent
from metacog_pipeline.benchmarks.signaldetection.stages.construction import items, items_digest
from metacog_pipeline.benchmarks.signaldetection.stages.settings import conditions, settings, wording
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.querying.session import Partition, asked_as
from metacog_pipeline.querying.types import Ask, Task
from metacog_pipeline.study import Study


def modes(spec: ModelSpec) -> tuple[str, ...]:
    """Return the answer modes to try, best first; a mode this benchmark does not have means the whole ladder."""
    return mode_ladder(spec, MODES)


def tasks(study: Study, spec: ModelSpec) -> list[Task]:
    """Return one task per item and condition."""
    words = wording(study)

    async def ask_one(item: Item, condition: str, mode: str, ask: Ask) -> None:
        await ask_item(item, condition, mode, ask, words, spec)

    return item_tasks(dict.fromkeys(conditions(study), items(study)), ask_one)


def respondent(study: Study, spec: ModelSpec) -> Respondent:
    """Return the simulated observer of a model, knowing the study's items and words."""
    return SimulatedRespondent(items(study), spec.observer, wording(study))


def parse(partition: Partition, transcripts: pl.DataFrame) -> pl.DataFrame:
    """Return one observation per item and condition."""
    study = partition.study
    return observe(
        items(study),
        transcripts,
        conditions=conditions(study),
        model=partition.spec.name,
        run=partition.run,
        source=source_word(partition),
        ratings=wording(study).ratings,
    )


def fingerprint(partition: Partition) -> str:
    """Return a digest of everything a partition's answers depend on."""
    study = partition.study
    words = wording(study)
    texts = [words.text(task, condition) for task in sorted(_tasks(study)) for condition in conditions(study)]
    asked = {
        "items": items_digest(study),
        "words": [words.system, words.ratings, *texts],
        "conditions": conditions(study),
        "model": asked_as(partition.spec),
        "seed": partition.seed,
    }
    return sha256_hex(canonical_json(asked))


def _tasks(study: Study) -> set[str]:
    return set(settings(study).tasks)
