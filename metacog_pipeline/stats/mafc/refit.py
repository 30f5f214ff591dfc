"""Fits of many resamples of one cell, each begun where the sample's own fit ended.

A resample differs little from the sample, so that two or three Newton steps lead from one maximum to the other, against
eight and a search for first criteria from nowhere. Resamples that use other ratings, or whose climb does not arrive, are
fitted as any cell is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats._splines import hermite
from metacog_pipeline.stats.mafc import accuracy as type1
from metacog_pipeline.stats.mafc.fit import AT_CHANCE, Efficiency, best, checked, fit, one_cell
from metacog_pipeline.stats.mafc.likelihood import Problem, pack
from metacog_pipeline.stats.mafc.search import Found, climb
from metacog_pipeline.stats.mafc.table import LARGEST_D, table

FLAT = 1e-6  # gradient per answer; that of a single fit is smaller, but a resample's error is far larger
SURE = 5.0  # standard errors of meta-d' from 0: nearer, the sign of a resample is searched for
_NODES = 65
_WIDTH = 8.0  # standard errors of meta-d' among which resamples lie
_NARROW = 1.5  # a range of d in which a short series is precise


@dataclass(frozen=True, slots=True)
class Refits:
    """d', meta-d' and their ratio of resamples, shape ``(B,)``; NaN or ±inf where a resample has none."""

    d: Floats
    meta_d: Floats
    m_ratio: Floats


def refit(
    right: ArrayLike, wrong: ArrayLike, m: ArrayLike, sample: Efficiency, counts: tuple[Floats, Floats]
) -> Refits:
    """Fit resamples of one cell.

    Parameters
    ----------
    right, wrong
        Shape ``(B, S, K)``: resampled counts.
    m
        Shape ``(S,)``.
    sample, counts
        The fit of the cell itself, and its right and wrong answers ``(S, K)``.

    Examples
    --------
    >>> cell = np.array([[4.0, 18, 26, 64, 126]]), np.array([[7.0, 8, 13, 15, 19]])
    >>> again = np.array([[[5.0, 17, 26, 65, 125]]]), np.array([[[6.0, 9, 12, 16, 19]]])
    >>> found, cold = refit(*again, [4], fit(*(each[None] for each in cell), 4), cell), fit(*again, 4)
    >>> abs(float(found.meta_d[0] - cold.meta_d[0])) < 1e-5
    True
    """
    alternatives = np.asarray(m)
    correct, errors, repeated = checked(
        right, wrong, np.broadcast_to(alternatives, np.asarray(right).shape[:2])
    )
    d, meta, ratio = (np.full(len(correct), np.nan) for _ in range(3))
    warm = np.zeros(len(correct), dtype=bool)
    if abs(float(sample.meta_d[0])) > SURE * float(sample.se_meta_d[0]) and len(alternatives) == 1:
        own = pack(*one_cell(*counts, alternatives))
        problem = pack(correct, errors, repeated)
        warm = _same_ratings(correct + errors, counts) & (problem.used > 0).all(axis=1)
        warm &= _spread(correct, errors)
        place = np.flatnonzero(warm)
        if len(place):
            around = _WIDTH * float(sample.se_meta_d[0])
            found = _climbed(problem.take(place), best(own), float(sample.meta_d[0]), around)
            warm[place] = found.converged
            meta[place] = np.where(found.converged, found.d, np.nan)
            n = (correct + errors).sum(axis=(1, 2))
            d[warm] = _sensitivities(correct.sum(axis=(1, 2))[warm] / n[warm], int(alternatives[0]))
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio[warm] = np.where(d[warm] > AT_CHANCE, meta[warm] / d[warm], np.nan)
    cold = ~warm
    if cold.any():
        rest = fit(correct[cold], errors[cold], repeated[cold])
        d[cold], meta[cold], ratio[cold] = rest.d, rest.meta_d, rest.m_ratio
    return Refits(d, meta, ratio)


def _same_ratings(answers: Floats, counts: tuple[Floats, Floats]) -> NDArray[np.bool_]:
    """Return which resamples use the ratings that the sample uses."""
    used = (counts[0] + counts[1]) > 0
    return np.asarray(((answers > 0) == used).all(axis=(1, 2)))


def _spread(right: Floats, wrong: Floats) -> NDArray[np.bool_]:
    """Return which resamples are surely at no boundary: two ratings hold both right and wrong answers."""
    return np.asarray((((right > 0) & (wrong > 0)).sum(axis=2) >= 2).all(axis=1))


def _climbed(problem: Problem, start: Found, meta_d: float, around: float) -> Found:
    """Return the maxima next to ``start``; of a negative d the roles of right and wrong are exchanged."""
    number, size = len(problem.m), abs(meta_d)
    if meta_d < 0:
        problem = Problem(problem.wrong, problem.right, problem.m, problem.used)
    low, high = max(0.0, size - around), min(LARGEST_D, size + around)
    curve = table().near(low, high) if high - low < _NARROW else None
    zeta = np.repeat(start.zeta, number, axis=0)
    found = climb(problem, np.full(number, size), zeta=zeta, flat=FLAT, curve=curve)
    inside = (found.d > low) & (found.d < high)
    return Found(found.zeta, found.d if meta_d >= 0 else -found.d, found.slopes, found.converged & inside)


def _sensitivities(share: Floats, m: int) -> Floats:
    """Return d' of many shares that lie close together: a curve through a few, precise to 1e-9."""
    inside = (share > 0) & (share < 1)
    found = np.full(len(share), np.nan)
    if not inside.any():
        return found
    ends = type1.sensitivity([share[inside].min(), share[inside].max()], m)
    if ends[0] == ends[1] or len(share) <= _NODES:
        found[inside] = type1.sensitivity(share[inside], m)
        return found
    grid = np.linspace(ends[0], ends[1], _NODES)
    alternatives: Ints = np.full(_NODES, m)
    at, slope = type1.accuracy(grid, alternatives), type1.accuracy_slope(grid, alternatives)
    found[inside] = hermite(at, grid, 1 / slope)(share[inside])
    return found
