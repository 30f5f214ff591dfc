"""Measures of confidence computed in one way for every benchmark that has confidence per item.

ECE over ten bins of equal width, Brier score and type-2 AUROC of answers with a stated confidence on a grid of whole
percents; risk against coverage, calibration as a whole and after recalibration (`stats.confidence_measures`); d′, meta-d′,
M-ratio and eta of items with alternatives to choose from (`scoring.efficiency`). Intervals: Wilson's for accuracy, the
standard error for means, both clustered where an item has several runs; a score interval for the AUROC; profile likelihood
for the efficiency of items with one run; else the cluster bootstrap over items, all runs of an item drawn together. A
benchmark whose board has one of these of the same answers gets the same interval (`draws`, `efficiency.of_answers`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.measures import Where, holds
from metacog_pipeline.scoring import confidence_curves, efficiency
from metacog_pipeline.scoring.confidence_grid import (
    CELLS,
    GRID,
    PARTS,
    SHARE,
    STATISTICS,
    Floats,
    Ints,
    cells_at,
    cells_of,
    error_interval,
    part_interval,
)
from metacog_pipeline.scoring.estimates import Basis, basis_of
from metacog_pipeline.scoring.harmonised_measures import CHOSEN, DECLARED
from metacog_pipeline.scoring.schemas import CALIBRATION, CURVES
from metacog_pipeline.stats import calibration_interval, confidence_measures, resampling
from metacog_pipeline.stats.auroc import auroc_from_patterns
from metacog_pipeline.stats.calibration import brier_from_patterns, debiased, ece_clustered
from metacog_pipeline.stats.estimate import NO_ITEMS, OK, SINGLE_ITEM, Estimate, unavailable
from metacog_pipeline.stats.mafc.table import LARGEST_M
from metacog_pipeline.stats.measured_coverage import low_n
from metacog_pipeline.stats.resampling import Patterns
from metacog_pipeline.stats.trials import Trials, trials

VERSION = "14"
PREFIX = "harmonised_"  # a benchmark may have an ECE of its own: what is not the same has another name
N_BOOT = 1000
_WHOLE = 1e-9  # of a percent: rounding
FEW_ITEMS = 30  # below, an interval of a bootstrap is known to be too narrow; the status says so

_DECLARED = {each.name: each for each in DECLARED}
_CELL = ("benchmark", "dataset", "condition", "model", "source")


def calibration(answers: pl.DataFrame, *, seed: int, n_boot: int = N_BOOT) -> pl.DataFrame:
    """Return every measure of every model under every condition in `CALIBRATION`.

    Parameters
    ----------
    answers
        Rows of `schemas.HARMONISED`. Answers without a confidence are counted and take no part.
    """
    return with_curves(answers, seed=seed, n_boot=n_boot)[0]


def with_curves(
    answers: pl.DataFrame, *, seed: int, n_boot: int = N_BOOT
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the same, and the points of risk against coverage in `CURVES`."""
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
        pl.DataFrame(points, schema=CURVES, orient="row"),
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

    The order of the answers changes nothing: a benchmark's board and the table over all benchmarks get the same.
    """
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
    counted: dict[Where, Basis] = {}
    for measure, each in of_answers(stated, seed, n_boot, drawn).items():
        declared = _DECLARED[measure]
        if declared.basis not in counted:
            answers = stated.filter(holds(declared.basis, stated.schema))
            counted[declared.basis] = basis_of(answers, declared, "cluster")
        own = counted[declared.basis]
        yield {
            **named,
            "measure": PREFIX + measure,
            "estimate": each.value,
            "low": each.low,
            "high": each.high,
            "sem": each.sem,
            "n": each.n,
            "n_items": own.n_items,
            "n_without_confidence": silent,
            "method": each.method,
            "status": each.status,
            "low_n": low_n(
                PREFIX + measure,
                each.method,
                each.value,
                each.low,
                each.n,
                own.rarer,
                several=own.several,
            ),
        }


def _marked(found: Estimate, drawn: Trials) -> Estimate:
    few = found.status == OK and drawn.n_items < FEW_ITEMS
    return replace(found, status=f"few items: {drawn.n_items}") if few else found


def measures(patterns: Patterns, seed: int, n_boot: int = N_BOOT) -> dict[str, Estimate]:
    """Return every measure of one model's answers as items over the cells of `cells`."""
    totals = patterns.totals.astype(np.float64)
    drawn = draws(patterns, seed, n_boot)
    error = _error(patterns, totals, drawn)
    every = np.ones(CELLS)
    return {
        "accuracy": resampling.ratio(patterns, np.tile([0.0, 1.0], GRID), every),
        "mean_confidence": _of_few(resampling.ratio(patterns, np.repeat(SHARE, 2), every), patterns),
        "ece": error,
        "brier": _of_few(brier_from_patterns(patterns, SHARE), patterns),
        "auroc2": auroc_from_patterns(patterns),
        **_parts(patterns, drawn, error),
    }


def error_of(confidence: Floats, correct: Ints, clusters: Ints, seed: int) -> Estimate:
    """Return the calibration error of confidences as they were stated; of whole percents it is the ``ece`` of the table."""
    percent = np.rint(100 * confidence)
    if not len(confidence) or np.abs(100 * confidence - percent).max() > _WHOLE:
        return ece_clustered(confidence, correct, clusters, resampling.stream("calibration", seed, "items"))
    patterns = resampling.patterns_of(clusters, cells_at(confidence, correct), CELLS)
    return _error(patterns, patterns.totals.astype(np.float64), draws(patterns, seed))


def draws(patterns: Patterns, seed: int, n_boot: int = N_BOOT) -> Floats:
    """Return resampled totals of the items of one model, as `resampling.patterns_of` has them.

    The same items are drawn whoever asks, over whatever cells that keep the order of confidence.
    """
    return resampling.patterns(patterns, n_boot, resampling.stream("calibration", seed, "items"))


def _of_few(found: Estimate, patterns: Patterns) -> Estimate:
    few = found.status == OK and patterns.n_items < FEW_ITEMS
    return replace(found, status=f"few items: {patterns.n_items}") if few else found


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


def _error(patterns: Patterns, totals: Floats, drawn: Floats) -> Estimate:
    n, method = int(totals.sum()), calibration_interval.METHOD
    if n == 0:
        return unavailable(0, method, NO_ITEMS)
    value = float(STATISTICS["ece"](totals[None])[0])
    if patterns.n_items < 2:
        return Estimate(value, None, None, n, method, SINGLE_ITEM)
    low, high = error_interval(totals, drawn)
    sem = float(np.nanstd(STATISTICS["ece"](drawn)))
    return _of_few(Estimate(value, low, high, n, method, sem=sem), patterns)


def _efficiency(stated: pl.DataFrame, seed: int) -> dict[str, Estimate]:
    """Return the measures of `efficiency` of the answers whose items had a known number of alternatives."""
    chosen = stated.filter(holds(CHOSEN, stated.schema))
    found = efficiency.of_answers(chosen, seed)
    if not 0 < chosen.height < stated.height:
        return found
    left_out = (
        f"left out: {stated.height - chosen.height} answers not chosen among 2 to {LARGEST_M} alternatives"
    )
    return {name: replace(each, method=f"{each.method}; {left_out}") for name, each in found.items()}
