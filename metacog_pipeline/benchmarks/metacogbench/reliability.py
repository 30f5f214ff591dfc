"""Reliability diagrams as data: how often answers stated with about the same confidence are right.

The bins are those of the headline calibration error, [0, 20) to [80, 100] percent. Empty ones have rows too.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from metacog_pipeline.benchmarks.metacogbench.cells import Cell, Sheet, cells_of
from metacog_pipeline.benchmarks.metacogbench.ece import BINS, bin_index
from metacog_pipeline.benchmarks.metacogbench.items import BENCHMARK
from metacog_pipeline.stats.proportions import wilson_interval

MOMENTS = ("pre", "post")
_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", "dataset", "condition", "model", "moment"), pl.String),
    **dict.fromkeys(("bin", "n", "n_items"), pl.Int64),
    **dict.fromkeys(("stated_from", "stated_to", "confidence", "accuracy", "low", "high"), pl.Float64),
    "source": pl.String,
}
RELIABILITY_SCHEMA = pl.Schema(_TYPES)


def reliability(observations: pl.DataFrame) -> pl.DataFrame:
    """Return one row per dataset, condition, model, moment and bin in `RELIABILITY_SCHEMA`, over all runs.

    ``moment`` is ``pre`` (before answering) or ``post``; ``n`` counts answers, ``n_items`` the tasks they are to.
    ``stated_from`` .. ``stated_to``, the mean ``confidence`` and ``accuracy`` are 0..1; ``low`` and ``high`` are Wilson's
    interval at ``n_items``, because runs of one task are not independent. Models that lack replies are there with what
    they have.
    """
    rows = [
        row
        for cell in cells_of(observations, by_run=False)
        if (sheet := cell.sheets.get("1b")) is not None
        for moment in MOMENTS
        for row in _bins(cell, sheet, moment)
    ]
    return pl.DataFrame(rows, schema=RELIABILITY_SCHEMA, orient="row")


def _bins(cell: Cell, sheet: Sheet, moment: str) -> Iterator[tuple[object, ...]]:
    stated, right = sheet.column(moment), sheet.column("correct")
    here = ~np.isnan(stated) & ~np.isnan(right)
    place = np.full(stated.shape, -1)
    place[here] = bin_index(stated[here])
    for number in range(BINS):
        own = place == number
        n, n_items = int(own.sum()), int(own.any(axis=1).sum())
        values: tuple[float | None, ...] = (None,) * 4
        if n:
            accuracy = float(right[own].mean())
            values = (float(stated[own].mean()) / 100, accuracy, *wilson_interval(accuracy, n_items))
        yield (
            BENCHMARK,
            *(cell.dataset, cell.condition, cell.model, moment),
            *(number, n, n_items, number / BINS, (number + 1) / BINS),
            *values,
            cell.source,
        )
