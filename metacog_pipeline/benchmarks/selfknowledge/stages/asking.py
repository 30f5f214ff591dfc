"""From items to kept answers, and from answers to observations."""

from __future__ import annotations

import polars as pl

from metacog_pipeline.benchmarks.common.asking import item_tasks
from metacog_pipeline.benchmarks.common.benchmark import Respondent
from metacog_pipeline.benchmarks.common.scoring import source_word
from metacog_pipeline.benchmarks.selfknowledge.items import Item, asked
from metacog_pipeline.benchmarks.selfknowledge.observe import observe
from metacog_pipeline.benchmarks.selfknowledge.protocol import MODES, answer_tokens, ask_item
from metacog_pipeline.benchmarks.selfknowledge.simulate import Responder
from metacog_pipeline.benchmarks.selfknowledge.stages.construction import items, items_digest
from metacog_pipeline.benchmarks.selfknowledge.stages.settings import conditions, settings, wording
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.querying.session import Partition, asked_as
from metacog_pipeline.querying.types import Ask, Task
from metacog_pipeline.study import Study


def modes(spec: ModelSpec) -> tuple[str, ...]:
    """Return the one answer mode of a model: text, unless its row asks for a mode there is.

    There is no ladder to try from the top: what a model says of its own accord is what is measured.
    """
    return (spec.answer_mode,) if spec.answer_mode in MODES else MODES[:1]


def tasks(study: Study, spec: ModelSpec) -> list[Task]:
    """Return one task per condition and item asked under it."""
    words = wording(study)
    greedy = settings(study).decoding == "greedy"

    async def ask_one(item: Item, condition: str, mode: str, ask: Ask) -> None:
        await ask_item(item, condition, mode, ask, words, spec, send_temperature=greedy)

    every = items(study)
    return item_tasks({name: asked(every, name) for name in conditions(study)}, ask_one)


def respondent(study: Study, spec: ModelSpec) -> Respondent:
    """Return the simulated observer of a model, knowing the study's items and words."""
    return Responder(items(study), spec.observer, wording(study))


def parse(partition: Partition, transcripts: pl.DataFrame) -> pl.DataFrame:
    """Return one observation per condition and item asked under it."""
    study = partition.study
    section, words = settings(study), wording(study)
    return observe(
        items(study),
        transcripts,
        conditions=conditions(study),
        model=partition.spec.name,
        run=partition.run,
        source=source_word(partition),
        rule=section.matching,
        yes_no=section.yes_no,
        wording={name: words.condition_digest(name) for name in conditions(study)},
    )


def fingerprint(partition: Partition) -> str:
    """Return a digest of everything a partition's answers and their readings depend on."""
    study = partition.study
    section, words = settings(study), wording(study)
    depends = {
        "items": items_digest(study),
        "words": [[name, words.condition_digest(name)] for name in conditions(study)],
        "model": asked_as(partition.spec),
        "tokens": answer_tokens(partition.spec),
        "decoding": section.decoding,
        "rules": [section.matching, section.yes_no],
        "seed": partition.seed,
    }
    return sha256_hex(canonical_json(depends))
