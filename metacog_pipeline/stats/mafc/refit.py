"""Fits of many resamples of one cell, each begun where the sample's own fit ended.

A resample differs little from the sample, so that two or three Newton steps lead from one maximum to the other, against
eight and a search for first criteria from nowhere. Resamples of one stratum that use other ratings, and all whose climb
does not arrive, are fitted as any cell is. With several strata nearly every resample lacks a rating somewhere: its first
criteria are those of the sample, without what fell out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike, NDArray

from metacog_pipeline.stats import identifiability
from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats.identifiability import BOUNDARY_DOWN, BOUNDARY_UP, OK
from metacog_pipeline.stats.mafc import accuracy as type1
from metacog_pipeline.stats.mafc.fit import AT_CHANCE, Efficiency, best, checked, one_cell, type1_of
from metacog_pipeline.stats.mafc.likelihood import Problem, pack
from metacog_pipeline.stats.mafc.search import Found, climb
from metacog_pipeline.stats.mafc.table import LARGEST_D, NARROW, table

FLAT = 1e-6  # gradient per answer; that of a single fit is smaller, but a resample's error is far larger
SURE = 5.0  # standard errors of meta-d' from 0: nearer, the sign of a resample is searched for
_NODES = 65
_ORDER, _NEWTON = 33, 8  # of the series of the score of d', and steps to where it is 0; four are usual
_WIDTH = 8.0  # standard errors of meta-d' among which resamples lie


@dataclass(frozen=True, slots=True)
class Refits:
    """d', meta-d' and their ratio of resamples, shape ``(B,)``; NaN or ±inf where a resample has none."""

    d: Floats
    meta_d: Floats
    m_ratio: Floats


def refit(
    right: ArrayLike, wrong: ArrayLike, m: ArrayLike, sample: Efficiency, counts: tuple[Floats, Floats]
) -> Refits:
    """Fit resamples of one cell."""
    correct, errors, alternatives = checked(
        right, wrong, np.broadcast_to(np.asarray(m), np.asarray(right).shape[:2])
    )
    meta = np.full(len(correct), np.nan)
    near = np.zeros(len(correct), dtype=bool)
    if abs(float(sample.meta_d[0])) > SURE * float(sample.se_meta_d[0]):
        own = one_cell(*counts, m)
        near = _near(correct, errors, own)
        if near.any():
            problem, start = pack(correct, errors, alternatives).take(near), best(pack(*own))
            zeta = _first(correct[near] + errors[near], own, start.zeta, problem.right.shape[2])
            around = _WIDTH * float(sample.se_meta_d[0])
            found = _climbed(problem, zeta, float(sample.meta_d[0]), around)
            meta[near] = np.where(found.converged, found.d, np.nan)
            near[near] = found.converged
    if not near.all():
        meta[~near] = _searched(correct[~near], errors[~near], alternatives[~near])
    if correct.shape[1] == 1:
        d = np.empty(len(correct))
        for some, solve in ((near, _along_a_curve), (~near, _exact)):
            d[some] = solve(correct[some], errors[some], alternatives[some])
    else:
        d = _common(correct, errors, alternatives, float(sample.d[0]), float(sample.se_d[0]))
    with np.errstate(divide="ignore", invalid="ignore"):
        return Refits(d, meta, np.where(np.isfinite(meta) & (d > AT_CHANCE), meta / d, np.nan))


def _searched(right: Floats, wrong: Floats, m: Ints) -> Floats:
    """Return meta-d' of cells from nowhere: of `fit` that alone."""
    status = identifiability.statuses(right, wrong)
    cells = np.flatnonzero(status == OK)
    found = np.select([status == BOUNDARY_UP, status == BOUNDARY_DOWN], [np.inf, -np.inf], np.nan)
    if len(cells):
        found[cells] = best(pack(right, wrong, m).take(cells)).d
    return np.asarray(found)


def _near(right: Floats, wrong: Floats, own: tuple[Floats, Floats, Ints]) -> NDArray[np.bool_]:
    """Return which resamples have a maximum that is surely finite, and ratings that the sample has."""
    used, sample = (right + wrong) > 0, (own[0] + own[1]) > 0
    if right.shape[1] == 1:  # of one stratum, those in which two ratings hold both right and wrong answers
        mixed = ((right > 0) & (wrong > 0)).sum(axis=2) >= 2
        return np.asarray((used == sample).all(axis=(1, 2)) & mixed.all(axis=1))
    return np.asarray((used <= sample).all(axis=(1, 2)) & (identifiability.statuses(right, wrong) == OK))


