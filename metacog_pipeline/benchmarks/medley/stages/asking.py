"""From instances to kept answers, and from answers to observations."""

from __future__ import annotations

import polars as pl

from metacog_pipeline.benchmarks.common.asking import imported_files
from metacog_pipeline.benchmarks.common.benchmark import Respondent
from metacog_pipeline.benchmarks.common.scoring import source_word
from metacog_pipeline.benchmarks.medley.items import Instance
from metacog_pipeline.benchmarks.medley.observe import observe
from metacog_pipeline.benchmarks.medley.protocol import MODES, ask_item
from metacog_pipeline.benchmarks.medley.simulate import Responder
from metacog_pipeline.benchmarks.medley.stages.construction import (
    asked,
    instances,
    instances_digest,
    stripped_ids,
)
from metacog_pipeline.benchmarks.medley.stages.settings import conditions, masking, wording
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.querying.session import Partition, asked_as
from metacog_pipeline.querying.types import Ask, Task
from metacog_pipeline.study import Study


def modes(spec: ModelSpec) -> tuple[str, ...]:
    """Return the answer modes to try, best first; a mode this benchmark does not have means the whole ladder."""
    if spec.answer_mode in MODES:
        return (spec.answer_mode,)
    return ("text",) if spec.provider == "simulated" else MODES


def tasks(study: Study, spec: ModelSpec) -> list[Task]:
    """Return one task per condition and instance it applies to, the normal condition first."""
    words, hidden = wording(study), masking(study)

    def task(item: Instance, item_hash: str, condition: str) -> Task:
        async def run(ask: Ask, mode: str) -> None:
            await ask_item(item, condition, mode, ask, words, spec, masking=hidden)

        return Task(item.item_id, item_hash, condition, run)

    hashes = {item.item_id: item.item_hash for item in instances(study)}
    return [
        task(item, hashes[item.item_id], condition)
        for condition, items in asked(study).items()
        for item in items
    ]


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
