"""From sources to items: what is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.benchmarks.common.files import Shown, read_frame
from metacog_pipeline.benchmarks.common.items import inputs_current, kept_digest, kept_items, note_inputs
from metacog_pipeline.benchmarks.metamedqa import sources
from metacog_pipeline.benchmarks.metamedqa.construction import pipeline
from metacog_pipeline.benchmarks.metamedqa.construction.build import limit_items
from metacog_pipeline.benchmarks.metamedqa.construction.files import items_path, read_items
from metacog_pipeline.benchmarks.metamedqa.items import Item
from metacog_pipeline.benchmarks.metamedqa.stages.settings import conditions, folder, settings
from metacog_pipeline.files import canonical_json, sha256_hex, shipped
from metacog_pipeline.study import Study

CONSTRUCTION_VERSION = "1"


@dataclass(frozen=True, slots=True)
class Built(Shown):
    """The finished data set. ``known`` violations belong to the published data, ``unexpected`` ones do not."""

    counts: dict[str, Any] = field(default_factory=dict)
    counts_add_up: bool = True
    known: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()


def parent_source(study: Study) -> Shown:
    """Bring the parent questions home, verified."""
    facts = _fetch(study, "medqa")
    rows = pipeline.load_parent(study.home.path, settings(study).dataset, folder(study))
    return Shown({**facts, "rows": len(rows)}, _frame(rows))


def fictional_source(study: Study) -> Shown:
    """Bring the fictional questions home, verified."""
    facts = _fetch(study, "metamedqa", "glianorex")
    rows = pipeline.load_fictional(study.home.path, settings(study).dataset, folder(study))
    return Shown({**facts, "rows": len(rows)}, _frame(rows))


def edit_table(study: Study) -> Shown:
    """Read or derive the edits."""
    facts = _fetch(study, "metamedqa")
    home, dataset, own = study.home.path, settings(study).dataset, folder(study)
    table = pipeline.load_or_derive_edits(home, dataset, pipeline.load_parent(home, dataset, own), own)
    counts = {"rows": len(table.edits), "anomalies": len(table.notes), "reports": list(table.reports)}
    return Shown({**facts, **counts}, _frame(table.edits))


def build(study: Study) -> Built:
    """Build the items and write them with their manifest."""
    section = settings(study)
    home, own = study.home.path, folder(study)
    parents = pipeline.load_parent(home, section.dataset, own)
    pool = pipeline.load_fictional(home, section.dataset, own)
    table = pipeline.load_or_derive_edits(home, section.dataset, parents, own)
    done = pipeline.build_items(
        section.dataset, parents, pool, table, order=section.order, seed=study.study.seed
    )
    pipeline.write_build(home, done)
    note_inputs(items_path(home), _inputs(study))
    anomalous = {note.item_id for note in table.notes}
    known = [v for v in done.violations if v.item_id in anomalous or v.advisory]
    counts = {key: value for key, value in done.manifest.items() if "count" in key or key == "rows"}
    return Built(
        facts={"rows": len(done.items), "dataset": section.dataset},
        frame=read_frame(items_path(home)).select("item_id", "kind", "target", "question"),
        counts=counts,
        counts_add_up=not any(v.rule == "O4" for v in done.violations),
        known=tuple(v.render() for v in known),
        unexpected=tuple(v.render() for v in done.violations if v not in known),
    )


def fetch_sources(study: Study) -> None:
    """Bring every source of the data set home; those already there are left alone."""
    _fetch(study, "medqa", "metamedqa", "glianorex")


def construct(study: Study) -> Built:
    """Bring the sources home and build the items in one go, for callers without Dagster."""
    fetch_sources(study)
    return build(study)


def items_current(study: Study) -> bool:
    """Whether the items on disk were built from what the study names now."""
    return inputs_current(items_path(study.home.path), lambda: _inputs(study))


def selected_items(study: Study) -> list[Item]:
    """Return the items the study asks: all, or ``limit`` of them drawn by the study's seed (a larger limit adds)."""
    return kept_items(items_path(study.home.path), _selected, settings(study).limit, study.study.seed)


def selected_digest(study: Study) -> str:
    """Return the digest of everything that decides how the selected items are asked and scored."""
    return kept_digest(items_path(study.home.path), _selected, settings(study).limit, study.study.seed)


def _selected(path: Path, limit: int | None, seed: int) -> list[Item]:
    return limit_items(read_items(path), limit, seed)


def expected_rows(study: Study) -> int:
    """Return items × conditions of one partition; 0 before the questions are built."""
    if not items_path(study.home.path).exists():
        return 0
    return len(selected_items(study)) * len(conditions(study))


def _fetch(study: Study, *names: str) -> dict[str, object]:
    """Fetch what the data set needs; shipped and custom sets need nothing."""
    if settings(study).dataset not in ("published", "corrected"):
        return {"origin": settings(study).dataset}
    fetched = sources.fetch(study.home.path, names)
    return {"origin": "; ".join(source.origin for source in fetched)}


def _inputs(study: Study) -> str:
    section = settings(study)
    files: Mapping[str, str] = {}
    if section.dataset in ("sample", "custom"):
        own = folder(study) or shipped("data", "metamedqa", "sample")
        files = {p.name: sha256_hex(p.read_bytes()) for p in sorted(own.glob("*.jsonl*")) if p.is_file()}
    inputs = [CONSTRUCTION_VERSION, section.dataset, section.order, study.study.seed, files]
    return sha256_hex(canonical_json(inputs))


def _frame(rows: Sequence[Any]) -> pl.DataFrame:
    """Return the first rows as text, for people."""
    shown = [{key: str(value) for key, value in asdict(row).items()} for row in rows[:20]]
    return pl.DataFrame(shown)
