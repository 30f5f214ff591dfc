"""Measures of confidence computed in one way for every benchmark that has confidence per item.

ECE over ten bins of equal width, Brier score and type-2 AUROC of answers with a stated confidence on a grid of whole
percents; risk against coverage, calibration as a whole and after recalibration (`stats.confidence_measures`); d′, meta-d′,
M-ratio and eta of items with alternatives to choose from (`scoring.efficiency`). Intervals: the cluster bootstrap over
items, all runs of an item drawn together; a score interval for the AUROC; profile likelihood for the efficiency of items
with one run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from metacog_pipeline.files import sha256_hex
from metacog_pipeline.scoring import confidence_curves, efficiency
from metacog_pipeline.scoring.confidence_grid import (
    CELLS,
    GRID,
    PARTS,
    STATISTICS,
    Floats,
    Ints,
    cells_of,
    error_interval,
    part_interval,
)
from metacog_pipeline.stats import calibration_interval, confidence_measures, resampling
from metacog_pipeline.stats.auroc import auroc_from_patterns
from metacog_pipeline.stats.calibration import debiased
from metacog_pipeline.stats.estimate import NO_ITEMS, OK, SINGLE_ITEM, Estimate, unavailable
from metacog_pipeline.stats.mafc.fit import groups
from metacog_pipeline.stats.mafc.table import LARGEST_M
from metacog_pipeline.stats.measured_coverage import low_n
from metacog_pipeline.stats.resampling import Patterns
from metacog_pipeline.stats.trials import Trials, trials

VERSION = "13"
PREFIX = "harmonised_"  # a benchmark may have an ECE of its own: what is not the same has another name
N_BOOT = 1000
FEW_ITEMS = 30  # below, an interval of a bootstrap is known to be too narrow; the status says so

#: One row per benchmark, condition, model and measure over all runs.
CALIBRATION = pl.Schema(
    {
        **dict.fromkeys(("benchmark", "dataset", "condition", "model", "source", "measure"), pl.String),
        **dict.fromkeys(("estimate", "low", "high", "sem"), pl.Float64),
        **dict.fromkeys(("n", "n_items", "n_without_confidence"), pl.Int64),
        **dict.fromkeys(("method", "status"), pl.String),
        "low_n": pl.Boolean,
    }
)
_remembered: dict[tuple[str, int, int], dict[str, Estimate]] = {}
_MOST_REMEMBERED = 64
_CELL = ("benchmark", "dataset", "condition", "model", "source")


def calibration(answers: pl.DataFrame, *, seed: int, n_boot: int = N_BOOT) -> pl.DataFrame:
    """Return every measure of every model under every condition in `CALIBRATION`.

    Parameters
    ----------
    answers
        Rows of ``harmonised.HARMONISED``. Answers without a confidence are counted and take no part.
    """
    return with_curves(answers, seed=seed, n_boot=n_boot)[0]


def with_curves(
    answers: pl.DataFrame, *, seed: int, n_boot: int = N_BOOT
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the same, and the points of risk against coverage in `confidence_curves.CURVES`."""
    rows: list[dict[str, object]] = []
    points: list[dict[str, object]] = []
    for key, part in sorted(answers.partition_by(_CELL, as_dict=True).items(), key=lambda each: str(each[0])):
        named = dict(zip(_CELL, key, strict=True))
        stated = part.filter(pl.col("confidence").is_not_null())
        drawn = _trials(stated, seed, n_boot)
        rows += _rows(named, stated, drawn, seed, n_boot, part.height - stated.height)
        points += confidence_curves.points(named, drawn)
    return (
        pl.DataFrame(rows, schema=CALIBRATION, orient="row"),
        pl.DataFrame(points, schema=confidence_curves.CURVES, orient="row"),
    )


