"""From instances to kept answers, and from answers to observations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from metacog_pipeline.benchmarks.common.asking import imported_files, item_tasks, mode_ladder
from metacog_pipeline.benchmarks.common.benchmark import Respondent
from metacog_pipeline.benchmarks.common.importing import Imported, replayed_partition
from metacog_pipeline.benchmarks.common.scoring import source_word
from metacog_pipeline.benchmarks.medley.importing import analyst_answers, read_answers, to_replay
from metacog_pipeline.benchmarks.medley.items import Instance
from metacog_pipeline.benchmarks.medley.observe import observe
from metacog_pipeline.benchmarks.medley.presentation import NORMAL
from metacog_pipeline.benchmarks.medley.protocol import MODES, ask_item
from metacog_pipeline.benchmarks.medley.simulate import Responder
from metacog_pipeline.benchmarks.medley.stages.construction import (
    asked,
    construct,
    instances,
    instances_digest,
    items_current,
    stripped_ids,
)
from metacog_pipeline.benchmarks.medley.stages.settings import BENCHMARK, conditions, masking, wording
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.querying.session import Partition, asked_as, keep_imported
from metacog_pipeline.querying.types import Ask, Task
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.store import kept_records


def modes(spec: ModelSpec) -> tuple[str, ...]:
    """Return the answer modes to try, best first; a mode this benchmark does not have means the whole ladder."""
    return mode_ladder(spec, MODES)


def tasks(study: Study, spec: ModelSpec) -> list[Task]:
    """Return one task per condition and instance it applies to, the normal condition first.

    A replayed model of which there is step A alone is complete with that: it has one task per instance.
    """
    words, hidden = wording(study), masking(study)
    wanted = asked(study)
    if spec.provider == "replay" and (alone := to_replay(instances(study), _kept(study, spec))) is not None:
        wanted = {NORMAL: alone}

    async def ask_one(item: Instance, condition: str, mode: str, ask: Ask) -> None:
        await ask_item(item, condition, mode, ask, words, spec, masking=hidden)

    return item_tasks(wanted, ask_one)


def respondent(study: Study, spec: ModelSpec) -> Respondent:
    """Return the simulated observer of a model, knowing the study's instances and words."""
    return Responder(instances(study), spec.observer, wording(study))


def parse(partition: Partition, transcripts: pl.DataFrame) -> pl.DataFrame:
    """Return one observation per instance and condition."""
    study = partition.study
    return observe(
        instances(study),
        transcripts,
        conditions=conditions(study),
        model=partition.spec.name,
        run=partition.run,
        source=source_word(partition),
        stripped=stripped_ids(study),
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
    partition = _seat(study, model, run)
    found = read_answers(
        file,
        instances(study),
        model=model,
        run=run,
        mapping=mapping,
        condition=condition,
        stripped=stripped_ids(study) or None,
    )
    keep_imported(partition, found.records)
    return found


def import_analyst(study: Study, analyst: str, model: str, run: int) -> Imported:
    """Keep what one analyst of the instances wrote as a replayed model's answers to step A.

    Raises
    ------
    StudyError
        If the model is not a replayed one, the run is not in the study, or no instance has that analyst.
    """
    partition = _seat(study, model, run)
    found = Imported(tuple(analyst_answers(instances(study), analyst, model=model, run=run)))
    keep_imported(partition, found.records)
    return found


def _seat(study: Study, model: str, run: int) -> Partition:
    partition = replayed_partition(study, BENCHMARK, model, run)
    study.home.prepare()
    if not items_current(study):
        construct(study)
    return partition


def _kept(study: Study, spec: ModelSpec) -> list[Record]:
    folders = (Partition(study, BENCHMARK, spec, run).folder for run in study.runs)
    return [record for folder in folders for record in kept_records(folder)]


def fingerprint(partition: Partition) -> str:
    """Return a digest of everything a partition's answers depend on."""
    study = partition.study
    words, hidden = wording(study), masking(study)
    depends_on: dict[str, object] = {
        "items": instances_digest(study),
        "words": words.digest,
        "conditions": {name: [item.item_id for item in items] for name, items in asked(study).items()},
        "masking": [hidden.anonymise, hidden.order, hidden.agreement],
        "model": asked_as(partition.spec),
        "seed": partition.seed,
    }
    if partition.spec.provider == "replay":
        depends_on["imported"] = imported_files(partition)
    return sha256_hex(canonical_json(depends_on))
