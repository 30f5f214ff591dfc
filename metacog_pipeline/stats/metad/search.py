"""The best meta-d' of a cell: one quick climb for most, a look along the whole profile for the rest.

Given meta-d' the likelihood is concave in the edges, so its profile over meta-d' is cheap and exact; only the profile
itself may have two peaks, rise to an end of the allowed range, or be flat. A cell whose climb from meta-d' = d ends
anywhere unusual is therefore looked at on a grid over the range, and climbed again from every peak.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from metacog_pipeline.stats._arrays import Floats
from metacog_pipeline.stats.metad.likelihood import Evaluation, evaluate
from metacog_pipeline.stats.metad.newton import GRADIENT, Optimum, largest_gradient, maximise, newton_step
from metacog_pipeline.stats.metad.problem import UNUSED_LOG_WIDTH, Mask, Problem

GRID = 33
# Share of the range, on its inverse hyperbolic sine, at which every cell is checked.
_COARSE = np.linspace(-1, 1, 7)[:, None]
_COARSE_STEPS = 2
_RISE = 1e-7
_HALVINGS = 52
# Log likelihoods per trial closer than this are level.
LEVEL = 1e-11
# Shares and widths below which the start does not go, so that every logarithm exists.
_LEAST_SHARE = 1e-8
_LEAST_WIDTH = 1e-9


def start(problem: Problem, x: Floats) -> Floats:
    """Return log distances between edges that fit the observed shares at ``x`` ``(C,)``, shape ``(S, K - 1, C)``.

    Each row alone would put its edges at its own quantiles; the edges are the mean of the two, by their trials.
    """
    mean = problem.slope * x
    counts = problem.counts + _LEAST_SHARE * ~problem.inactive[:, None]
    beyond = np.cumsum(counts[:, :, ::-1], axis=2)[:, :, ::-1]
    total = beyond[:, :, 0]
    survival = ndtr(mean * problem.sigma) / total
    tail = np.maximum(beyond[:, :, 1:] * survival[:, :, None], 1e-300)
    quantile = mean[:, :, None] - ndtri(tail) / problem.sigma[:, :, None]
    share = total / (total[:, :1] + total[:, 1:])
    edges = share[:, 0, None] * quantile[:, 0] + share[:, 1, None] * quantile[:, 1]
    width = edges.copy()
    width[:, 1:] -= edges[:, :-1]
    log_width: Floats = np.log(np.clip(width, _LEAST_WIDTH, 1e3))
    np.copyto(log_width, UNUSED_LOG_WIDTH, where=problem.inactive[:, 1:])
    return log_width


def climb(problem: Problem, x: Floats, fixed_x: bool = False) -> Optimum:
    """Climb from ``x`` ``(C,)`` with edges that fit it."""
    inside = np.clip(x, -problem.bound, problem.bound)
    return maximise(problem, inside, start(problem, inside), fixed_x)


def search(problem: Problem, x: Floats) -> tuple[Optimum, Evaluation]:
    """Return the global maximum within |meta-d'| <= 10, climbing from ``x`` ``(C,)`` first, and what it is like there."""
    found = climb(problem, x)
    here = evaluate(problem, found.x, found.log_width)
    rises = _rises_elsewhere(problem, found.x, here.value, exact=False)
    doubtful: Mask = ~found.converged | (np.abs(found.x) >= problem.bound)
    doubtful = doubtful | ~(largest_gradient(problem, here) <= GRADIENT)
    rising = np.flatnonzero(rises)
    if len(rising):
        part = problem.take(rising)
        doubtful[rising] |= _rises_elsewhere(part, found.x[rising], here.value[rising], exact=True)
    if not doubtful.any():
        return found, here
    place = np.flatnonzero(doubtful)
    profile, highest = profile_search(problem.take(doubtful))
    better = ~found.converged[place] | ~(here.value[place] >= highest - LEVEL)
    found.put(place[better], profile, np.flatnonzero(better))
    return found, evaluate(problem, found.x, found.log_width)