def _first(answers: Floats, own: tuple[Floats, Floats, Ints], zeta: Floats, most: int) -> Floats:
    """Return first criteria of resamples: those of the sample, and where ratings fell out the middle of what was there."""
    sample = (own[0] + own[1])[0] > 0
    place = np.cumsum(sample, axis=1) - 1  # of each rating among those the sample uses
    last = zeta.shape[2] - 1
    below = np.take_along_axis(zeta[0], np.clip(place - 1, 0, last), axis=1)
    above = np.take_along_axis(zeta[0], np.clip(place, 0, last), axis=1)
    order = np.argsort(answers <= 0, axis=2, kind="stable")[..., : max(2, most)]
    under, over = (
        np.take_along_axis(np.broadcast_to(each, answers.shape), at, axis=2)
        for each, at in ((above, order[..., :-1]), (below, order[..., 1:]))
    )
    return np.asarray((under + over) / 2)


def _climbed(problem: Problem, zeta: Floats, meta_d: float, around: float) -> Found:
    """Return the maxima next to a start; of a negative d the roles of right and wrong are exchanged."""
    number, size = len(problem.m), abs(meta_d)
    if meta_d < 0:
        problem = Problem(problem.wrong, problem.right, problem.m, problem.used)
    low, high = max(0.0, size - around), min(LARGEST_D, size + around)
    curve = table().near(low, high) if high - low < NARROW else None
    found = climb(problem, np.full(number, size), zeta=zeta, flat=FLAT, curve=curve)
    inside = (found.d > low) & (found.d < high)
    return Found(found.zeta, found.d if meta_d >= 0 else -found.d, found.slopes, found.converged & inside)


def _exact(right: Floats, wrong: Floats, m: Ints) -> Floats:
    return type1_of(right, wrong, m)[0]


def _common(right: Floats, wrong: Floats, m: Ints, d: float, error: float) -> Floats:
    """Return d' of resamples of several strata: where a series of the score around the sample's is 0, precise to 1e-9.

    The score is linear in the counts, so that the functions of d are worked out once for all resamples.
    """
    hits, misses = right.sum(axis=2), wrong.sum(axis=2)
    found = np.where((hits.sum(axis=1) > 0) & (misses.sum(axis=1) > 0), np.inf, np.nan)
    low, high = max(d - _WIDTH * error, -type1.LARGEST), min(d + _WIDTH * error, type1.LARGEST)
    if low < high:
        x = np.cos(np.pi * (np.arange(_ORDER) + 0.5) / _ORDER)
        at = ((x + 1) * (high - low) / 2 + low)[:, None]
        slope = type1.accuracy_slope(at, m[0])
        gained, lost = slope / type1.accuracy(at, m[0]), slope / type1.error_share(at, m[0])
        series = np.linalg.solve(chebyshev.chebvander(x, _ORDER - 1), gained @ hits.T - lost @ misses.T)
        steeper, root = chebyshev.chebder(series), np.zeros(len(found))
        for _ in range(_NEWTON):
            value, slopes = (chebyshev.chebval(root, each, tensor=False) for each in (series, steeper))
            last, root = root, np.clip(root - value / np.where(slopes < 0, slopes, -np.inf), -1.0, 1.0)
        sure = np.isinf(found) & (np.abs(root - last) < 1e-10) & (np.abs(root) < 1)
        found[sure] = (root[sure] + 1) * (high - low) / 2 + low
    rest = np.isinf(found)
    if rest.any():
        found[rest] = _exact(right[rest], wrong[rest], m[rest])
    return found


def _along_a_curve(right: Floats, wrong: Floats, m: Ints) -> Floats:
    """Return d' of resamples of one stratum, whose shares lie close together: a curve through a few, precise to 1e-9."""
    if not len(m):
        return np.empty(0)
    hits, alternatives = right.sum(axis=(1, 2)), int(m[0, 0])
    share = hits / (right + wrong).sum(axis=(1, 2))
    inside = (share > 0) & (share < 1)
    found = np.full(len(share), np.nan)
    if not inside.any():
        return found
    ends = type1.sensitivity([share[inside].min(), share[inside].max()], alternatives)
    if ends[0] == ends[1] or len(share) <= _NODES:
        found[inside] = type1.sensitivity(share[inside], alternatives)
        return found
    from scipy.interpolate import CubicHermiteSpline  # late: half a second

    grid = np.linspace(ends[0], ends[1], _NODES)
    at, slope = type1.accuracy(grid, alternatives), type1.accuracy_slope(grid, alternatives)
    found[inside] = CubicHermiteSpline(at, grid, 1 / slope)(share[inside])
    return found
