"""Measures of confidence computed in one way for every benchmark that has confidence per item.

ECE over ten bins of equal width, Brier score and type-2 AUROC of answers with a stated confidence on a grid of whole
percents; meta-d′ and M-ratio of the two-alternative equivalent (`stats.folded`). Intervals: the cluster bootstrap over
items, all runs of an item drawn together; DeLong's for the AUROC.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from metacog_pipeline.scoring.confidence_grid import CELLS, STATISTICS, Floats, cells_of, levels
from metacog_pipeline.scoring.two_choice_equivalent import meta_d_estimates
from metacog_pipeline.stats import resampling
from metacog_pipeline.stats.auroc import auroc_from_patterns
from metacog_pipeline.stats.estimate import NO_ITEMS, SINGLE_ITEM, Estimate, unavailable
from metacog_pipeline.stats.resampling import Patterns

VERSION = "1"
N_BOOT = 1000
FEW_ITEMS = 30  # below, an interval of a bootstrap is known to be too narrow; the status says so

#: One row per benchmark, condition, model and measure over all runs.
CALIBRATION = pl.Schema(
    {
        **dict.fromkeys(("benchmark", "dataset", "condition", "model", "source", "measure"), pl.String),
        **dict.fromkeys(("estimate", "low", "high", "sem"), pl.Float64),
        **dict.fromkeys(("n", "n_items", "n_without_confidence"), pl.Int64),
        **dict.fromkeys(("method", "status"), pl.String),
    }
)
_CELL = ("benchmark", "dataset", "condition", "model", "source")


def calibration(answers: pl.DataFrame, *, seed: int, n_boot: int = N_BOOT) -> pl.DataFrame:
    """Return every measure of every model under every condition in `CALIBRATION`.

    Parameters
    ----------
    answers
        Rows of ``harmonised.HARMONISED``. Answers without a confidence are counted and take no part.
    """
    rows = [
        row
        for key, part in sorted(
            answers.partition_by(_CELL, as_dict=True).items(), key=lambda each: str(each[0])
        )
        for row in _rows(dict(zip(_CELL, key, strict=True)), part, seed, n_boot)
    ]
    return pl.DataFrame(rows, schema=CALIBRATION, orient="row")


def _rows(
    named: dict[str, object], part: pl.DataFrame, seed: int, n_boot: int
) -> Iterator[dict[str, object]]:
    stated = part.filter(pl.col("confidence").is_not_null())
    patterns = resampling.patterns_of(stated["cluster"].to_numpy(), cells_of(stated), CELLS)
    for measure, found in measures(patterns, seed, n_boot).items():
        yield {
            **named,
            "measure": measure,
            "estimate": found.value,
            "low": found.low,
            "high": found.high,
            "sem": found.sem,
            "n": found.n,
            "n_items": patterns.n_items,
            "n_without_confidence": part.height - stated.height,
            "method": found.method,
            "status": found.status,
        }


def measures(patterns: Patterns, seed: int, n_boot: int = N_BOOT) -> dict[str, Estimate]:
    """Return every measure of one model's answers as items over the cells of `cells`."""
    totals = patterns.totals.astype(np.float64)
    drawn = resampling.patterns(patterns, n_boot, seed)
    found = {name: _bootstrapped(name, patterns, totals, drawn) for name in STATISTICS}
    found["auroc2"] = auroc_from_patterns(patterns)
    return {**found, **_meta_d(patterns, totals, drawn)}


def _bootstrapped(name: str, patterns: Patterns, totals: Floats, drawn: Floats) -> Estimate:
    n, method = int(totals.sum()), f"bootstrap of {len(drawn)} over items"
    if n == 0:
        return unavailable(0, method, NO_ITEMS)
    value = float(STATISTICS[name](totals[None])[0])
    if not np.isfinite(value):
        return unavailable(n, method, "undefined")
    if patterns.n_items < 2:
        return Estimate(value, None, None, n, method, SINGLE_ITEM)
    values = STATISTICS[name](drawn)
    low, high = resampling.interval(values)
    status = f"few items: {patterns.n_items}" if patterns.n_items < FEW_ITEMS else "ok"
    return Estimate(value, low, high, n, method, status, float(np.nanstd(values)))


def _meta_d(patterns: Patterns, totals: Floats, drawn: Floats) -> dict[str, Estimate]:
    level = levels(totals)
    n_levels = int(level.max()) + 1
    cell = 2 * np.repeat(level, 2) + np.tile([0, 1], len(level))
    merge = (cell[:, None] == np.arange(2 * n_levels)).astype(np.float64)
    table = np.rint(totals @ merge).astype(np.int64).reshape(n_levels, 2)
    resampled = drawn @ merge if patterns.n_items > 1 else None
    (found,) = meta_d_estimates([table], [resampled])
    return found
