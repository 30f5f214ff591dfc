"""Measures of answers as counts: items over confidence × outcome, on one grid of whole percents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from metacog_pipeline.stats import calibration, intervals
from metacog_pipeline.stats._arrays import Floats, Ints, ratio
from metacog_pipeline.stats.auroc import auroc_from_patterns, auroc_statistic
from metacog_pipeline.stats.estimate import NO_ITEMS, OK, Estimate, unavailable
from metacog_pipeline.stats.resampling import Patterns

#: Confidence in percent, 0..100: of a cell.
GRID = 101
CELLS = 2 * GRID
SHARE = np.arange(GRID) / 100
BINS = 10
FEW_ITEMS = 30  # below, an interval of a bootstrap is known to be too narrow; the status says so
_BIN_OF = calibration.bin_index(SHARE, BINS)
_LEVELS = "levels of a percent"
_RIGHT, _EVERY = np.tile([0.0, 1.0], GRID), np.ones(CELLS)


def cells_at(confidence: Floats, correct: Ints) -> Ints:
    """Return the cell of each answer, 2 × percent + correct, from confidences 0..1 and 0 or 1, ``(rows,)`` each.

    >>> cells_at(np.array([0.5, 1.0]), np.array([0, 1])).tolist()
    [100, 201]
    """
    found: Ints = 2 * np.clip(np.rint(100 * confidence).astype(np.int64), 0, 100) + correct
    return found


STATISTICS: Mapping[str, Callable[[Floats], Floats]] = {
    "accuracy": lambda totals: ratio(totals[:, 1::2].sum(axis=1), totals.sum(axis=1)),
    "mean_confidence": lambda totals: ratio((totals[:, 0::2] + totals[:, 1::2]) @ SHARE, totals.sum(axis=1)),
    "ece": calibration.ece_statistic(SHARE, BINS, "equal"),
    "brier": calibration.brier_statistic(SHARE),
    "auroc2": auroc_statistic,
}


_PERCENT, _CORRECT = np.arange(CELLS) // 2, np.arange(CELLS) % 2
_GAP = 100 * _CORRECT - _PERCENT
_IN_BIN = _BIN_OF[_PERCENT][:, None] == np.arange(BINS)
#: Of each cell what `of_sums` adds up, ``(CELLS, 3 + BINS)``: an answer, its percent, its loss in 1/10,000, its gap by bin.
#: Of whole numbers: any order of adding them up gives the same.
SUMS: Ints = np.column_stack([np.ones_like(_GAP), _PERCENT, _GAP**2, _GAP[:, None] * _IN_BIN])


def of_sums(sums: Floats) -> dict[str, Floats]:
    """Return mean confidence, ECE and Brier score of each row of ``sums``, answers @ `SUMS`, ``(B, 3 + BINS)``, 0..1.

    >>> {name: float(each[0]) for name, each in of_sums(SUMS[[101]]).items()}
    {'mean_confidence': 0.5, 'ece': 0.5, 'brier': 0.25}
    """
    n, confidence, loss = sums[:, :3].T
    return {
        "mean_confidence": ratio(confidence, 100 * n),
        "ece": ratio(np.abs(sums[:, 3:]).sum(axis=1), 100 * n),
        "brier": ratio(loss, 10_000 * n),
    }


def measures(patterns: Patterns, drawn: Floats) -> dict[str, Estimate]:
    """Return accuracy, mean confidence, ECE, Brier score with its parts and AUROC2, all 0..1, of ``patterns``, items over
    the `CELLS`; ``drawn`` are totals of resampled items, ``(B, CELLS)``.

    >>> from metacog_pipeline.stats import resampling
    >>> patterns = resampling.patterns_of(np.arange(2), cells_at(np.array([0.9, 0.6]), np.array([1, 0])), CELLS)
    >>> round(measures(patterns, resampling.patterns(patterns, 50, 1))["brier"].value, 3)
    0.185
    """
    n, share = patterns.n_items, intervals.ratio(patterns, _RIGHT, _EVERY)
    error = few_items(calibration.ece_estimate(patterns, SHARE, drawn, BINS, "equal"), n)
    return {
        "accuracy": share,
        "mean_confidence": few_items(intervals.ratio(patterns, np.repeat(SHARE, 2), _EVERY), n),
        "ece": error,
        "brier": few_items(calibration.brier_from_patterns(patterns, SHARE), n),
        "auroc2": auroc_from_patterns(patterns),
        **_parts(patterns, drawn, error, share),
    }


def few_items(found: Estimate, n_items: int) -> Estimate:
    """Return ``found`` with a status that says that it rests on few items (``n_items``) where it has no other.

    >>> few_items(Estimate(0.5, 0.4, 0.6, 9, "none"), 9).status
    'few items: 9'
    """
    few = found.status == OK and n_items < FEW_ITEMS
    return replace(found, status=f"few items: {n_items}") if few else found


def _parts(patterns: Patterns, drawn: Floats, error: Estimate, share: Estimate) -> dict[str, Estimate]:
    """Return the parts of the Brier score; the uncertainty has the values where the share right lies in its interval."""
    totals, found = patterns.totals.astype(np.float64), {}
    for name, part in calibration.brier_parts(SHARE, totals[None]).items():
        value, low, high = float(part[0]), None, None
        if error.n == 0:
            one = unavailable(0, _LEVELS, NO_ITEMS)
        elif name != "uncertainty":
            if error.low is not None:
                stated = SHARE if name == "reliability" else None
                low, high = intervals.of_totals(totals, drawn, stated, squared=True)
            how = f"{_LEVELS}; {intervals.INVERTED}"
            one = replace(error, value=value, low=low, high=high, sem=None, method=how)
        else:
            if share.low is not None and share.high is not None:
                ends = share.low * (1 - share.low), share.high * (1 - share.high)
                highest = 0.25 if share.low <= 0.5 <= share.high else max(ends)
                low, high = min(*ends, value), max(highest, value)
            one = Estimate(
                value, low, high, share.n, f"{_LEVELS}; of the share right, {share.method}", share.status
            )
        found[f"brier_{name}"] = one
    return found
