"""The best meta-d' of a cell: damped Newton steps, and a look along the whole profile where one climb is not enough.

The climb is on meta-d' and the logarithms w of the distances W = exp(w) between edges. With e = cumsum(W), J = ∂e/∂w = L W
and L a triangle of ones, the system for p = J δ is tridiagonal, bordered by the one column of x::

    (-H - Δᵀ diag((g_w - damping) / W²) Δ) p = g_e,        Δ = L⁻¹, differences of neighbours

A pivot that is not positive is replaced by its absolute value, so every step goes uphill; a step that does not is taken
back and damped (Levenberg). Given meta-d' the likelihood is concave in the edges, but the profile over meta-d' may have two
peaks, rise to an end of the range, or be flat: a cell whose climb from meta-d' = d ends anywhere unusual is looked at on a
grid over the range, and climbed again from every peak.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats.metad.likelihood import UNUSED_LOG_WIDTH, Evaluation, Mask, Problem, evaluate

# Largest |gradient| per trial at a maximum; a last step this small, made from so small a gradient, leads there (its
# error is of the order of its square).
GRADIENT = 1e-9
LAST_STEP = 1e-5
LAST_GRADIENT = 1e-6
MOST_STEPS = 60
LARGEST_STEP = 2.0
# So few cells are carried along to the end: to take them out costs more.
_FEW = 100
_SLACK = 1e-13
_FIRST_DAMPING = 1e-3
_MOST_DAMPING = 1e8
_LEAST_PIVOT = 1e-30
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


@dataclass(slots=True)
class Optimum:
    """Where the search ended, per cell."""

    x: Floats  # x, log_width: (C,) and (S, K - 1, C)
    log_width: Floats
    converged: Mask  # (C,): the gradient vanished and the next step would have been negligible

    def of(self, cells: Ints) -> Optimum:
        """Return the entries of the given cells."""
        return Optimum(self.x[cells], self.log_width[..., cells], self.converged[cells])

    def put(self, cells: Ints, source: Optimum, index: Ints) -> None:
        """Overwrite the entries of ``cells`` with those of ``source`` at ``index``."""
        self.x[cells], self.log_width[..., cells] = source.x[index], source.log_width[..., index]
        self.converged[cells] = source.converged[index]


def maximise(problem: Problem, x: Floats, log_width: Floats, fixed_x: bool = False) -> Optimum:
    """Climb from ``x`` ``(C,)`` and ``log_width`` ``(S, K - 1, C)``; with ``fixed_x`` over the edges alone."""
    cells = len(x)
    result = Optimum(x.copy(), log_width.copy(), np.zeros(cells, dtype=bool))
    place = np.arange(cells)
    x, log_width, damping = x.copy(), log_width.copy(), np.zeros(cells)
    bound = problem.bound
    here = evaluate(problem, x, log_width)
    for _ in range(MOST_STEPS):
        step_x, step_w, gradient = newton_step(problem, here, x, damping, bound, fixed_x)
        size = np.abs(step_w).max(axis=(0, 1), initial=0.0)
        np.maximum(size, np.abs(step_x), out=size)
        new_x = np.minimum(np.maximum(x + step_x, -bound), bound)
        new_w = log_width + step_w
        done = (gradient <= LAST_GRADIENT) & (size <= LAST_STEP) & (damping == 0)
        if done.any():
            ended = place[done]
            result.x[ended], result.log_width[..., ended] = new_x[done], new_w[..., done]
            result.converged[ended] = True
            if result.converged.all():
                break
            if len(done) > _FEW and int(done.sum()) * 4 >= len(done):
                rest = ~done
                problem, place, bound = problem.take(rest), place[rest], bound[rest]
                x, damping, new_x = x[rest], damping[rest], new_x[rest]
                log_width, new_w = np.compress(rest, log_width, 2), np.compress(rest, new_w, 2)
                here = _take(here, rest)
        there = evaluate(problem, new_x, new_w)
        better = there.value >= here.value - _SLACK * np.abs(here.value)
        if better.all():
            x, log_width, here = new_x, new_w, there
            damping *= 0.1
            damping[damping < 1e-6] = 0.0
        else:
            x, log_width = np.where(better, new_x, x), np.where(better, new_w, log_width)
            here = _choose(better, there, here)
            harder = np.minimum(np.maximum(damping * 10, _FIRST_DAMPING), _MOST_DAMPING)
            damping = np.where(better, np.where(damping < 1e-5, 0.0, damping * 0.1), harder)
    rest = ~result.converged[place]
    if rest.any():
        result.x[place[rest]], result.log_width[..., place[rest]] = x[rest], log_width[..., rest]
    return result


def newton_step(
    problem: Problem, here: Evaluation, x: Floats, damping: Floats, bound: Floats, fixed_x: bool
) -> tuple[Floats, Floats, Floats]:
    """Return the step in x and in the log widths, and the largest |gradient|, each with the cell last."""
    width = here.width
    gradient_w = here.gradient_e[:, ::-1].cumsum(axis=1)[:, ::-1] * width
    gradient = np.abs(gradient_w).max(axis=(0, 1), initial=0.0)
    extra = (damping - gradient_w) / (width * width)
    diagonal = extra - here.diagonal
    diagonal[:, :-1] += extra[:, 1:]
    beside = np.negative(extra[:, 1:])
    beside -= here.beside
    # No rating is there, so no step is made.
    np.copyto(diagonal, 1.0, where=problem.inactive[:, 1:])
    toward, border = solve_tridiagonal(diagonal, beside, here.gradient_e, here.mixed)
    if fixed_x:
        step_x = np.zeros_like(x)
    else:
        reduced = damping - here.curvature_x - np.einsum("skc,skc->c", here.mixed, border)
        slope = here.gradient_x + np.einsum("skc,skc->c", here.mixed, toward)
        held = ((x >= bound) & (slope > 0)) | ((x <= -bound) & (slope < 0))
        reduced = np.maximum(np.abs(reduced), 1e-14)
        step_x = np.where(held, 0.0, slope / reduced)
        # Where the range of x is wide (|c| far above |d|), so are the steps.
        longest = np.maximum(LARGEST_STEP, 0.5 * np.abs(x))
        np.minimum(step_x, longest, out=step_x)
        np.maximum(step_x, -longest, out=step_x)
        np.maximum(gradient, np.where(held, 0.0, np.abs(here.gradient_x)), out=gradient)
        toward = toward + border * step_x
    step_w = toward.copy()
    step_w[:, 1:] -= toward[:, :-1]
    step_w /= width
    np.minimum(step_w, LARGEST_STEP, out=step_w)
    np.maximum(step_w, -LARGEST_STEP, out=step_w)
    return step_x, step_w, gradient


def largest_gradient(problem: Problem, here: Evaluation) -> Floats:
    """Return the largest |derivative| per trial by x and the log widths, ``(C,)``; an x held at its end still counts."""
    tail = np.cumsum(here.gradient_e[:, ::-1], axis=1)[:, ::-1]
    by_width = np.where(problem.inactive[:, 1:], 0.0, tail * here.width)
    largest: Floats = np.maximum(np.abs(by_width).max(axis=(0, 1), initial=0.0), np.abs(here.gradient_x))
    return largest


def solve_tridiagonal(
    diagonal: Floats, beside: Floats, first: Floats, second: Floats
) -> tuple[Floats, Floats]:
    """Solve T y = first and T z = second, T symmetric tridiagonal along axis 1; pivots are taken positive."""
    rows = diagonal.shape[1]
    both = np.stack([first, second], axis=2)
    pivot = np.empty_like(diagonal)
    ratio = np.empty_like(beside)
    for k in range(rows):
        if k:
            np.subtract(diagonal[:, k], ratio[:, k - 1] * beside[:, k - 1], out=pivot[:, k])
            both[:, k] -= ratio[:, None, k - 1] * both[:, k - 1]
        else:
            pivot[:, 0] = diagonal[:, 0]
        np.abs(pivot[:, k], out=pivot[:, k])
        np.maximum(pivot[:, k], _LEAST_PIVOT, out=pivot[:, k])
        if k < rows - 1:
            np.divide(beside[:, k], pivot[:, k], out=ratio[:, k])
    both /= pivot[:, :, None]
    for k in range(rows - 2, -1, -1):
        both[:, k] -= ratio[:, None, k] * both[:, k + 1]
    return both[:, :, 0], both[:, :, 1]


def _take(here: Evaluation, cells: Mask) -> Evaluation:
    return Evaluation(**{name: np.compress(cells, getattr(here, name), -1) for name in Evaluation.__slots__})


def _choose(better: Mask, there: Evaluation, here: Evaluation) -> Evaluation:
    """Return the evaluation at the new point where it is better, at the old one elsewhere."""
    for name in Evaluation.__slots__:
        np.copyto(getattr(there, name), getattr(here, name), where=~better)
    return there


def start(problem: Problem, x: Floats) -> Floats:
    """Return log distances between edges that fit the observed shares at ``x`` ``(C,)``, shape ``(S, K - 1, C)``."""
    # Each row alone would put its edges at its own quantiles; the edges are the mean of the two, by their trials.
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
    doubtful: Mask = ~found.converged | (np.abs(found.x) >= problem.bound)
    doubtful = doubtful | ~(largest_gradient(problem, here) <= GRADIENT)
    doubtful |= _rises_elsewhere(problem, found.x, here.value)
    if not doubtful.any():
        return found, here
    place = np.flatnonzero(doubtful)
    profile, highest = profile_search(problem.take(doubtful))
    better = ~found.converged[place] | ~(here.value[place] >= highest - LEVEL)
    found.put(place[better], profile, np.flatnonzero(better))
    return found, evaluate(problem, found.x, found.log_width)


def _rises_elsewhere(problem: Problem, x: Floats, value: Floats) -> Mask:
    """Return where the profile may rise away from the peak found at ``x``: two steps over the edges show its slope."""
    points: Floats = np.sinh((_COARSE * np.arcsinh(0.8 * problem.bound)).ravel())
    repeated = problem.take(np.tile(np.arange(len(x)), len(_COARSE)))
    log_width = start(repeated, points)
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
    """Return the global maximum of each cell from its profile on a grid, and the highest value met on the way."""
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
    # On a level stretch that runs to the end a climb may stop anywhere: the end counts as higher, and is the maximum where
    # no climb converges.
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
    """Return the peak of the profile between ``low`` and ``high`` from the sign of its slope."""
    # Slow and sure: where |c| is many times |d| the edges follow x along a curved ridge that Newton's steps leave.
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
