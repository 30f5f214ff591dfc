"""meta-d' by maximum likelihood for any number of cells at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metacog_pipeline.stats import identifiability
from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats.counts import Counts, padded
from metacog_pipeline.stats.metad import likelihood
from metacog_pipeline.stats.metad.likelihood import Evaluation, Mask, Problem
from metacog_pipeline.stats.metad.search import largest_gradient, search, solve_tridiagonal
from metacog_pipeline.stats.type1 import Texts, Type1, type1, unit

OK = "ok"
UNDEFINED_TYPE1 = "undefined_type1"
ZERO_DPRIME = "zero_dprime"
UNIDENTIFIED = "unidentified"
BOUNDARY = "boundary"
NOT_CONVERGED = "not_converged"

REASONS = {
    OK: "",
    UNDEFINED_TYPE1: "d' is not finite: a stimulus or an answer never occurred, or no answer was wrong (or right)",
    ZERO_DPRIME: "d' is 0: neither the relative criterion nor the M-ratio exists",
    UNIDENTIFIED: "one rating per response at most: confidence says nothing about meta-d'",
    BOUNDARY: "the likelihood rises or stays level up to |meta-d'| = 10: no finite estimate",
    NOT_CONVERGED: "the search found no maximum it can vouch for",
}

# Cells worked on together: what their arrays take stays near the processor, and memory stays flat.
CHUNK = 1000
# Two products of counts that differ by less, relative to either, are equal but for the rounding of padded sums.
_ROUNDING = 1e-14
# Variance of meta-d' times trials; that of the least informative cells with a peak is some thousands.
_LEVEL_VARIANCE = 1e8


@dataclass(frozen=True, slots=True)
class Conditional:
    """meta-d' of one response alone, ``(cells,)``: named as in `MetaD`, NaN unless ``status`` is ``"ok"``."""

    meta_d1: Floats
    meta_da: Floats
    m_ratio: Floats
    se_meta_d: Floats
    status: Texts


@dataclass(frozen=True, slots=True)
class MetaD:
    """Maximum-likelihood meta-d' of many cells; arrays have shape ``(cells,)`` unless stated otherwise.

    Numbers are NaN where the status is not ``"ok"``, with two exceptions: type-1 measures are what they are (±inf, 0), and
    ``"boundary"`` gives meta-d', likelihood and criteria at the end of the range.
    """

    status: Texts  # a key of ``REASONS``
    d1: Floats  # type-1 sensitivity and criterion in standard deviations of S1; da in root-mean-square units
    c1: Floats
    da: Floats
    meta_d1: Floats  # meta-d' in either unit, -10 .. 10 (meta_d1)
    meta_da: Floats
    m_ratio: Floats  # meta_d1 / d1
    m_diff: Floats  # meta_da - da
    meta_c1: Floats  # type-1 criterion of the meta-d' model, meta_d1 · c1 / d1
    # ``(cells, K - 1)``: type-2 criteria from left to right on the axis whose zero is midway between the means; an unused
    # rating has width 0, and one outside the last used is bounded by ±inf
    t2c_rs1: Floats
    t2c_rs2: Floats
    log_likelihood: Floats  # without the multinomial constant
    gradient: Floats  # largest absolute derivative per trial at the solution
    se_meta_d: Floats  # of meta_da from the observed information, d1 and c1 taken as known
    se_meta_d_total: (
        Floats  # this and the next hold the uncertainty of d1 and c1 too (two stages, delta method)
    )
    se_m_ratio: Floats
    se_m_diff: Floats
    table: Counts  # what was fitted, with what was padded
    s: Floats  # sd(S1) / sd(S2)
    rs1: Conditional | None = None  # response-conditional fits, where they were asked for
    rs2: Conditional | None = None

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Which cells have an estimate."""
        ok: NDArray[np.bool_] = self.status == OK
        return ok

    @property
    def withheld(self) -> list[str]:
        """Why a cell's number is not to be shown, padded or not: its own counts do not bear one, or its status."""
        why = identifiability.reasons_of(self.table)
        return [first or REASONS[name] for first, name in zip(why, self.status.tolist(), strict=True)]


