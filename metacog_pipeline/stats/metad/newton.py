"""Damped Newton steps on meta-d' and the logarithms of the distances between edges, many cells at once.

In the log distances w, with widths W = exp(w), edges e = cumsum(W) and J = ∂e/∂w, the Hessian is JᵀHJ + diag(g_w): full.
But J = L W with L a triangle of ones, so that for p = J δ the system reads

    (-H - Δᵀ diag((g_w - damping) / W²) Δ) p = g_e,        Δ = L⁻¹, differences of neighbours

which is tridiagonal again, bordered by the one column of x: solved in time linear in the number of ratings. A pivot that
is not positive (the likelihood is not concave in x) is replaced by its absolute value, so every step goes uphill; a step
that does not is taken back and damped (Levenberg). Converged cells leave the arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats.metad.likelihood import Evaluation, evaluate
from metacog_pipeline.stats.metad.problem import Mask, Problem

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


@dataclass(slots=True)
class Optimum:
    """Where the search ended, per cell."""

    x: Floats  # x, log_width: (C,) and (S, K - 1, C)
    log_width: Floats
    converged: Mask  # (C,): the gradient vanished and the next step would have been negligible
    steps: Ints  # (C,): Newton steps made

    def of(self, cells: Ints) -> Optimum:
        """Return the entries of the given cells."""
        return Optimum(self.x[cells], self.log_width[..., cells], self.converged[cells], self.steps[cells])

    def put(self, cells: Ints, source: Optimum, index: Ints) -> None:
        """Overwrite the entries of ``cells`` with those of ``source`` at ``index``."""
        self.x[cells], self.log_width[..., cells] = source.x[index], source.log_width[..., index]
        self.converged[cells], self.steps[cells] = source.converged[index], source.steps[index]


def maximise(problem: Problem, x: Floats, log_width: Floats, fixed_x: bool = False) -> Optimum:
    """Climb from ``x`` ``(C,)`` and ``log_width`` ``(S, K - 1, C)``; with ``fixed_x`` over the edges alone."""
    cells = len(x)
    result = Optimum(x.copy(), log_width.copy(), np.zeros(cells, dtype=bool), np.zeros(cells, dtype=np.int64))
    place = np.arange(cells)
    x, log_width, damping = x.copy(), log_width.copy(), np.zeros(cells)
    bound = problem.bound
    here = evaluate(problem, x, log_width)
    for step in range(1, MOST_STEPS + 1):
        step_x, step_w, gradient = newton_step(problem, here, x, damping, bound, fixed_x)
        size = np.abs(step_w).max(axis=(0, 1), initial=0.0)
        np.maximum(size, np.abs(step_x), out=size)
        new_x = np.minimum(np.maximum(x + step_x, -bound), bound)
        new_w = log_width + step_w
        done = (gradient <= LAST_GRADIENT) & (size <= LAST_STEP) & (damping == 0)
        if done.any():
            ended = place[done]
            result.x[ended], result.log_width[..., ended] = new_x[done], new_w[..., done]
            result.converged[ended], result.steps[ended] = True, step
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
        result.steps[place[rest]] = step
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
