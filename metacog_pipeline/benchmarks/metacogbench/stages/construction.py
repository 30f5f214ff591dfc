"""From the shipped texts to items: what is asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from metacog_pipeline.benchmarks.common.files import BuiltItems
from metacog_pipeline.benchmarks.common.items import inputs_current, kept_digest, kept_items, note_inputs
from metacog_pipeline.benchmarks.common.sources import Fetched
from metacog_pipeline.benchmarks.metacogbench.construction import pipeline
from metacog_pipeline.benchmarks.metacogbench.construction.files import items_path, read_items
from metacog_pipeline.benchmarks.metacogbench.items import Item
from metacog_pipeline.benchmarks.metacogbench.prompts import applicable
from metacog_pipeline.benchmarks.metacogbench.stages.settings import conditions, settings
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.study import Study

CONSTRUCTION_VERSION = pipeline.CONSTRUCTION_VERSION
_PREVIEW = ("item_id", "tier", "family", "domain", "difficulty", "structure", "stem")


def fetch(home: Path, names: Sequence[str] = (), **options: object) -> list[Fetched]:
    """Return nothing: all texts come with the package."""
    return []


def needed_sources(study: Study) -> tuple[str, ...]:
    """Return the names of the sources a study is built from: none."""
    return ()


def build(study: Study) -> BuiltItems:
    """Build the items from the shipped texts and write them."""
    section = settings(study)
    done = pipeline.construct(study.home.path, section.set, seed=study.study.seed, limit=section.limit)
    note_inputs(items_path(study.home.path), _inputs(study))
    rows = [{name: getattr(item, name) for name in _PREVIEW} for item in done.items]
    return BuiltItems(
        facts={"rows": len(done.items), "set": section.set, **done.counts},
        frame=pl.DataFrame(rows, schema=dict.fromkeys(_PREVIEW, pl.String)),
        counts=dict(done.counts),
        violations=done.violations,
    )


def construct(study: Study) -> BuiltItems:
    """Build the items, for callers without Dagster."""
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
    """Return how many items a partition asks, over all conditions; 0 before the items are built."""
    if not items_path(study.home.path).exists():
        return 0
    asked = items(study)
    return sum(len(applicable(asked, condition)) for condition in conditions(study))


def _inputs(study: Study) -> str:
    section = settings(study)
    drawn = None if section.limit is None else [section.limit, study.study.seed]
    inputs = [CONSTRUCTION_VERSION, section.set, drawn, sorted(pipeline.input_digests().items())]
    return sha256_hex(canonical_json(inputs))
