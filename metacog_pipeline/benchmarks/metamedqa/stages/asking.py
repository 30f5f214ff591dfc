"""From items to kept answers, asked or imported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from metacog_pipeline.benchmarks.common.asking import imported_files, item_tasks
from metacog_pipeline.benchmarks.common.benchmark import Respondent
from metacog_pipeline.benchmarks.common.importing import Imported, replayed_partition
from metacog_pipeline.benchmarks.common.scoring import source_word
from metacog_pipeline.benchmarks.metamedqa.construction.files import items_path, read_items
from metacog_pipeline.benchmarks.metamedqa.importing import read_answers
from metacog_pipeline.benchmarks.metamedqa.items import Item
from metacog_pipeline.benchmarks.metamedqa.observe import observe
from metacog_pipeline.benchmarks.metamedqa.protocol import MODES, ask_item
from metacog_pipeline.benchmarks.metamedqa.simulated import SimulatedRespondent
from metacog_pipeline.benchmarks.metamedqa.stages.construction import (
    construct,
    items_current,
    selected_digest,
    selected_items,
)
from metacog_pipeline.benchmarks.metamedqa.stages.settings import BENCHMARK, conditions, wording
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.querying.session import Partition, asked_as, keep_imported
from metacog_pipeline.querying.types import Ask, Task
from metacog_pipeline.study import Study


def modes(spec: ModelSpec) -> tuple[str, ...]:
    """Return the answer modes to try, best first."""
    if spec.answer_mode != "auto":
        return (spec.answer_mode,)
    if spec.provider == "simulated":
        return ("text",)
    return tuple(mode for mode in MODES if mode != "logit_bias" or spec.token_ids)


def tasks(study: Study, spec: ModelSpec) -> list[Task]:
    """Return one task per item and condition."""
    words = wording(study)

    async def ask_one(item: Item, condition: str, mode: str, ask: Ask) -> None:
        await ask_item(item, condition, mode, ask, words, spec)

    return item_tasks(dict.fromkeys(conditions(study), selected_items(study)), ask_one)


def respondent(study: Study, spec: ModelSpec) -> Respondent:
    """Return the simulated observer of a model, knowing the study's questions."""
    return SimulatedRespondent(selected_items(study), spec.observer)


def parse(partition: Partition, transcripts: pl.DataFrame) -> pl.DataFrame:
    """Return one observation per item and condition."""
    study = partition.study
    return observe(
        selected_items(study),
        transcripts,
        conditions=conditions(study),
        model=partition.spec.name,
        run=partition.run,
        source=source_word(partition),
    )


def import_answers(
    study: Study, file: Path, model: str, run: int, mapping: Mapping[str, str], condition: str
) -> Imported:
    """Keep answers collected elsewhere as those of a replayed model; nothing is kept when the file is unreadable.

    Raises
    ------
    StudyError
        If the model is not a replayed one, the run is not in the study, or the file or mapping is wrong.
    """
    partition = replayed_partition(study, BENCHMARK, model, run)
    study.home.prepare()
    if not items_current(study):
        construct(study)
    items = read_items(items_path(study.home.path))
    found = read_answers(
        file, items, model=model, run=run, mapping=mapping, wording=wording(study), condition=condition
    )
    keep_imported(partition, found.records)
    return found


def fingerprint(partition: Partition) -> str:
    """Return a digest of everything a partition's answers depend on."""
    study = partition.study
    words = wording(study)
    texts = {name: words.system_message(name) for name in conditions(study)}
    asked: dict[str, object] = {
        "items": selected_digest(study),
        "words": [words.instructions, words.confidence_request, texts],
        "model": asked_as(partition.spec),
        "seed": partition.seed,
    }
    if partition.spec.provider == "replay":
        asked["imported"] = imported_files(partition)
    return sha256_hex(canonical_json(asked))