def _rises_elsewhere(problem: Problem, x: Floats, value: Floats, exact: bool) -> Mask:
    """Return where the profile rises away from the peak found at ``x``, or is higher, at a few points of the range.

    Two steps over the edges mostly tell the sign of the slope; where they say that it rises, ``exact`` asks again.
    """
    points: Floats = np.sinh((_COARSE * np.arcsinh(0.8 * problem.bound)).ravel())
    repeated = problem.take(np.tile(np.arange(len(x)), len(_COARSE)))
    log_width = start(repeated, points)
    if exact:
        log_width = maximise(repeated, points, log_width, fixed_x=True).log_width
    else:
        bound, undamped = repeated.bound, np.zeros_like(points)
        for _ in range(_COARSE_STEPS):
            there = evaluate(repeated, points, log_width)
            log_width += newton_step(repeated, there, points, undamped, bound, True)[1]
    there = evaluate(repeated, points, log_width)
    shape = (len(_COARSE), len(x))
    away = there.gradient_x.reshape(shape) * np.sign(points.reshape(shape) - x)
    rises: Mask = np.any(~((away <= _RISE) & (there.value.reshape(shape) <= value)), axis=0)
    return rises


def profile_search(problem: Problem) -> tuple[Optimum, Floats]:
    """Return the global maximum of each cell from its profile on a grid, and the highest value met on the way.

    Where no climb from a peak of the grid converges and the end of the range is as high as any point, the maximum is
    there: ``x`` is the end itself.
    """
    cells = len(problem.unit)
    grid = np.sinh(np.linspace(-1, 1, GRID)[:, None] * np.arcsinh(problem.bound))
    grid[0], grid[-1] = -problem.bound, problem.bound
    repeated = problem.take(np.tile(np.arange(cells), GRID))
    along = climb(repeated, grid.ravel(), fixed_x=True)
    height = evaluate(repeated, along.x, along.log_width).value.reshape(GRID, cells)
    np.nan_to_num(height, copy=False, nan=-np.inf, neginf=-np.inf)
    rows, where = np.nonzero((height[1:-1] >= height[:-2]) & (height[1:-1] >= height[2:]))
    from_peak = (rows + 1) * cells + where
    top = problem.take(where)
    again = maximise(top, along.x[from_peak], along.log_width[..., from_peak])
    peaked = evaluate(top, again.x, again.log_width)
    stuck = np.flatnonzero(~again.converged | (largest_gradient(top, peaked) > GRADIENT))
    if len(stuck):
        low, high = along.x[from_peak[stuck] - cells], along.x[from_peak[stuck] + cells]
        again.put(stuck, bisect(top.take(stuck), low, high), np.arange(len(stuck)))
    value = evaluate(top, again.x, again.log_width).value
    # On a level stretch that runs to the end a climb may stop anywhere: the end counts as higher.
    end = np.maximum(height[0], height[-1]) + LEVEL
    value[~again.converged | ~(value > end[where])] = -np.inf
    best = along.of(np.where(height[0] > height[-1], 0, GRID - 1) * cells + np.arange(cells))
    for i in np.argsort(value, kind="stable"):
        if value[i] > -np.inf:
            best.put(where[i], again, i)
            end[where[i]] = value[i] + LEVEL
    # Where edges are level too no step is ever small; without a slope they are as good as any.
    held = newton_step(
        problem, evaluate(problem, best.x, best.log_width), best.x, np.zeros(cells), problem.bound, True
    )
    best.converged |= held[2] <= GRADIENT
    highest = height.max(axis=0)
    best.converged &= highest <= end
    return best, highest


def bisect(problem: Problem, low: Floats, high: Floats) -> Optimum:
    """Return the peak of the profile between ``low`` and ``high`` from the sign of its slope.

    Slow and sure: where |c| is many times |d| the edges follow x along a curved ridge that Newton's steps leave.
    """
    found = climb(problem, 0.5 * (low + high), fixed_x=True)
    for _ in range(_HALVINGS):
        slope = evaluate(problem, found.x, found.log_width).gradient_x
        low, high = np.where(slope > 0, found.x, low), np.where(slope > 0, high, found.x)
        middle = 0.5 * (low + high)
        if bool((middle == found.x).all()):
            break
        found = maximise(problem, middle, start(problem, middle), fixed_x=True)
    slope = evaluate(problem, found.x, found.log_width).gradient_x
    found.converged &= np.abs(slope) <= GRADIENT
    return found
