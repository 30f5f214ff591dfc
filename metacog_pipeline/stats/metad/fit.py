"""meta-d' by maximum likelihood, for any number of cells at once."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats._arrays import Floats
from metacog_pipeline.stats.counts import Counts, padded
from metacog_pipeline.stats.metad.problem import Collapsed, by_side, collapse, restore
from metacog_pipeline.stats.metad.solve import Solution, first_status, solve
from metacog_pipeline.stats.metad.standard_errors import Sensitivity, two_stage
from metacog_pipeline.stats.metad.types import BOUNDARY, OK, Conditional, MetaD, Texts
from metacog_pipeline.stats.type1 import Type1, type1


def fit_metad(
    table: Counts, s: ArrayLike = 1.0, padding: float | None = None, conditional: bool = False
) -> MetaD:
    """Fit meta-d' to every cell of a table (Maniscalco & Lau 2012, *Consciousness and Cognition* 21, 422-430).

    The type-1 estimates d1 and c1 of the same counts are held fixed. Evidence for the rating is normal with means
    ∓meta-d'/2; the type-1 criterion lies at meta-d' · c1 / d1. Free are meta-d' and 2 (K - 1) type-2 criteria, fitted to
    the ratings given stimulus and response. Degenerate cells get a status, never an exception or a warning.

    Parameters
    ----------
    table
        Counts of any number of cells.
    s
        sd(S1) / sd(S2), above 0, one number or one per cell. For s other than 1, c1 is measured from where hit and
        correct-rejection rates are equal but used on an axis that starts midway between the means: so does the
        reference procedure.
    padding
        Added to each count of an unpadded table first (``1 / (2 K)`` is usual); None takes the table as it is.
    conditional
        Whether to fit meta-d' to either response alone as well.

    Raises
    ------
    ValueError
        For a padded table with a further ``padding``, or s of 0 or below.

    Examples
    --------
    >>> fit = fit_metad(Counts(np.array([[60.0, 40, 25, 15]]), np.array([[10.0, 20, 45, 65]])))
    >>> fit.d1.round(3), fit.meta_d1.round(3), fit.m_ratio.round(3), fit.status.tolist()
    (array([1.358]), array([0.996]), array([0.733]), ['ok'])
    """
    if padding is not None:
        table = padded(table, padding)
    first = type1(table, s=s)
    counts = by_side(table)
    collapsed = collapse(counts)
    status = first_status(table, first)
    both = solve(collapsed, first, table.n, status)
    sides = _both_sides(collapsed, first, table.n, status) if conditional else (None, None)
    return _result(table, first, counts, collapsed, both, sides)


def conditional_fits(table: Counts) -> tuple[Conditional, Conditional]:
    """Return meta-d' fitted to response S1 and to response S2 alone: what `fit_metad` gives as ``rs1`` and ``rs2``.

    Parameters
    ----------
    table : Counts
        Counts by stimulus, response and rating, one row per cell.

    Examples
    --------
    >>> table = Counts(np.array([[60.0, 40, 25, 15]]), np.array([[10.0, 20, 45, 65]]))
    >>> first, second = conditional_fits(table)
    >>> first.meta_d1.tolist() == fit_metad(table, conditional=True).rs1.meta_d1.tolist(), second.status.tolist()
    (True, ['ok'])
    """
    first = type1(table)
    return _both_sides(collapse(by_side(table)), first, table.n, first_status(table, first))


def _both_sides(
    collapsed: Collapsed, first: Type1, n: Floats, status: Texts
) -> tuple[Conditional, Conditional]:
    one, other = (_conditional(collapsed, first, n, status, side) for side in (0, 1))
    return one, other


def _conditional(collapsed: Collapsed, first: Type1, n: Floats, status: Texts, side: int) -> Conditional:
    """Fit one response side alone; unlike the whole fit, one that ends at the range's end gives no number."""
    alone = solve(collapsed, first, n, status, side)
    meta_d = np.where(alone.status == OK, alone.meta_d, np.nan)
    scale = _unit(first.s)
    return Conditional(
        meta_d1=meta_d,
        meta_da=scale * meta_d,
        m_ratio=_ratio(meta_d, first.d),
        se_meta_d=scale * np.sqrt(alone.variance),
        status=alone.status,
    )


def _result(
    table: Counts,
    first: Type1,
    counts: Floats,
    collapsed: Collapsed,
    both: Solution,
    sides: tuple[Conditional | None, Conditional | None],
) -> MetaD:
    there = (both.status == OK) | (both.status == BOUNDARY)
    meta_d = np.where(there, both.meta_d, np.nan)
    ratio = _ratio(meta_d, first.d)
    with np.errstate(all="ignore"):
        known = Sensitivity(both.variance, both.by_theta)
        errors = two_stage(known, meta_d, first)
        meta_c = np.where(there, meta_d * (first.c / first.d), np.nan)
    edges = np.where(there, restore(both.edges, collapsed.rank), np.nan)
    scale = _unit(first.s)
    return MetaD(
        status=both.status, d1=np.where(both.status == "zero_dprime", 0.0, first.d), c1=first.c,
        da=np.where(both.status == "zero_dprime", 0.0, first.da), ca=first.ca, meta_d1=meta_d,
        meta_da=scale * meta_d, m_ratio=ratio, m_diff=scale * (meta_d - np.where(there, first.d, np.nan)),
        meta_c1=meta_c, t2c_rs1=(meta_c - edges[0])[::-1].T, t2c_rs2=(meta_c + edges[1]).T,
        log_likelihood=both.value, gradient=both.gradient, iterations=both.steps,
        se_meta_d=scale * np.sqrt(both.variance), se_meta_d_total=scale * errors.meta_d,
        se_m_ratio=errors.m_ratio, se_m_diff=scale * errors.m_diff, counts=counts, n=table.n, pad=table.pad,
        s=first.s, rs1=sides[0], rs2=sides[1],
    )  # fmt: skip


def _ratio(meta_d: Floats, d: Floats) -> Floats:
    known = np.isfinite(meta_d)
    return np.divide(meta_d, d, out=np.full_like(meta_d, np.nan), where=known)


def _unit(s: Floats) -> Floats:
    """Return root-mean-square units per sd of S1."""
    unit: Floats = math.sqrt(2.0) * s / np.sqrt(1 + s * s)
    return unit