def fit_metad(
    table: Counts, s: ArrayLike = 1.0, padding: float | None = None, conditional: bool = False
) -> MetaD:
    """Fit meta-d' to every cell of a table (Maniscalco & Lau 2012, *Consciousness and Cognition* 21, 422-430).

    The type-1 estimates d1 and c1 of the same counts are held fixed. Evidence for the rating is normal with means
    ∓meta-d'/2; the type-1 criterion lies at meta-d' · c1 / d1. Free are meta-d' and 2 (K - 1) type-2 criteria, fitted to
    the ratings given stimulus and response. Degenerate cells get a status, never an exception or a warning.

    s: sd(S1) / sd(S2), above 0, one number or one per cell. For s other than 1, c1 is measured from where hit and
        correct-rejection rates are equal but used on an axis that starts midway between the means: so does the reference.
    padding: added to each count of an unpadded ``table`` first (``1 / (2 K)`` is usual).
    conditional: whether to fit meta-d' to either response alone as well.

    >>> fit = fit_metad(Counts(np.array([[36, 24, 17, 20, 10, 12, 9, 2]]), np.array([[1, 4, 10, 11, 19, 18, 28, 39]])))
    >>> fit.d1.round(2).tolist(), fit.meta_da.round(2).tolist(), fit.m_ratio.round(2).tolist()
    ([1.5], [1.46], [0.97])
    """
    if padding is not None:
        table = padded(table, padding)
    cells = _Cells(table, s)
    found, status = cells.solved()
    first, scale = cells.first, unit(cells.first.s)
    there, zero = np.isin(status, (OK, BOUNDARY)), status == ZERO_DPRIME
    meta_d = np.where(there, found["meta_d"], np.nan)
    with np.errstate(all="ignore"):
        se_meta_d, se_m_ratio, se_m_diff = two_stage(found["variance"], found["by_theta"], meta_d, first)
        meta_c = np.where(there, meta_d * (first.c / first.d), np.nan)
    edges = np.where(there, likelihood.restore(found["edges"], cells.collapsed.rank), np.nan)
    return MetaD(
        status=status, d1=np.where(zero, 0.0, first.d), c1=first.c, da=np.where(zero, 0.0, first.da),
        meta_d1=meta_d, meta_da=scale * meta_d, m_ratio=_ratio(meta_d, first.d),
        m_diff=scale * (meta_d - np.where(there, first.d, np.nan)),
        meta_c1=meta_c, t2c_rs1=(meta_c - edges[0])[::-1].T, t2c_rs2=(meta_c + edges[1]).T,
        log_likelihood=found["value"], gradient=found["gradient"],
        se_meta_d=scale * np.sqrt(found["variance"]), se_meta_d_total=scale * se_meta_d, se_m_ratio=se_m_ratio,
        se_m_diff=scale * se_m_diff, table=table, s=first.s,
        rs1=cells.conditional(0) if conditional else None, rs2=cells.conditional(1) if conditional else None,
    )  # fmt: skip


