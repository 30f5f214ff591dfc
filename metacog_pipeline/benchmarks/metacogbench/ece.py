"""Expected calibration error of stated percentages over few items, its chance level, and its draws.

Σ over bins of n_b / N |share correct - mean confidence|. Bins have equal width over 0..100 %: ``floor`` takes [low, high)
with 100 % in the last bin (the headline), ``ceil`` (low, high] with 0 % in the first. ``mass`` cuts the sorted
confidences into groups of equal size; equal confidences may then fall into two.

With few items the error is above 0 even for a perfectly calibrated respondent. `null_distribution` says by how much, from
the respondent's own confidences.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Edges = Literal["floor", "ceil", "mass"]
EDGES: tuple[Edges, ...] = ("floor", "ceil", "mass")
BINS = 5
NULL_DRAWS = 2_000
_GUARD = 1e-12  # 0.6 · 5 is not 3 in binary


def bin_index(percent: ArrayLike, bins: int = BINS, edges: Edges = "floor") -> Ints:
    """Return the bin 0 .. bins - 1 of each percentage of shape ``(N,)``.

    Raises
    ------
    ValueError
        For percentages outside 0..100, fewer than one bin, or edges of another name.
    """
    stated = _percent(percent)
    if bins < 1:
        raise ValueError(f"bins is {bins}: at least 1 needed")
    place = stated * bins / 100
    if edges == "floor":
        found = np.floor(place + _GUARD)
    elif edges == "ceil":
        found = np.ceil(place - _GUARD) - 1
    elif edges == "mass":
        found = np.empty(len(stated))
        found[np.argsort(stated, kind="stable")] = np.arange(len(stated)) * bins // max(len(stated), 1)
    else:
        raise ValueError(f"unknown edges {edges!r}: one of {', '.join(EDGES)}")
    return np.clip(found, 0, bins - 1).astype(np.int64)


def ece(percent: ArrayLike, correct: ArrayLike, bins: int = BINS, edges: Edges = "floor") -> float | None:
    """Return the error, 0..1, of percentages and outcomes (0 or 1), both ``(N,)``; None without any."""
    stated, right = _percent(percent), np.asarray(correct, dtype=np.float64)
    if len(stated) != len(right):
        raise ValueError(f"{len(stated)} percentages for {len(right)} outcomes")
    if not len(stated):
        return None
    gaps = np.bincount(bin_index(stated, bins, edges), weights=right - stated / 100, minlength=bins)
    value = min(float(np.abs(gaps).sum()) / len(stated), 1.0)
    # Bins only ever hide what cancels within them.
    assert value + 1e-9 >= abs(float(right.mean()) - float(stated.mean()) / 100)
    return value


def resampled_ece(
    percent: Floats, correct: Floats, weights: Floats, bins: int = BINS, edges: Edges = "floor"
) -> Floats:
    """Return the error of each resample, shape ``(B,)``; NaN for one without an item.

    Parameters
    ----------
    percent, correct
        Shape ``(items,)``; NaN in ``percent`` leaves an item out.
    weights
        Shape ``(B, items)``: how often each resample holds an item.
    """
    here = ~np.isnan(percent)
    stated, right, kept = percent[here], correct[here], weights[:, here]
    table = np.zeros((len(stated), bins + 1))
    table[np.arange(len(stated)), bin_index(stated, bins, edges)] = right - stated / 100
    table[:, bins] = 1.0
    totals = kept @ table
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn: Floats = np.minimum(np.abs(totals[:, :bins]).sum(axis=1) / totals[:, bins], 1.0)
    return drawn


def null_distribution(
    percent: Floats, seed: int, draws: int = NULL_DRAWS, bins: int = BINS, edges: Edges = "floor"
) -> Floats:
    """Return errors ``(draws,)`` of a respondent who says this and is right exactly as often as it says.

    Parameters
    ----------
    percent
        Shape ``(items,)`` or ``(items, runs)``, NaN where there is none. The error is formed in each run and averaged
        over those that have any.

    Notes
    -----
    Runs share one uniform number per item: whoever knows an item knows it in every run, so runs do not average chance
    away. Without any percentage all draws are NaN.
    """
    stated = percent[:, None] if percent.ndim == 1 else percent
    luck = np.random.Generator(np.random.PCG64([seed, 0xECE])).random((draws, len(stated)))
    by_run = []
    for column in stated.T:
        here = ~np.isnan(column)
        if not here.any():
            continue
        own = column[here]
        index = bin_index(own, bins, edges)
        one_of = np.zeros((len(own), bins))
        one_of[np.arange(len(own)), index] = 1.0
        right = (luck[:, here] < own / 100).astype(np.float64)
        by_run.append(np.abs((right - own / 100) @ one_of).sum(axis=1) / len(own))
    if not by_run:
        return np.full(draws, np.nan)
    averaged: Floats = np.mean(by_run, axis=0)
    return averaged


def _percent(percent: ArrayLike) -> Floats:
    stated = np.asarray(percent, dtype=np.float64)
    if stated.ndim != 1:
        raise ValueError(f"percentages have shape {stated.shape}: 1 dimension needed")
    if stated.size and not (float(stated.min()) >= 0.0 and float(stated.max()) <= 100.0):
        raise ValueError(f"percentages {stated.min()} to {stated.max()} are outside 0..100")
    return stated
