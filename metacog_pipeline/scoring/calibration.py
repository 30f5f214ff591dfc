"""Measures of confidence computed in one way for every benchmark that has confidence per item.

ECE over ten bins of equal width, Brier score and type-2 AUROC on a grid of whole percents (`stats.confidence_grid`); risk
against coverage and calibration as a whole (`stats.confidence_measures`); d′, meta-d′, M-ratio and eta of items with
alternatives to choose from (`stats.mafc.efficiency`). A benchmark whose board has one of these of the same answers gets the
same interval (`draws`, `efficiency_of`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.measures import Where, holds
from metacog_pipeline.scoring.estimates import Basis, basis_of
from metacog_pipeline.scoring.harmonised import CHOSEN, DECLARED, PREFIX
from metacog_pipeline.scoring.schemas import CALIBRATION
from metacog_pipeline.stats import confidence_measures, resampling
from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats.confidence_grid import CELLS, GRID, cells_at, few_items, measures
from metacog_pipeline.stats.confidence_measures import Trials, trials
from metacog_pipeline.stats.coverage import low_n
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.stats.mafc import fit
from metacog_pipeline.stats.mafc.efficiency import choices, efficiency
from metacog_pipeline.stats.mafc.table import LARGEST_M
from metacog_pipeline.stats.resampling import Patterns

VERSION = "16"
N_BOOT = 1000
_DECLARED = {each.name: each for each in DECLARED}
_CELL = ("benchmark", "dataset", "condition", "model", "source")


def every_measure(answers: pl.DataFrame, *, seed: int, n_boot: int = N_BOOT) -> pl.DataFrame:
    """Return every measure of every model under every condition, in `schemas.CALIBRATION`.

    ``answers`` are rows of `schemas.HARMONISED`; those without a confidence are counted and take no part.
    """
    rows: list[tuple[Any, ...]] = []
    for key, part in sorted(answers.partition_by(_CELL, as_dict=True).items(), key=lambda each: str(each[0])):
        stated = part.filter(pl.col("confidence").is_not_null())
        rows += _rows(key, stated, of_answers(stated, seed, n_boot), part.height - stated.height)
    return pl.DataFrame(rows, schema=CALIBRATION, orient="row")


def of_answers(stated: pl.DataFrame, seed: int, n_boot: int = N_BOOT) -> dict[str, Estimate]:
    """Return every measure of one model's harmonised answers that have a confidence, by the names of the table."""
    # The order of the answers changes nothing: a benchmark's board and the table over all benchmarks get the same.
    patterns = resampling.patterns_of(_clusters(stated), cells_of(stated), CELLS)
    drawn = _trials(stated, seed, n_boot)
    of_trials = confidence_measures.of_trials(drawn)
    return {
        **measures(patterns, draws(patterns, seed, n_boot)),
        **{name: few_items(each, drawn.n_items) for name, each in of_trials.items()},
        **_efficiency(stated, seed),
    }


def draws(patterns: Patterns, seed: int, n_boot: int = N_BOOT) -> Floats:
    """Return resampled totals of the items of one model, as `resampling.patterns_of` has them."""
    # The same items are drawn for every caller, over any cells that keep the order of confidence.
    return resampling.patterns(patterns, n_boot, resampling.stream("calibration", seed, "items"))


def efficiency_of(chosen: pl.DataFrame, seed: int) -> dict[str, Estimate]:
    """Return `OF_CHOICES` of harmonised answers that are all `CHOSEN`; there is one stream of resamples."""
    cells, clusters = cells_of(chosen), chosen["cluster"].to_numpy()
    wrong, right = np.bincount(cells, minlength=CELLS).reshape(GRID, 2).astype(float).T
    used = np.flatnonzero(right + wrong)
    # All ratings that are used, for eta takes their shares, or groups of a finer scale.
    rating = np.searchsorted(used, np.arange(GRID), side="right").clip(1) - 1
    if len(used) > fit.MOST_RATINGS:
        rating = fit.groups(right, wrong)
    several = chosen.height > chosen["cluster"].n_unique()
    stream = resampling.stream("calibration", seed, "items") if several else None
    m = chosen["n_alternatives"].to_numpy().astype(np.int64)
    n_levels = int(rating.max(initial=0)) + 1
    return efficiency(choices(rating[cells // 2], cells % 2, m, clusters, stream, n_levels))


def cells_of(stated: pl.DataFrame) -> Ints:
    """Return the cell of each answer with a confidence on the grid of whole percents, ``(rows,)``."""
    return cells_at(stated["confidence"].to_numpy(), stated["correct"].to_numpy().astype(np.int64))


def _trials(stated: pl.DataFrame, seed: int, n_boot: int) -> Trials:
    """Return the answers counted and drawn; models and conditions that answered as many items share draws."""
    cells = cells_of(stated)
    stream = resampling.stream("calibration", seed, "confidence_measures")
    return trials(cells // 2 / 100, cells % 2, _clusters(stated), stream=stream, n_draws=n_boot)


def _clusters(stated: pl.DataFrame) -> Ints:
    return stated["cluster"].rank("dense").to_numpy().astype(np.int64)


def _efficiency(stated: pl.DataFrame, seed: int) -> dict[str, Estimate]:
    chosen = stated.filter(holds(CHOSEN, stated.schema))
    found = efficiency_of(chosen, seed)
    if not 0 < chosen.height < stated.height:
        return found
    others = stated.height - chosen.height
    left_out = f"left out: {others} answers not chosen among 2 to {LARGEST_M} alternatives"
    return {name: replace(each, method=f"{each.method}; {left_out}") for name, each in found.items()}


def _rows(
    key: tuple[Any, ...], stated: pl.DataFrame, found: dict[str, Estimate], silent: int
) -> Iterator[tuple[Any, ...]]:
    counted: dict[Where, Basis] = {}
    for name, each in found.items():
        declared = _DECLARED[name]
        if declared.basis not in counted:
            rows = stated.filter(holds(declared.basis, stated.schema))
            counted[declared.basis] = basis_of(rows, declared, "cluster")
        own = counted[declared.basis]
        about = (PREFIX + name, each.method, each.value, each.low, each.n, own.rarer)
        numbers = (each.value, each.low, each.high, each.sem, each.n, own.n_items, silent)
        yield (
            *key,
            PREFIX + name,
            *numbers,
            each.method,
            each.status,
            low_n(*about, several=own.n > own.n_items),
        )
