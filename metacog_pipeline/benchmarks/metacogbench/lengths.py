"""Pass rates at matched length: long replies collect cues for nothing, so models are compared at the same lengths.

Replies of all models to a tier are cut into four groups by their number of words, at the quartiles over all models. The
matched rate of a model is the mean of its rates in the groups, weighted by how many replies all models together have
there; groups in which a model has none are left out for every model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.metacogbench.cells import N_BOOT, Cell, Floats, Sheet, cells_of, resamples
from metacog_pipeline.benchmarks.metacogbench.items import BENCHMARK
from metacog_pipeline.stats.clusters import percentile_interval
from metacog_pipeline.stats.estimate import OK

GROUPS = 4
ALL = "all"
MEASURES: Mapping[str, tuple[str, str]] = {
    "t2a": ("2a", "passed"),
    "t2a_grounded": ("2a", "passed_grounded"),
    "t2b": ("2b", "passed"),
    "t2b_grounded": ("2b", "passed_grounded"),
}
ONE_MODEL, NOTHING_SHARED = "single model: nothing to match", "no length that all models have"
_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", "dataset", "condition", "model", "measure", "words"), pl.String),
    **dict.fromkeys(("words_from", "words_to", "mean_words", "mean_cues", "rate"), pl.Float64),
    **dict.fromkeys(("matched", "low", "high"), pl.Float64),
    "n": pl.Int64,
    **dict.fromkeys(("status", "source"), pl.String),
}
LENGTHS_SCHEMA = pl.Schema(_TYPES)


def lengths(observations: pl.DataFrame, *, seed: int, n_boot: int = N_BOOT) -> pl.DataFrame:
    """Return per dataset, condition, model and measure one row per group of lengths, and one over all.

    Parameters
    ----------
    observations
        Rows of ``observe.OBSERVATION_SCHEMA``. Simulated and measured models are matched among themselves; models that
        lack replies to a tier are left out of it.
    seed, n_boot
        Of the resampling of items, within fixed groups.

    Notes
    -----
    ``words`` is ``all`` or the group, 1 the shortest; ``n`` counts replies; ``rate`` is the share passed, ``matched``
    (rows ``all``) the share at matched length with its 95 % interval; all 0..1. ``mean_cues`` counts cues of caution (2a).
    """
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells_of(observations, by_run=False):
        groups.setdefault((cell.dataset, cell.condition, cell.source), []).append(cell)
    rows = [row for cells in groups.values() for row in _group(cells, seed, n_boot)]
    return pl.DataFrame(rows, schema=LENGTHS_SCHEMA, orient="row")


def _group(cells: list[Cell], seed: int, n_boot: int) -> Iterator[tuple[object, ...]]:
    for measure, (tier, column) in MEASURES.items():
        own = [(cell, sheet) for cell in cells if (sheet := cell.sheets.get(tier)) and not sheet.n_failed]
        words = [sheet.column("words") for _, sheet in own]
        known = np.concatenate([each[~np.isnan(each)] for each in words]) if words else np.zeros(0)
        if not len(known):
            continue
        edges = np.quantile(known, np.arange(1, GROUPS) / GROUPS)
        placed = [np.where(np.isnan(each), -1, np.searchsorted(edges, each)) for each in words]
        counts = np.array(
            [[(each == group).sum() for group in range(GROUPS)] for each in placed], dtype=float
        )
        shared = np.where((counts > 0).all(axis=0), counts.sum(axis=0), 0.0)
        ends = (float(known.min()), *map(float, edges), float(known.max()))
        for (cell, sheet), each, place in zip(own, words, placed, strict=True):
            passed = np.nan_to_num(sheet.column(column))
            cues = sheet.column("n_cues") if tier == "2a" else None
            for group in range(GROUPS):
                at = place == group
                yield _row(cell, measure, str(group + 1), ends[group : group + 2], at, each, cues, passed)
            matched = _matched(sheet, place, passed, shared, seed, n_boot)
            status = ONE_MODEL if len(own) == 1 else OK if shared.any() else NOTHING_SHARED
            span = (ends[0], ends[-1])
            yield _row(cell, measure, ALL, span, place >= 0, each, cues, passed, matched, status)


def _matched(
    sheet: Sheet, place: Floats, passed: Floats, shared: Floats, seed: int, n_boot: int
) -> tuple[float | None, float | None, float | None]:
    if not shared.any():
        return None, None, None
    weights = np.vstack([np.ones(sheet.n_items), resamples(sheet.tier, sheet.n_items, n_boot, seed)])
    total = np.zeros(len(weights))
    for group in np.flatnonzero(shared):
        at = place == group
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = (weights @ (passed * at).sum(axis=1)) / (weights @ at.sum(axis=1).astype(np.float64))
        total += rate * shared[group] / shared.sum()
    value = float(total[0])
    low, high = percentile_interval(total[1:]) if sheet.n_items > 1 else (None, None)
    if low is None or high is None:
        return value, None, None
    return value, min(low, value), max(high, value)


def _row(
    cell: Cell,
    measure: str,
    name: str,
    span: tuple[float, ...],
    at: NDArray[np.bool_],
    words: Floats,
    cues: Floats | None,
    passed: Floats,
    matched: tuple[float | None, float | None, float | None] = (None, None, None),
    status: str = OK,
) -> tuple[object, ...]:
    n = int(at.sum())

    def mean(values: Floats | None) -> float | None:
        return None if values is None or not n else float(np.nanmean(values[at]))

    return (
        BENCHMARK,
        *(cell.dataset, cell.condition, cell.model, measure, name),
        *span,
        *(mean(words), mean(cues), mean(passed)),
        *matched,
        *(n, status, cell.source),
    )
