"""Curves for figures: the type-2 ROC of the graded yes, its point for the spoken yes, densities of confidence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from metacog_pipeline.benchmarks.common.files import write_frame
from metacog_pipeline.benchmarks.selfknowledge.cells import STUDY, Cell, cells_of, counts_of_cell
from metacog_pipeline.benchmarks.selfknowledge.items import BENCHMARK
from metacog_pipeline.benchmarks.selfknowledge.layout import CURVE_SCHEMA
from metacog_pipeline.benchmarks.selfknowledge.prompts import IDK
from metacog_pipeline.stats.roc import confidence_densities, roc_curve, thinned

POINTS = 200  # of a ROC curve: more cannot be seen
_Point = tuple[object, ...]


def curves(observations: pl.DataFrame) -> pl.DataFrame:
    """Return the curves of every model and condition over all runs, in ``layout.CURVE_SCHEMA``.

    ``observations`` are rows of ``observe.OBSERVATION_SCHEMA``. Under ``idk`` and in incomplete cells there are none.
    """
    rows = [
        (BENCHMARK, *cell.key, cell.source, *point)
        for cell in cells_of(observations, by_run=False)
        if not cell.n_failed and cell.condition != IDK
        for point in _points(cell)
    ]
    return pl.DataFrame(rows, schema=CURVE_SCHEMA, orient="row")


def write_curves(observations: pl.DataFrame, folder: Path) -> None:
    """Write the curves to ``<folder>/curves/curves.parquet``; ``folder`` holds the benchmark's estimates."""
    write_frame(curves(observations), folder / "curves" / "curves.parquet", "")


def _points(cell: Cell) -> Iterator[_Point]:
    hits, alarms, right, wrong = counts_of_cell(cell, STUDY)
    if right and wrong:
        yield "said", 0, alarms / wrong, hits / right, None, round(right + wrong)
    confidence, correct, _ = cell.graded()
    curve = thinned(roc_curve(confidence, correct), POINTS)
    for place, (x, y, at) in enumerate(zip(curve.false_alarms, curve.hits, curve.threshold, strict=True)):
        yield "roc", place, float(x), float(y), float(at) if np.isfinite(at) else None, len(confidence)
    if not len(confidence):
        return
    made = confidence_densities(confidence, correct)
    for name, density, number in (
        ("correct", made.correct, made.n_correct),
        ("wrong", made.wrong, made.n_wrong),
    ):
        for place, edge in enumerate(made.edges[:-1]):
            yield name, place, float(edge), float(density[place]), None, int(number[place])