class _Cells:
    """Counts by side, their type-1 measures, and the status that these alone impose."""

    def __init__(self, table: Counts, s: ArrayLike) -> None:
        self.first, self.n = type1(table, s=s), table.n
        self.collapsed = likelihood.collapse(likelihood.by_side(table))
        self.status = np.full(table.cells, OK, dtype="<U15")
        self.status[_zero(table, self.first)] = ZERO_DPRIME
        self.status[~(np.isfinite(self.first.d) & np.isfinite(self.first.c))] = UNDEFINED_TYPE1

    def solved(self, side: int | None = None) -> tuple[dict[str, Floats], Texts]:
        """Search all cells of status ``"ok"``, over both responses or one ``side``: numbers, the cell last, and status.

        variance is that of meta_d with d and c known, by_theta its derivative by c / d; NaN where there is nothing.
        """
        sides = slice(None) if side is None else slice(side, side + 1)
        enough = self.collapsed.used[sides].max(axis=0) > 1
        status = np.where((self.status == OK) & ~enough, UNIDENTIFIED, self.status)
        cells, k = len(self.n), self.collapsed.counts.shape[2]
        names = ("meta_d", "variance", "by_theta", "value", "gradient")
        result = {name: np.full(cells, np.nan) for name in names}
        result["edges"] = np.full((2 if side is None else 1, k - 1, cells), np.nan)
        result["value"][status == UNIDENTIFIED] = 0.0
        open_cells = np.flatnonzero(status == OK)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for begin in range(0, len(open_cells), CHUNK):
                self._fill(result, status, open_cells[begin : begin + CHUNK], side)
        return result, status

    def _fill(self, result: dict[str, Floats], status: Texts, cell: Ints, side: int | None) -> None:
        first, n = self.first, self.n[cell]
        part = likelihood.Collapsed(self.collapsed.counts[..., cell], self.collapsed.rank[..., cell])
        problem = likelihood.problem_of(part, first.d[cell], first.c[cell], first.s[cell])
        problem = problem if side is None else problem.side(side)
        found, here = search(problem, first.d[cell] / problem.unit)
        variance, by_theta = sensitivity(problem, here, found.x, n, side)
        # A stretch without curvature is no peak, wherever on it the search stopped.
        at_end = (np.abs(found.x) >= problem.bound) | ~(variance * n < _LEVEL_VARIANCE)
        sure = found.converged & ~at_end
        result["meta_d"][cell] = np.clip(found.x * problem.unit, -10.0, 10.0)
        result["edges"][..., cell] = np.cumsum(here.width, axis=1)
        result["value"][cell] = here.value * n
        result["gradient"][cell] = largest_gradient(problem, here)
        result["variance"][cell] = np.where(sure, variance, np.nan)
        result["by_theta"][cell] = np.where(sure, by_theta, np.nan)
        status[cell] = np.where(found.converged, np.where(at_end, BOUNDARY, OK), NOT_CONVERGED)

    def conditional(self, side: int) -> Conditional:
        """Fit one response alone; unlike the whole fit, one that ends at the range's end gives no number."""
        alone, status = self.solved(side)
        meta_d, scale = np.where(status == OK, alone["meta_d"], np.nan), unit(self.first.s)
        ratio, error = _ratio(meta_d, self.first.d), scale * np.sqrt(alone["variance"])
        return Conditional(meta_d, scale * meta_d, ratio, error, status)


def _zero(table: Counts, first: Type1) -> Mask:
    """Return where d' is 0, or would be but for the last digits of padded sums."""
    close = first.s == 1
    for rate, other in ((table.hits, table.false_alarms), (table.misses, table.correct_rejections)):
        one, two = rate * table.n1, other * table.n2
        close &= np.abs(one - two) <= _ROUNDING * (one + two)
    zero: Mask = (first.d == 0) | close
    return zero


def sensitivity(
    problem: Problem, here: Evaluation, x: Floats, n: Floats, side: int | None = None
) -> tuple[Floats, Floats]:
    """Return the variance of meta-d' (sd of S1) with d and c known, and ∂m/∂θ, at the maximum ``x`` of ``n`` trials."""
    # The observed information of meta-d', the criteria profiled out, is the Schur complement of the negative Hessian.
    # d and c act on m through θ = c / d alone; ∂m/∂θ follows from the implicit-function theorem.
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
    """Return standard errors of meta-d', M-ratio and M-diff (sd of S1) that hold the uncertainty of d and c.

    The two stages rest on independent scores (the ratings are conditional on stimulus and response), so variances add,
    with no cross term (Murphy & Topel 1985, *J. Bus. Econ. Stat.* 3)::

        Var(m) = Var(m | d, c) + ∇m' V(d, c) ∇m        Var(M) = Var(m | d, c) / d² + ∇M' V(d, c) ∇M,   M = m / d
    """
    d = first.d
    by_d, by_c = -by_theta * first.c / d**2, by_theta / d

    def error(scale: Floats, from_d: Floats, from_c: Floats) -> Floats:
        spread = from_d**2 * first.var_d + 2 * from_d * from_c * first.cov_d_c + from_c**2 * first.var_c
        return np.asarray(np.sqrt(variance * scale**2 + spread))

    one = np.ones_like(d)
    ratio = error(1 / d, by_d / d - meta_d / d**2, by_c / d)
    return error(one, by_d, by_c), ratio, error(one, by_d - 1, by_c)


def _ratio(meta_d: Floats, d: Floats) -> Floats:
    return np.divide(meta_d, d, out=np.full_like(meta_d, np.nan), where=np.isfinite(meta_d))
