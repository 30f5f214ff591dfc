"""How much of the miscalibration is only a scale: calibration error and Brier score after confidence is recalibrated.

Two maps from confidence to probability. Platt (1999), "Probabilistic outputs for support vector machines": a logistic
curve of the logit of confidence (cut at `CLIP` and 1 - `CLIP`), fitted to his smoothed targets (n₊ + 1) / (n₊ + 2) and
1 / (n₋ + 2), so that it exists for any answers. Isotonic (Zadrozny & Elkan 2002, KDD): the rising steps nearest to the
shares correct, straight lines between the confidences of the training answers.

A map is fitted to four folds of the items and used on the fifth: all answers to an item are in one fold, so that no
answer is judged by a map that has seen its item. Intervals are those of the evaluation with the maps as they are: the
noise of a map is part of the error, so that with few items some is left where none would be with many.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from scipy.special import expit, logit

from metacog_pipeline.stats import intervals
from metacog_pipeline.stats._arrays import Floats
from metacog_pipeline.stats.calibration import bin_index, brier_loss, ece_statistic, turned
from metacog_pipeline.stats.calibration_line import CLIP, logistic
from metacog_pipeline.stats.estimate import OK, Estimate, unavailable
from metacog_pipeline.stats.trials import Trials

BINS = 10
LEAST_FOR_STEPS = (
    300  # items: with fewer, what isotonic steps add by their own noise is most of the error that is left
)
LEAST_PER_FOLD = 2  # items: with fewer there is nothing to fit a curve to


def platt(stated: Floats, training: Floats) -> Floats:
    """Return the probability ``(K, L)`` of each of ``stated`` ``(L,)`` by Platt's map of each training table."""
    wrong, right = training[:, 0::2], training[:, 1::2]
    n_wrong, n_right = (each.sum(axis=1, keepdims=True) for each in (wrong, right))
    high, low = (n_right + 1) / (n_right + 2), 1 / (n_wrong + 2)
    smoothed = np.empty_like(training)
    smoothed[:, 1::2] = right * high + wrong * low
    smoothed[:, 0::2] = right * (1 - high) + wrong * (1 - low)
    x = logit(np.clip(stated, CLIP, 1 - CLIP))
    a, b = logistic(x, smoothed)
    share = smoothed[:, 1::2].sum(axis=1) / smoothed.sum(axis=1)
    level = np.where(
        np.isfinite(b), a, logit(share)
    )  # one confidence in training: its share, for every confidence
    found: Floats = expit(level[:, None] + np.where(np.isfinite(b), b, 0.0)[:, None] * x)
    return found


def isotonic(stated: Floats, training: Floats) -> Floats:
    """Return the probability that isotonic regression gives each of ``stated``, shapes as those of `platt`."""
    from scipy.optimize import isotonic_regression  # late: few commands need it

    found = np.empty((len(training), len(stated)))
    for row, table in zip(found, training, strict=True):
        n = table[0::2] + table[1::2]
        used = n > 0
        fitted = isotonic_regression(table[1::2][used] / n[used], weights=n[used]).x
        row[:] = np.interp(stated, stated[used], fitted)
    return found


MAPS = {"platt": platt, "isotonic": isotonic}


def recalibrated(made: Trials) -> Mapping[str, Estimate]:
    """Return ECE and Brier score, 0..1 and 0 is best, after either map; confidences are 0..1."""
    folds, few = f"cross-fitted in {made.folds} folds of items", made.few
    methods = {
        "ece": f"ece, {BINS} bins, {folds}, {intervals.INVERTED}",
        "brier": f"brier, {folds}, {intervals.TWO_POINT}",
    }
    status = made.why_not
    if status is None and made.n_items < LEAST_PER_FOLD * made.folds:
        status = f"few items: {made.n_items}"
    if status is not None:
        return {
            f"{score}_{name}": unavailable(made.n, methods[score], status)
            for name in MAPS
            for score in methods
        }
    by_fold, found = made.folded, {}
    for name, mapped in MAPS.items():
        probability = mapped(made.grouped, by_fold.sum(axis=0) - by_fold).ravel()
        statistic = ece_statistic(probability, BINS, "equal")
        value = float(statistic(by_fold.reshape(1, -1))[0])
        rough = name == "isotonic" and made.n_items < LEAST_FOR_STEPS
        marked = few or (f"few items: {made.n_items}" if rough else OK)
        found[f"ece_{name}"] = _error(made, probability, value, methods["ece"], marked)
        loss = brier_loss(probability)
        score = intervals.ratio(made.patterns, loss, np.ones(len(loss)), turned(len(loss)))
        found[f"brier_{name}"] = replace(score, method=methods["brier"], status=few or score.status)
    return found


def _error(made: Trials, probability: Floats, value: float, method: str, status: str) -> Estimate:
    """Return the calibration error after a map, over bins of what the map gives."""
    member = (bin_index(probability, BINS)[:, None] == np.arange(BINS)).astype(np.float64)
    totals = made.folded.ravel()
    low, high = intervals.of_totals(totals, made.drawn, probability, member)
    spread = float(np.nanstd(ece_statistic(probability, BINS, "equal")(made.drawn)))
    return Estimate(value, min(low, value), max(high, value), made.n, method, status, spread)
