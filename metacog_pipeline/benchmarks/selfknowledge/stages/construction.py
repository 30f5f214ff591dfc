"""From published question sets, or the shipped facts, to items: what is asked."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from metacog_pipeline.benchmarks.common.files import BuiltItems, Shown, beside
from metacog_pipeline.benchmarks.common.items import inputs_current, kept_digest, kept_items, note_inputs
from metacog_pipeline.benchmarks.selfknowledge import sources
from metacog_pipeline.benchmarks.selfknowledge.construction import pipeline
from metacog_pipeline.benchmarks.selfknowledge.construction.build import Part
from metacog_pipeline.benchmarks.selfknowledge.construction.datasets import dataset_info
from metacog_pipeline.benchmarks.selfknowledge.construction.files import items_path, read_items
from metacog_pipeline.benchmarks.selfknowledge.items import Item, asked
from metacog_pipeline.benchmarks.selfknowledge.stages.settings import conditions, settings
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.study import Study

CONSTRUCTION_VERSION = pipeline.CONSTRUCTION_VERSION
fetch = sources.fetch
SOURCE_NAMES = tuple(sources.SOURCES)


def fetch_sources(study: Study) -> Shown:
    """Bring the questions the study asks home, verified; those already there are left alone."""
    section, folder = settings(study), _folder(study)
    names = needed_sources(study)
    origins = [found.origin for found in sources.fetch(study.home.path, names)] if names else []
    parts = pipeline.load_parts(study.home.path, section.dataset, split_of(study), folder)
    facts = {
        "rows": sum(len(part.rows) for part in parts),
        "unanswerable": sum(not any(row.answers.values()) for part in parts for row in part.rows),
        "origin": "; ".join(origins) or (section.dataset if folder is None else str(folder)),
        "published": all(part.published for part in parts),
    }
    return Shown(facts, pl.DataFrame(_first(parts)))


def needed_sources(study: Study) -> tuple[str, ...]:
    """Return the names of the sources the study's items are built from; none for the sample or a folder."""
    section = settings(study)
    return pipeline.needed_sources(section.dataset, section.split, _folder(study))


def split_of(study: Study) -> str:
    """Return the part of the data set the study asks."""
    section = settings(study)
    return dataset_info(section.dataset).split(section.split)


def build(study: Study) -> BuiltItems:
    """Build the items from the sources at home and write them; ``counts`` are those of `pipeline.counted`."""
    section, home = settings(study), study.home.path
    done = pipeline.construct(
        home,
        section.dataset,
        split=section.split,
        languages=section.languages,
        limit=section.limit,
        folder=_folder(study),
        seed=study.study.seed,
    )
    note_inputs(items_path(home), _inputs(study))
    rows = [
        {
            "item_id": item.item_id,
            "question": item.questions[0][1],
            "answers": " | ".join(item.answers[0][1][:3]),
            "languages": " ".join(item.languages),
            "topic": item.topic,
        }
        for item in done.items
    ]
    return BuiltItems(
        facts={
            "rows": len(done.items),
            "dataset": done.items[0].dataset,
            "split": split_of(study),
            **done.counts,
        },
        frame=pl.DataFrame(rows),
        counts=dict(done.counts),
        violations=done.violations,
    )


def construct(study: Study) -> BuiltItems:
    """Bring the sources home and build the items in one go, for callers without Dagster."""
    fetch_sources(study)
    return build(study)


def items_current(study: Study) -> bool:
    """Whether the items on disk were built from what the study names now."""
    return inputs_current(items_path(study.home.path), lambda: _inputs(study))


def items(study: Study) -> list[Item]:
    """Return the items the study asks."""
    return kept_items(items_path(study.home.path), read_items)


def items_digest(study: Study) -> str:
    """Return the digest of everything that decides how the items are asked and scored."""
    return kept_digest(items_path(study.home.path), read_items)


def expected_rows(study: Study) -> int:
    """Return the items of one partition over all conditions, each as far as it has a question there; 0 before any."""
    if not items_path(study.home.path).exists():
        return 0
    every = items(study)
    return sum(len(asked(every, condition)) for condition in conditions(study))


def _folder(study: Study) -> Path | None:
    folder = settings(study).folder
    return None if folder is None else beside(study, folder)


def _first(parts: list[Part]) -> list[dict[str, str]]:
    return [
        {
            "source": part.source,
            "question": next(iter(row.questions.values())),
            "answers": " | ".join(next(iter(row.answers.values()))[:3]),
        }
        for part in parts
        for row in part.rows[:5]
    ]


def _inputs(study: Study) -> str:
    section = settings(study)
    files = pipeline.input_digests(study.home.path, section.dataset, section.split, _folder(study))
    drawn = [section.limit, study.study.seed]
    return sha256_hex(
        canonical_json([CONSTRUCTION_VERSION, section.dataset, split_of(study), drawn, sorted(files.items())])
    )
