"""The likelihood of meta-d' of m alternatives and its maximum by damped Newton steps, many cells and strata at once.

One stratum holds the answers of one m, counted by rating and outcome. With falling cuts u_0 = inf > u_1 > … > u_K = -inf
and v_k = u_k + D(u_k, d), the curve of the ideal observer of sensitivity d (`table`)::

    logL = sum_k c_k log[Phi(v_{k-1}) - Phi(v_k)] + sum_k e_k log[Phi(u_{k-1}) - Phi(u_k)]

It is conditional on how many were right, so it does not depend on d'. Strata share d and have cuts of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats.mafc.table import LARGEST_D, LARGEST_M, table

LARGEST_STEP = 1.5  # in z and in d: further than that the quadratic says nothing
STEPS = 200
FLAT = 1e-9  # gradient per answer at which a search ends
STARTS = 100  # steps to criteria that reproduce the used shares; four are usual, halving a bracket takes 60
_LOG_ROOT_2_PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True, slots=True)
class Problem:
    """Cells of type-2 counts with unused ratings taken out."""

    right: Floats  # (N, S, K): cells, strata, ratings rising, packed to the front
    wrong: Floats
    m: Ints  # (N, S)
    used: Ints  # (N, S): ratings in use, 0 for a stratum that says nothing about meta-d'

    def take(self, cells: NDArray[np.generic]) -> Problem:
        """Return the problem of some cells, by index or mask."""
        return Problem(self.right[cells], self.wrong[cells], self.m[cells], self.used[cells])

    @property
    def real(self) -> NDArray[np.bool_]:
        """Which criteria exist, shape ``(N, S, K - 1)``."""
        return np.arange(1, self.right.shape[2]) < self.used[..., None]


def pack(right: Floats, wrong: Floats, m: Ints) -> Problem:
    """Return the problem of counts ``(N, S, K)`` as they came; strata without information are emptied."""
    present = (right + wrong) > 0
    used = present.sum(axis=2)
    order = np.argsort(~present, axis=2, kind="stable")
    packed = [np.take_along_axis(part, order, axis=2) for part in (right, wrong)]
    telling = (used >= 2) & (right.sum(axis=2) > 0) & (wrong.sum(axis=2) > 0)
    most = max(2, int(used.max(initial=0)))
    packed = [np.where(telling[..., None], part, 0.0)[..., :most] for part in packed]
    return Problem(packed[0], packed[1], np.clip(m, 2, LARGEST_M), np.where(telling, used, 0))


@dataclass(frozen=True, slots=True)
class Slopes:
    """Value, gradient ``(N, P)`` and Hessian at a point; the last of the P parameters is d.

    A criterion is tied to its neighbours in its stratum and to d alone, so of the Hessian there are ``bands`` ``(N, P,
    3)``: its diagonal, the one next to it, and its last column.
    """

    value: Floats
    gradient: Floats
    bands: Floats


def solved(bands: Floats, right: Floats, strata: int) -> Floats:
    """Return the solutions ``(N, P)`` of symmetric systems: their ``bands`` ``(N, P, 3)``, and what they equal, ``right``.

    The ``strata`` meet in d alone: what it is comes first, then each stratum by itself, in P steps instead of P cubed.
    """
    cells, size = right.shape
    # Criteria first, so that each step goes over all strata of all cells at once.
    pivot, beside, border, side = (
        each[:, :-1].reshape(cells, strata, -1).transpose(2, 0, 1).copy()
        for each in (*np.moveaxis(bands, 2, 0), right)
    )
    sides = np.stack([side, border], axis=1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for k in range(1, len(pivot)):
            factor = beside[k - 1] / pivot[k - 1]
            pivot[k] -= factor * beside[k - 1]
            sides[k] -= factor * sides[k - 1]
        sides[-1] /= pivot[-1]
        for k in range(len(pivot) - 2, -1, -1):
            sides[k] = (sides[k] - beside[k] * sides[k + 1]) / pivot[k]
        alone, pulled = sides[:, 0], sides[:, 1]
        corner = bands[:, -1, 0] - (border * pulled).sum(axis=(0, 2))
        last = (right[:, -1] - (border * alone).sum(axis=(0, 2))) / corner
        found = np.empty((cells, size))
        found[:, :-1] = (alone - pulled * last[:, None]).transpose(1, 2, 0).reshape(cells, -1)
    found[:, -1] = last
    return found


def evaluate(problem: Problem, zeta: Floats, d: Floats) -> Slopes:
    """Return the likelihood at criteria ``zeta`` ``(N, S, K - 1)`` and sensitivity ``d`` ``(N,)``, 0 or more."""
    cells, strata, cuts = zeta.shape
    real = problem.real
    lift, by_z, by_d, by_zz, by_zd, by_dd = table().lift(problem.m[..., None], zeta, d[:, None, None])
    wrong = _Row(problem.wrong, np.where(real, zeta, -np.inf))
    right = _Row(problem.right, np.where(real, zeta + lift, -np.inf))
    turn = 1 + by_z
    gradient = np.zeros((cells, strata * cuts + 1))
    gradient[:, :-1] = (wrong.first + right.first * turn).reshape(cells, -1)
    gradient[:, -1] = (right.first * by_d).sum(axis=(1, 2))
    diagonal = wrong.second + right.second * turn**2 + right.first * by_zz
    beside = wrong.mixed + right.mixed * turn[..., :-1] * turn[..., 1:]
    pull = right.second * by_d
    pull[..., 1:] += right.mixed * by_d[..., :-1]
    pull[..., :-1] += right.mixed * by_d[..., 1:]
    border = turn * pull + right.first * by_zd
    bands = np.zeros((cells, strata * cuts + 1, 3))
    by_cut = bands[:, :-1].reshape(cells, strata, cuts, 3)  # a view
    by_cut[..., 0] = np.where(real, diagonal, -1.0)
    by_cut[..., :-1, 1] = beside
    by_cut[..., 2] = border
    bands[:, -1, 0] = (pull * by_d + right.first * by_dd).sum(axis=(1, 2))
    return Slopes(wrong.value + right.value, gradient, bands)


class _Row:
    """One row of counts under cuts: its log-likelihood ``(N,)`` and derivatives by each cut ``(N, S, K - 1)``."""

    def __init__(self, counts: Floats, inner: Floats) -> None:
        shape = (*inner.shape[:2], 1)
        cuts = np.concatenate([np.full(shape, np.inf), inner, np.full(shape, -np.inf)], axis=2)
        high, low = cuts[..., :-1], cuts[..., 1:]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # On the side where both are in the lower tail: differences keep their digits there.
            top = special.log_ndtr(np.where(low > 0, -low, high))
            bottom = special.log_ndtr(np.where(low > 0, -high, low))
            log_share = top + np.log1p(-np.exp(bottom - top))
            filled = counts > 0
            log_share = np.where(filled, log_share, 0.0)
            self.value = np.where(filled, counts * log_share, 0.0).sum(axis=(1, 2))
            up = np.where(filled, np.exp(-(high**2) / 2 - _LOG_ROOT_2_PI - log_share), 0.0)
            down = np.where(filled, np.exp(-(low**2) / 2 - _LOG_ROOT_2_PI - log_share), 0.0)
            bend_up = np.where(np.isfinite(high), -high, 0.0) * up - up**2
            bend_down = np.where(np.isfinite(low), low, 0.0) * down - down**2
        self.first = (counts * up)[..., 1:] - (counts * down)[..., :-1]
        self.second = (counts * bend_up)[..., 1:] + (counts * bend_down)[..., :-1]
        self.mixed = (counts * up * down)[..., 1:-1]


@dataclass(frozen=True, slots=True)
class Found:
    """Where the searches ended."""

    zeta: Floats
    d: Floats
    slopes: Slopes


def climb(problem: Problem, d: Floats, fixed: bool = False) -> Found:
    """Climb from sensitivity ``d`` ``(N,)``; with ``fixed`` only the criteria move, which gives the profile."""
    zeta = criteria(problem, d)
    slopes = evaluate(problem, zeta, d)
    n = np.maximum((problem.right + problem.wrong).sum(axis=(1, 2)), 1.0)
    damping = np.zeros(len(d))
    d = d.copy()
    done = np.zeros(len(d), bool)
    for _ in range(STEPS):
        steep = _free_gradient(slopes.gradient, d, fixed)
        done |= np.abs(steep).max(axis=1) / n < FLAT
        moving = np.flatnonzero(~done)
        if not len(moving):
            break
        part = problem.take(moving)
        step = _step(slopes.bands[moving], steep[moving], damping[moving], fixed, zeta.shape[1])
        new_zeta, new_d = zeta[moving] + step[:, :-1].reshape(-1, *zeta.shape[1:]), d[moving]
        if not fixed:
            new_d = np.clip(new_d + step[:, -1], 0.0, LARGEST_D)
        tried = evaluate(part, new_zeta, new_d)
        before = slopes.value[moving]
        better = _ordered(part, new_zeta) & (tried.value >= before - 1e-12 * np.abs(before))
        better &= np.isfinite(tried.gradient).all(axis=1)
        taken = moving[better]
        zeta[taken], d[taken] = new_zeta[better], new_d[better]
        slopes.value[taken], slopes.gradient[taken] = tried.value[better], tried.gradient[better]
        slopes.bands[taken] = tried.bands[better]
        damping[taken] = np.where(damping[taken] > 1e-6, damping[taken] / 10, 0.0)
        damping[moving[~better]] = np.maximum(damping[moving[~better]] * 10, 1e-3)
        done |= damping > 1e12
    return Found(zeta, d, slopes)


def criteria(problem: Problem, d: Floats) -> Floats:
    """Return criteria at which the ideal observer of sensitivity ``d`` uses every rating as often as it was used."""
    right, wrong = problem.right, problem.wrong
    total = np.maximum((right + wrong).sum(axis=2, keepdims=True), 1e-300)
    above = np.cumsum((right + wrong)[..., ::-1], axis=2)[..., ::-1][..., 1:] / total
    share = right.sum(axis=2, keepdims=True) / total
    above = np.where(problem.real, above, 0.5)
    found = shares_to_criteria(above, share, problem.m[..., None], d[:, None, None], 1e-3)
    odd = np.flatnonzero(~_ordered(problem, found))
    if len(odd):  # ratings used so little that their criteria are closer than what was asked for
        m, cells = problem.m[odd][..., None], d[odd][:, None, None]
        found[odd] = shares_to_criteria(above[odd], share[odd], m, cells)
    return found


def shares_to_criteria(above: Floats, right: Floats, m: Ints, d: Floats, precise: float = 1e-12) -> Floats:
    """Return zeta with ``right`` HR(zeta) + (1 - ``right``) FAR(zeta) = ``above``, strictly between 0 and 1."""
    # Newton steps stay inside a shrinking bracket, halved where they do not get shorter: they may go to and fro.
    low, high = np.full(above.shape, -40.0), np.full(above.shape, 40.0)
    zeta, last = special.ndtri(above), np.full(above.shape, np.inf)
    for _ in range(STARTS):
        lift, by_z, *_ = table().lift(m, zeta, d)
        value = right * special.ndtr(zeta + lift) + (1 - right) * special.ndtr(zeta) - above
        slope = right * _phi(zeta + lift) * (1 + by_z) + (1 - right) * _phi(zeta)
        low, high = np.where(value < 0, zeta, low), np.where(value >= 0, zeta, high)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = zeta - value / slope
        shorter = np.abs(newton - zeta) <= np.maximum(last / 2, precise)
        moved = np.where(shorter & (newton >= low) & (newton <= high), newton, (low + high) / 2)
        last = np.abs(moved - zeta)
        if last.max(initial=0.0) < precise:
            return np.asarray(moved)
        zeta = moved
    return np.asarray(zeta)


def _phi(x: Floats) -> Floats:
    return np.asarray(np.exp(-x * x / 2) / np.sqrt(2 * np.pi))


def _free_gradient(gradient: Floats, d: Floats, fixed: bool) -> Floats:
    """Return the gradient without what cannot move: a fixed d, or one at an end of its range that pushes outwards."""
    steep = gradient.copy()
    stuck = ((d <= 0) & (steep[:, -1] < 0)) | ((d >= LARGEST_D) & (steep[:, -1] > 0))
    steep[stuck | fixed, -1] = 0.0
    return steep


def _step(hessian: Floats, gradient: Floats, damping: Floats, fixed: bool, strata: int) -> Floats:
    bands = -hessian
    held = (gradient[:, -1] == 0.0) | fixed
    bands[held, :, 2] = 0.0
    diagonal = np.maximum(np.abs(bands[..., 0]), 1e-8)
    diagonal[held, -1] = 1.0
    bands[held, -1, 0] = 1.0
    bands[..., 0] += damping[:, None] * diagonal
    step = solved(bands, gradient, strata)
    # Where the likelihood is not concave the Newton step may lead down: follow the scaled gradient instead.
    down = ~((step * gradient).sum(axis=1) > 0)
    step[down] = gradient[down] / (diagonal[down] * (1 + damping[down, None]))
    size = np.abs(step).max(axis=1, keepdims=True)
    return np.asarray(step * np.minimum(1.0, LARGEST_STEP / np.maximum(size, 1e-300)))


def _ordered(problem: Problem, zeta: Floats) -> NDArray[np.bool_]:
    real = problem.real[..., 1:]
    return np.asarray(np.where(real, zeta[..., :-1] > zeta[..., 1:], True).all(axis=(1, 2)))
