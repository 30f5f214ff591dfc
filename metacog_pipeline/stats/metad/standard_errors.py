"""Standard errors of meta-d' and the M-ratio at the maximum.

Given (d, c) the observed information of meta-d', the type-2 criteria profiled out, is the Schur complement of the
negative Hessian; its inverse is the variance that "takes d and c as known". Both are estimates themselves. The two
stages rest on independent scores (the ratings are conditional on stimulus and response), so variances add, with no
cross term (Murphy & Topel 1985, *J. Bus. Econ. Stat.* 3)::

    Var(m) = Var(m | d, c) + ∇m' V(d, c) ∇m        Var(M) = Var(m | d, c) / d² + ∇M' V(d, c) ∇M,   M = m / d

d and c act on m through the relative criterion θ = c / d alone; ∂m/∂θ follows from the implicit-function theorem.
"""

from __future__ import annotations

import numpy as np

from metacog_pipeline.stats._arrays import Floats
from metacog_pipeline.stats.metad.likelihood import Evaluation, Problem
from metacog_pipeline.stats.metad.search import solve_tridiagonal
from metacog_pipeline.stats.type1 import Type1


def sensitivity(
    problem: Problem, here: Evaluation, x: Floats, n: Floats, side: int | None = None
) -> tuple[Floats, Floats]:
    """Return the variance of meta-d' (sd of S1) with d and c known, and ∂m/∂θ, at the maximum ``x`` of ``n`` trials.

    ``side`` names the response (0 or 1) where the problem holds that one alone. NaN where the likelihood is not concave.
    """
    # The criterion moves the means of response S1 up and those of S2 down, both rows alike.
    turn = np.array([1.0, -1.0])[slice(None) if side is None else slice(side, side + 1), None, None]
    sigma = problem.sigma
    shift = turn * sigma * (x * problem.unit)
    curvature = here.row_curvature.sum(axis=2)
    x_theta = np.einsum("src,src->c", problem.pull * shift, curvature)
    x_theta -= np.einsum("src,src->c", turn * sigma * problem.unit, here.row_sum)
    e_theta = -((sigma * shift)[:, :, None] * here.row_curvature[:, :, 1:]).sum(axis=1)
    diagonal = np.where(problem.inactive[:, 1:], 1.0, -here.diagonal)
    from_x, from_theta = solve_tridiagonal(diagonal, -here.beside, here.mixed, e_theta)
    information = -here.curvature_x - np.einsum("skc,skc->c", here.mixed, from_x)
    information = np.where(information > 0, information, np.nan)
    by_theta = (x_theta + np.einsum("skc,skc->c", here.mixed, from_theta)) / information
    return problem.unit**2 / (information * n), problem.unit * by_theta


def two_stage(
    variance: Floats, by_theta: Floats, meta_d: Floats, first: Type1
) -> tuple[Floats, Floats, Floats]:
    """Return standard errors of meta-d', M-ratio and M-diff (sd of S1) that hold the uncertainty of d and c."""
    d = first.d
    by_d, by_c = -by_theta * first.c / d**2, by_theta / d

    def error(scale: Floats, from_d: Floats, from_c: Floats) -> Floats:
        spread = from_d**2 * first.var_d + 2 * from_d * from_c * first.cov_d_c + from_c**2 * first.var_c
        root: Floats = np.sqrt(variance * scale**2 + spread)
        return root

    one = np.ones_like(d)
    return (
        error(one, by_d, by_c),
        error(1 / d, by_d / d - meta_d / d**2, by_c / d),
        error(one, by_d - 1, by_c),
    )
