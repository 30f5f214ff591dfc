"""The likelihood of meta-d' of m alternatives, its gradient and its Hessian, for many cells and strata at once.

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
from metacog_pipeline.stats.mafc.table import LARGEST_M, Table, table

_LOG_ROOT_2_PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True, slots=True)
class Problem:
    """Cells of type-2 counts with unused ratings taken out.

    ``right`` and ``wrong`` shape ``(N, S, K)``: cells, strata, ratings rising, packed to the front; ``m`` shape
    ``(N, S)``; ``used`` shape ``(N, S)``: ratings in use, 0 for a stratum that says nothing about meta-d'.
    """

    right: Floats
    wrong: Floats
    m: Ints
    used: Ints

    def take(self, cells: NDArray[np.generic]) -> Problem:
        """Return the problem of some cells, by index or mask."""
        return Problem(self.right[cells], self.wrong[cells], self.m[cells], self.used[cells])

    @property
    def real(self) -> NDArray[np.bool_]:
        """Which criteria exist, shape ``(N, S, K - 1)``."""
        return np.arange(1, self.right.shape[2]) < self.used[..., None]


def pack(right: Floats, wrong: Floats, m: Ints) -> Problem:
    """Return the problem of counts ``(N, S, K)`` as they came; strata that tell nothing are emptied."""
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

    A criterion is tied to its neighbours in its stratum and to d, to nothing else. So of the Hessian there are ``bands``
    ``(N, P, 3)``: its diagonal, what stands beside it, and its last column.
    """

    value: Floats
    gradient: Floats
    bands: Floats

    @property
    def hessian(self) -> Floats:
        """Return the whole Hessian ``(N, P, P)``."""
        return whole(self.bands)


def whole(bands: Floats) -> Floats:
    """Return the symmetric matrices ``(N, P, P)`` of their bands ``(N, P, 3)``."""
    cells, size, _ = bands.shape
    found = np.zeros((cells, size, size))
    places = np.arange(size)
    found[:, :-1, -1] = found[:, -1, :-1] = bands[:, :-1, 2]
    found[:, places, places] = bands[..., 0]
    low = places[:-2]
    found[:, low, low + 1] = found[:, low + 1, low] = bands[:, :-2, 1]
    return found


def solved(bands: Floats, right: Floats, strata: int) -> Floats:
    """Return the solutions ``(N, P)`` of symmetric systems: their ``bands`` ``(N, P, 3)``, and what they equal, ``right``.

    The ``strata`` meet in d alone: what it is comes first, then each stratum by itself. That takes P steps where a whole
    matrix, which is solved where there is one stratum, takes P cubed. Raises LinAlgError there, and returns numbers that
    are not finite here, where there is no solution.
    """
    if strata == 1:
        return np.asarray(np.linalg.solve(whole(bands), right[..., None])[..., 0])
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


def evaluate(problem: Problem, zeta: Floats, d: Floats, curve: Table | None = None) -> Slopes:
    """Return the likelihood at criteria ``zeta`` ``(N, S, K - 1)`` and sensitivity ``d`` ``(N,)``, 0 or more.

    ``curve`` is the table of the ideal observer, whole by default.
    """
    cells, strata, cuts = zeta.shape
    real = problem.real
    curve = table() if curve is None else curve
    lift, by_z, by_d, by_zz, by_zd, by_dd = curve.lift(problem.m[..., None], zeta, d[:, None, None])
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
