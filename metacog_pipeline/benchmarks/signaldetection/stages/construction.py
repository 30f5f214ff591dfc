"""From sources to items: what is asked."""

from __future__ import annotations

import polars as pl

from metacog_pipeline.benchmarks.common.files import BuiltItems, Shown, read_frame
from metacog_pipeline.benchmarks.common.items import inputs_current, kept_digest, kept_items, note_inputs
from metacog_pipeline.benchmarks.signaldetection import construction
from metacog_pipeline.benchmarks.signaldetection.construction import items_path, read_items, sources
from metacog_pipeline.benchmarks.signaldetection.construction.pipeline import load_texts
from metacog_pipeline.benchmarks.signaldetection.items import Item
from metacog_pipeline.benchmarks.signaldetection.stages.settings import conditions, settings
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.study import Study

CONSTRUCTION_VERSION = construction.CONSTRUCTION_VERSION


def fetch_sources(study: Study) -> Shown:
    """Bring the texts the study's tasks need home, verified; those already there are left alone."""
    section = settings(study)
    names = needed_sources(study)
    origins = (
        [found.origin for found in sources.fetch(study.home.path, names)] if names else [section.dataset]
    )
    loaded = load_texts(study.home.path, section.dataset, section.tasks)
    texts = [each for each in loaded if each is not None]
    rows = [
        {"source": each.name, "label": label, "sentence": sentence}
        for each in texts
        for label, sentence in zip(each.labels[:5], each.sentences[:5], strict=True)
    ]
    facts = {"origin": "; ".join(origins), "rows": sum(len(each.labels) for each in texts)}
    return Shown(facts, pl.DataFrame(rows))


def needed_sources(study: Study) -> tuple[str, ...]:
    """Return the names of the sources the study's tasks are built from; none for the sample."""
    return construction.needed_sources(settings(study).dataset, settings(study).tasks)


def build(study: Study) -> BuiltItems:
    """Build the items from the sources at home and write them."""
    section = settings(study)
    done = construction.construct(
        study.home.path, section.dataset, tasks=section.tasks, trials=section.trials, seed=study.study.seed
    )
    note_inputs(items_path(study.home.path), _inputs(study))
    return BuiltItems(
        facts={"rows": len(done.items), "dataset": section.dataset, **done.counts},
        frame=read_frame(items_path(study.home.path)).select("item_id", "task", "stimulus", "text"),
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
    """Return items × conditions of one partition; 0 before the items are built."""
    if not items_path(study.home.path).exists():
        return 0
    return len(items(study)) * len(conditions(study))


def _inputs(study: Study) -> str:
    section = settings(study)
    files = construction.input_digests(study.home.path, section.dataset, section.tasks)
    inputs = [CONSTRUCTION_VERSION, section.dataset, section.tasks, section.trials, study.study.seed, files]
    return sha256_hex(canonical_json(inputs))
