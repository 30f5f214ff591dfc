"""Answers of one model as counts: items over confidence × outcome, on one grid of whole percents for every benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.stats import calibration_interval
from metacog_pipeline.stats.auroc import auroc_statistic
from metacog_pipeline.stats.calibration import (
    bin_index,
    brier_loss,
    brier_parts,
    brier_statistic,
    ece_statistic,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Confidence in percent, 0..100: what a cell stands for.
GRID = 101
CELLS = 2 * GRID
_SHARE = np.arange(GRID) / 100
BINS = 10
_BIN_OF = bin_index(_SHARE, BINS)
_LOSS = brier_loss(_SHARE)
_ROWS = 1000


def cells_of(frame: pl.DataFrame) -> Ints:
    """Return the cell of each answer with a confidence: 2 × percent + correct, ``(rows,)``."""
    percent = np.rint(100 * frame["confidence"].to_numpy()).astype(np.int64)
    found: Ints = 2 * np.clip(percent, 0, 100) + frame["correct"].to_numpy().astype(np.int64)
    return found


def accuracy(totals: Floats) -> Floats:
    """Return the share of correct answers of each row of totals ``(B, CELLS)``."""
    return _ratio(totals[:, 1::2].sum(axis=1), totals.sum(axis=1))


def mean_confidence(totals: Floats) -> Floats:
    """Return the mean stated confidence, 0..1."""
    return _ratio((totals[:, 0::2] + totals[:, 1::2]) @ _SHARE, totals.sum(axis=1))


STATISTICS: Mapping[str, Callable[[Floats], Floats]] = {
    "accuracy": accuracy,
    "mean_confidence": mean_confidence,
    "ece": ece_statistic(_SHARE, BINS, "equal"),
    "brier": brier_statistic(_SHARE),
    "auroc2": auroc_statistic,
}


@dataclass(frozen=True)
class Drawn:
    """Resamples of one model in the ``cells`` that hold anything, rising: ``totals`` are ``(B, cells)``.

    A model uses a few levels of confidence: what is counted over all cells is mostly zeros, of every one of ten thousand
    resamples of every pair of models.
    """

    cells: Ints
    totals: Floats

    def of(self, name: str) -> Floats:
        """Return mean confidence, ECE or Brier score of each resample: the same bits as `STATISTICS` of all cells."""
        n = self.totals.sum(axis=1)
        if name == "brier":
            return _ratio(_product(self.totals, self.cells, _LOSS), n)
        levels, wrong, right = self._by_level
        if name == "mean_confidence":
            return _ratio(_product((wrong + right).T, levels, _SHARE), n)
        if name != "ece":
            raise ValueError(f"no statistic of resamples is called {name!r}")
        gaps = np.zeros((BINS, len(n)))
        for level, own in zip(levels, right - (wrong + right) * _SHARE[levels, None], strict=True):
            gaps[_BIN_OF[level]] += own  # in their order, as a product of matrices adds them up
        return _ratio(np.ascontiguousarray(np.abs(gaps).T).sum(axis=1), n)

    @cached_property
    def _by_level(self) -> tuple[Ints, Floats, Floats]:
        """The levels that are used, and wrong and right answers of each, ``(levels, B)``."""
        levels, place = np.unique(self.cells // 2, return_inverse=True)
        found = np.zeros((2, len(levels), len(self.totals)))
        found[self.cells % 2, place] = self.totals.T
        return levels, found[0], found[1]


def _product(totals: Floats, places: Ints, weights: Floats) -> Floats:
    """Return the sums ``(B,)`` of totals at ``places`` times ``weights``, with zeros at all other places.

    A product over fewer places may be rounded otherwise; some rows at a time stay near the processor.
    """
    found = np.empty(len(totals))
    room = np.zeros((min(len(totals), _ROWS), len(weights)))
    for start in range(0, len(totals), _ROWS):
        part = totals[start : start + _ROWS]
        room[: len(part), places] = part
        found[start : start + _ROWS] = room[: len(part)] @ weights
    return found


#: Murphy's parts of the Brier score: told of one model, not compared between two.
PARTS: Mapping[str, Callable[[Floats], Floats]] = {
    f"brier_{name}": part for name, part in brier_parts(_SHARE).items()
}


def error_interval(totals: Floats, drawn: Floats) -> tuple[float, float]:
    """Return the interval of the calibration error of totals ``(CELLS,)`` and their resamples ``(B, CELLS)``."""
    member = (_BIN_OF[:, None] == np.arange(BINS)).astype(np.float64)
    return calibration_interval.of_totals(totals, drawn, _SHARE, member)


def part_interval(part: str, totals: Floats, drawn: Floats) -> tuple[float, float]:
    """Return the interval of the ``brier_reliability`` or ``brier_resolution`` of totals and their resamples."""
    stated = _SHARE if part == "brier_reliability" else None
    return calibration_interval.of_totals(totals, drawn, stated, squared=True)


def _ratio(top: Floats, bottom: Floats) -> Floats:
    found: Floats = np.divide(top, bottom, out=np.full(len(top), np.nan), where=bottom > 0)
    return found
