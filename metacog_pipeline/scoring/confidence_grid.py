"""Answers of one model as counts: items over confidence × outcome, on one grid of whole percents for every benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.stats import calibration_interval
from metacog_pipeline.stats.auroc import auroc_statistic
from metacog_pipeline.stats.calibration import (
    bin_index,
    brier_parts,
    brier_statistic,
    ece_statistic,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Confidence in percent, 0..100: what a cell stands for.
GRID = 101
CELLS = 2 * GRID
SHARE = np.arange(GRID) / 100
BINS = 10
_BIN_OF = bin_index(SHARE, BINS)


def cells_of(frame: pl.DataFrame) -> Ints:
    """Return the cell of each answer with a confidence: 2 × percent + correct, ``(rows,)``."""
    return cells_at(frame["confidence"].to_numpy(), frame["correct"].to_numpy().astype(np.int64))


def cells_at(confidence: Floats, correct: Ints) -> Ints:
    """Return the same of confidences 0..1 and of 0 or 1."""
    found: Ints = 2 * np.clip(np.rint(100 * confidence).astype(np.int64), 0, 100) + correct
    return found


def accuracy(totals: Floats) -> Floats:
    """Return the share of correct answers of each row of totals ``(B, CELLS)``."""
    return _ratio(totals[:, 1::2].sum(axis=1), totals.sum(axis=1))


def mean_confidence(totals: Floats) -> Floats:
    """Return the mean stated confidence, 0..1."""
    return _ratio((totals[:, 0::2] + totals[:, 1::2]) @ SHARE, totals.sum(axis=1))


STATISTICS: Mapping[str, Callable[[Floats], Floats]] = {
    "accuracy": accuracy,
    "mean_confidence": mean_confidence,
    "ece": ece_statistic(SHARE, BINS, "equal"),
    "brier": brier_statistic(SHARE),
    "auroc2": auroc_statistic,
}


def _sums() -> Ints:
    """Return of each cell what `of_sums` adds up: an answer, its percent, its loss in 1/10,000, and its gap by bin."""
    percent, right = np.arange(CELLS) // 2, np.arange(CELLS) % 2
    gap = 100 * right - percent
    of_bin = _BIN_OF[percent][:, None] == np.arange(BINS)
    found: Ints = np.column_stack([np.ones_like(gap), percent, gap**2, gap[:, None] * of_bin])
    return found


#: Whole numbers of each cell, ``(CELLS, 3 + BINS)``: any order of adding them up gives the same.
SUMS = _sums()


def of_sums(sums: Floats) -> dict[str, Floats]:
    """Return mean confidence, ECE and Brier score of each row of answers @ `SUMS`, ``(B, 3 + BINS)``."""
    n, confidence, loss = sums[:, :3].T
    return {
        "mean_confidence": _ratio(confidence, 100 * n),
        "ece": _ratio(np.abs(sums[:, 3:]).sum(axis=1), 100 * n),
        "brier": _ratio(loss, 10_000 * n),
    }


#: Murphy's parts of the Brier score: told of one model, not compared between two.
PARTS: Mapping[str, Callable[[Floats], Floats]] = {
    f"brier_{name}": part for name, part in brier_parts(SHARE).items()
}


def error_interval(totals: Floats, drawn: Floats) -> tuple[float, float]:
    """Return the interval of the calibration error of totals ``(CELLS,)`` and their resamples ``(B, CELLS)``."""
    member = (_BIN_OF[:, None] == np.arange(BINS)).astype(np.float64)
    return calibration_interval.of_totals(totals, drawn, SHARE, member)


def part_interval(part: str, totals: Floats, drawn: Floats) -> tuple[float, float]:
    """Return the interval of the ``brier_reliability`` or ``brier_resolution`` of totals and their resamples."""
    stated = SHARE if part == "brier_reliability" else None
    return calibration_interval.of_totals(totals, drawn, stated, squared=True)


def _ratio(top: Floats, bottom: Floats) -> Floats:
    found: Floats = np.divide(top, bottom, out=np.full(len(top), np.nan), where=bottom > 0)
    return found