def _trials(stated: pl.DataFrame, seed: int, n_boot: int) -> Trials:
    """Return the answers counted and drawn; models and conditions that answered as many items share draws and folds."""
    cells = cells_of(stated)
    stream = resampling.stream("calibration", seed, "confidence_measures")
    return trials(cells // 2 / 100, cells % 2, _clusters(stated), stream=stream, n_draws=n_boot)


def _clusters(stated: pl.DataFrame) -> Ints:
    found: Ints = stated["cluster"].rank("dense").to_numpy().astype(np.int64)
    return found


def of_answers(
    stated: pl.DataFrame, seed: int, n_boot: int = N_BOOT, drawn: Trials | None = None
) -> dict[str, Estimate]:
    """Return every measure of one model's harmonised answers that have a confidence, by the names of the table.

    A benchmark's board and the table over all benchmarks ask for the same in turn, each in its own order, which changes
    nothing: the last ones are remembered.
    """
    used = stated.select("cluster", "confidence", "correct", "n_alternatives")
    key = sha256_hex(used.hash_rows().sort().to_numpy().tobytes()), seed, n_boot
    if key not in _remembered:
        if len(_remembered) >= _MOST_REMEMBERED:
            _remembered.clear()
        _remembered[key] = _of_answers(stated, seed, n_boot, drawn)
    return dict(_remembered[key])


def _of_answers(stated: pl.DataFrame, seed: int, n_boot: int, drawn: Trials | None) -> dict[str, Estimate]:
    patterns = resampling.patterns_of(_clusters(stated), cells_of(stated), CELLS)
    drawn = _trials(stated, seed, n_boot) if drawn is None else drawn
    return {
        **measures(patterns, seed, n_boot),
        **{name: _marked(each, drawn) for name, each in confidence_measures.of_trials(drawn).items()},
        **_efficiency(stated, seed),
    }


def _rows(
    named: dict[str, object], stated: pl.DataFrame, drawn: Trials, seed: int, n_boot: int, silent: int
) -> Iterator[dict[str, object]]:
    found = of_answers(stated, seed, n_boot, drawn)
    right = int((cells_of(stated) % 2).sum())
    rarer, n_items = min(right, stated.height - right), stated["cluster"].n_unique()
    for measure, each in found.items():
        yield {
            **named,
            "measure": PREFIX + measure,
            "estimate": each.value,
            "low": each.low,
            "high": each.high,
            "sem": each.sem,
            "n": each.n,
            "n_items": n_items,
            "n_without_confidence": silent,
            "method": each.method,
            "status": each.status,
            "low_n": low_n(
                PREFIX + measure,
                each.method,
                each.value,
                each.low,
                each.n,
                rarer,
                several=each.n > n_items,
            ),
        }


def _marked(found: Estimate, drawn: Trials) -> Estimate:
    few = found.status == OK and drawn.n_items < FEW_ITEMS
    return replace(found, status=f"few items: {drawn.n_items}") if few else found


def measures(patterns: Patterns, seed: int, n_boot: int = N_BOOT) -> dict[str, Estimate]:
    """Return every measure of one model's answers as items over the cells of `cells`."""
    totals = patterns.totals.astype(np.float64)
    drawn = resampling.patterns(patterns, n_boot, resampling.stream("calibration", seed, "items"))
    found = {name: _bootstrapped(name, patterns, totals, drawn) for name in STATISTICS}
    return {**found, "auroc2": auroc_from_patterns(patterns), **_parts(patterns, drawn, found["ece"])}


def _parts(patterns: Patterns, drawn: Floats, error: Estimate) -> dict[str, Estimate]:
    """Return the parts of the Brier score, and the calibration error without its bias: its interval is the error's."""
    totals = patterns.totals.astype(np.float64)
    n = int(totals.sum())
    if n == 0:
        return {name: unavailable(0, "levels of a percent", NO_ITEMS) for name in (*PARTS, "ece_debiased")}
    found = {}
    for name, part in PARTS.items():
        value = float(part(totals[None])[0])
        if name == "brier_uncertainty":
            found[name] = _uncertainty(value, patterns)
            continue
        low, high = part_interval(name, totals, drawn) if error.low is not None else (None, None)
        how = f"levels of a percent; {calibration_interval.METHOD}"
        found[name] = replace(error, value=value, low=low, high=high, sem=None, method=how)
    less = debiased(float(error.value or 0.0), STATISTICS["ece"](drawn))
    how = f"ece, 10 bins, less the mean excess of {len(drawn)} resamples, {calibration_interval.METHOD}"
    if less is None or error.low is None or error.high is None:
        found["ece_debiased"] = Estimate(less, None, None, n, how, error.status)
    else:
        ends = min(error.low, less), max(error.high, less)
        found["ece_debiased"] = Estimate(less, *ends, n, how, error.status)
    return found


def _uncertainty(value: float, patterns: Patterns) -> Estimate:
    """Return the uncertainty with the values it has where the share of right answers lies in its own interval."""
    share = resampling.ratio(patterns, np.tile([0.0, 1.0], GRID), np.ones(CELLS))
    how = f"levels of a percent; of the share right, {share.method}"
    if share.low is None or share.high is None:
        return Estimate(value, None, None, share.n, how, share.status)
    ends = share.low * (1 - share.low), share.high * (1 - share.high)
    highest = 0.25 if share.low <= 0.5 <= share.high else max(ends)
    return Estimate(value, min(*ends, value), max(highest, value), share.n, how, share.status)


def _bootstrapped(name: str, patterns: Patterns, totals: Floats, drawn: Floats) -> Estimate:
    n, method = int(totals.sum()), f"bootstrap of {len(drawn)} over items"
    if n == 0:
        return unavailable(0, method, NO_ITEMS)
    value = float(STATISTICS[name](totals[None])[0])
    if not np.isfinite(value):
        return unavailable(n, method, "undefined")
    if patterns.n_items < 2:
        return Estimate(value, None, None, n, method, SINGLE_ITEM)
    status = f"few items: {patterns.n_items}" if patterns.n_items < FEW_ITEMS else "ok"
    found = resampling.from_draws(value, STATISTICS[name](drawn), n, method, status)
    if name != "ece":
        return found
    low, high = error_interval(totals, drawn)
    return replace(found, low=low, high=high, method=calibration_interval.METHOD)


def _efficiency(stated: pl.DataFrame, seed: int) -> dict[str, Estimate]:
    """Return the measures of `efficiency` of the answers whose items had a known number of alternatives."""
    chosen = stated.filter(pl.col("n_alternatives").is_between(2, LARGEST_M))
    cells = cells_of(chosen)
    table = np.bincount(cells, minlength=CELLS).reshape(GRID, 2).astype(float)
    group = groups(table[:, 1], table[:, 0])
    clusters = chosen["cluster"].to_numpy()
    several = chosen.height > chosen["cluster"].n_unique()
    made = efficiency.choices(
        group[cells // 2],
        cells % 2,
        chosen["n_alternatives"].to_numpy().astype(np.int64),
        clusters,
        resampling.stream("calibration", seed, "items") if several else None,
        int(group.max(initial=0)) + 1,
    )
    (found,) = efficiency.estimates([made])
    if not 0 < chosen.height < stated.height:
        return found
    left_out = (
        f"left out: {stated.height - chosen.height} answers not chosen among 2 to {LARGEST_M} alternatives"
    )
    return {name: replace(each, method=f"{each.method}; {left_out}") for name, each in found.items()}
