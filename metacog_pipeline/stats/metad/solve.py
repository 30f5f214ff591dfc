"""Cells to solutions: the likelihoods are built, searched and measured in chunks, and degenerate cells named."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats.counts import Counts
from metacog_pipeline.stats.metad import types
from metacog_pipeline.stats.metad.newton import largest_gradient
from metacog_pipeline.stats.metad.problem import Collapsed, Mask, Problem, problem_of
from metacog_pipeline.stats.metad.search import search
from metacog_pipeline.stats.metad.standard_errors import sensitivity
from metacog_pipeline.stats.type1 import Type1

# Cells worked on together: what their arrays take stays near the processor, and memory stays flat.
CHUNK = 1000
# Two products of counts that differ by less, relative to either, are equal but for the rounding of padded sums.
_ROUNDING = 1e-14
# Variance of meta-d' times trials; that of the least informative cells with a peak is some thousands.
_LEVEL_VARIANCE = 1e8


@dataclass(slots=True)
class Solution:
    """Where the search ended, every array with the cell last; NaN where there is nothing to report."""

    # meta_d, variance, by_theta: (C,): in sd of S1, its variance with d and c known, and its derivative by c / d
    meta_d: Floats
    variance: Floats
    by_theta: Floats
    edges: Floats  # (S, K - 1, C): distances of the criteria between used ratings from the type-1 criterion
    # value, gradient, steps: (C,): log likelihood, largest derivative per trial, Newton steps
    value: Floats
    gradient: Floats
    steps: Ints
    status: types.Texts  # (C,)


def first_status(table: Counts, first: Type1) -> types.Texts:
    """Return the status that the type-1 measures alone impose, ``"ok"`` where they are fit to hold fixed."""
    status = np.full(table.cells, types.OK, dtype="<U15")
    status[_zero(table, first)] = types.ZERO_DPRIME
    status[~(np.isfinite(first.d) & np.isfinite(first.c))] = types.UNDEFINED_TYPE1
    return status


def _zero(table: Counts, first: Type1) -> Mask:
    """Return where d' is 0, or would be but for the last digits of padded sums."""
    hits, alarms = table.hits * table.n1, table.false_alarms * table.n2
    close = np.abs(hits - alarms) <= _ROUNDING * (hits + alarms)
    misses, rejections = table.misses * table.n1, table.correct_rejections * table.n2
    close &= np.abs(misses - rejections) <= _ROUNDING * (misses + rejections)
    zero: Mask = (first.d == 0) | (close & (first.s == 1))
    return zero


def solve(
    collapsed: Collapsed, first: Type1, n: Floats, status: types.Texts, side: int | None = None
) -> Solution:
    """Search all cells of status ``"ok"``."""
    sides = slice(None) if side is None else slice(side, side + 1)
    enough = collapsed.used[sides].max(axis=0) > 1
    status = np.where((status == types.OK) & ~enough, types.UNIDENTIFIED, status)
    cells, k = len(n), collapsed.counts.shape[2]
    nothing = (np.full(cells, np.nan) for _ in range(5))
    meta_d, variance, by_theta, value, gradient = nothing
    edges = np.full((2 if side is None else 1, k - 1, cells), np.nan)
    result = Solution(meta_d, variance, by_theta, edges, value, gradient, np.zeros(cells, np.int64), status)
    result.value[status == types.UNIDENTIFIED] = 0.0
    open_cells = np.flatnonzero(status == types.OK)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for begin in range(0, len(open_cells), CHUNK):
            cell = open_cells[begin : begin + CHUNK]
            part = Collapsed(collapsed.counts[..., cell], collapsed.rank[..., cell])
            problem = problem_of(part, first.d[cell], first.c[cell], first.s[cell])
            problem = problem if side is None else problem.side(side)
            _fill(result, cell, problem, first.d[cell] / problem.unit, n[cell], side)
    return result


def _fill(result: Solution, cell: Ints, problem: Problem, x: Floats, n: Floats, side: int | None) -> None:
    found, here = search(problem, x)
    at_end = np.abs(found.x) >= problem.bound
    result.meta_d[cell] = np.clip(found.x * problem.unit, -10.0, 10.0)
    result.edges[..., cell] = np.cumsum(here.width, axis=1)
    result.value[cell] = here.value * n
    result.steps[cell] = found.steps
    result.gradient[cell] = largest_gradient(problem, here)
    known = sensitivity(problem, here, found.x, n, side)
    # A stretch without curvature is no peak, wherever on it the search stopped.
    level = ~(known.variance * n < _LEVEL_VARIANCE)
    at_end |= level
    sure = found.converged & ~at_end
    result.variance[cell] = np.where(sure, known.variance, np.nan)
    result.by_theta[cell] = np.where(sure, known.by_theta, np.nan)
    result.status[cell] = np.where(
        found.converged, np.where(at_end, types.BOUNDARY, types.OK), types.NOT_CONVERGED
    )
