"""Bootstrap of meta-d', all cells and replicates as one batch of fits.

Sources: Efron & Tibshirani (1993), *An Introduction to the Bootstrap*, chapters 13 (percentile) and 14.3 (bias-corrected,
acceleration 0).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats.counts import Counts
from metacog_pipeline.stats.metad.fit import fit_metad
from metacog_pipeline.stats.metad.problem import Mask
from metacog_pipeline.stats.metad.resampling import resample_counts
from metacog_pipeline.stats.metad.types import BOUNDARY, OK, MetaD, Texts
from metacog_pipeline.stats.resampling import usable as usable_draws

QUANTITIES = ("da", "ca", "meta_da", "m_ratio", "m_diff", "log_m_ratio")
METHODS = ("percentile", "bias_corrected")
NO_FIT = "no_fit"
TOO_FEW = "too_few_replicates"
OPEN_ENDED = "open_ended"
NEVER_POSITIVE = "not_positive"


@dataclass(frozen=True, slots=True)
class Replicates:
    """Fits of resampled counts, arrays of shape ``(cells, n_boot)``; NaN where ``usable`` is False."""

    # da, ca, meta_da, m_ratio, m_diff, log_m_ratio: as in :class:`MetaD`; the logarithm is -inf for ratios of 0 and
    # below. A replicate whose meta-d' has no finite estimate counts as one beyond all others: it is in, clipped at
    # the end of the range
    da: Floats
    ca: Floats
    meta_da: Floats
    m_ratio: Floats
    m_diff: Floats
    log_m_ratio: Floats
    usable: Mask  # which replicates have values
    at_end: Mask  # which of these are clipped


@dataclass(frozen=True, slots=True)
class Interval:
    """Bootstrap interval of one quantity, arrays of shape ``(cells,)``; NaN where ``status`` is not ``"ok"``.

    Attributes
    ----------
    low, high
        Ends.
    se
        Standard deviation over replicates with a finite estimate.
    status
        ``"ok"``, ``"no_fit"``, ``"too_few_replicates"``, ``"open_ended"`` (an end lies among replicates without a finite
        estimate), or ``"not_positive"`` (logarithm of a ratio that is, or at the lower end is, not above 0).
    """

    low: Floats
    high: Floats
    se: Floats
    status: Texts


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Replicates of a fit.

    Attributes
    ----------
    fit
        The fit of the counts themselves.
    replicates
        The fits of their replicates.
    n_boot, kind
        Replicates per cell, and how they were drawn.
    """

    fit: MetaD
    replicates: Replicates
    n_boot: int
    kind: str

    @property
    def usable(self) -> Ints:
        """Number of usable replicates per cell."""
        number: Ints = self.replicates.usable.sum(axis=1)
        return number

    def interval(self, quantity: str, level: float = 0.95, method: str = "percentile") -> Interval:
        """Return the interval of one of ``QUANTITIES`` at a coverage in 0..1 exclusive."""
        return interval(self.fit, self.replicates, quantity, level, method)


def bootstrap_metad(
    table: Counts,
    n_boot: int,
    seed: int,
    kind: str = "nonparametric",
    s: ArrayLike = 1.0,
    padding: float | None = None,
) -> Bootstrap:
    """Bootstrap the fit of every cell.

    Parameters
    ----------
    table, s, padding
        As in :func:`fit_metad`; a replicate is padded as the table is.
    n_boot, seed, kind
        As in :func:`resample_counts`. 1,000 replicates are usual.

    A cell without a fit has no interval whatever its replicates are: they are left empty and cost no search.

    Examples
    --------
    >>> table = Counts(np.array([[60.0, 40, 25, 15]]), np.array([[10.0, 20, 45, 65]]))
    >>> found = bootstrap_metad(table, 200, seed=1).interval("m_ratio")
    >>> found.low.round(1), found.high.round(1), found.status.tolist()
    (array([0.4]), array([1.1]), ['ok'])
    """
    fit = fit_metad(table, s=s, padding=padding)
    n_s1, n_s2 = resample_counts(table, n_boot, seed, kind, fit)
    n_s1[~fit.ok] = n_s2[~fit.ok] = 0.0
    replicates = fit_replicates(n_s1, n_s2, s=s, padding=fit.pad)
    replicates.usable[~fit.ok] = False
    return Bootstrap(fit, replicates, n_s1.shape[1], kind)


def fit_replicates(n_s1: Floats, n_s2: Floats, s: ArrayLike = 1.0, padding: float = 0.0) -> Replicates:
    """Fit resampled counts that the caller drew, for instance from items that two models share.

    Parameters
    ----------
    n_s1, n_s2
        ``(cells, n_boot, 2 K)``: raw counts of every replicate.
    s, padding
        As in :func:`fit_metad`; ``s`` is one number or one per cell.
    """
    if n_s1.ndim != 3 or n_s1.shape != n_s2.shape:
        raise ValueError(
            f"replicates have shapes {n_s1.shape} and {n_s2.shape}: (cells, n_boot, 2 K) needed twice"
        )
    cells, n_boot, bins = n_s1.shape
    ratio = np.repeat(np.broadcast_to(np.asarray(s, dtype=np.float64), (cells,)), n_boot)
    flat = Counts(n_s1.reshape(-1, bins), n_s2.reshape(-1, bins))
    fit = fit_metad(flat, s=ratio, padding=padding)
    shape = (cells, n_boot)
    usable = ((fit.status == OK) | (fit.status == BOUNDARY)).reshape(shape)

    def of(values: Floats) -> Floats:
        return np.where(usable, values.reshape(shape), np.nan)

    with np.errstate(divide="ignore", invalid="ignore"):
        logarithm = np.log(np.maximum(fit.m_ratio, 0.0))
    return Replicates(
        da=of(fit.da), ca=of(fit.ca), meta_da=of(fit.meta_da), m_ratio=of(fit.m_ratio),
        m_diff=of(fit.m_diff), log_m_ratio=of(logarithm), usable=usable,
        at_end=(fit.status == BOUNDARY).reshape(shape),
    )  # fmt: skip


def interval(
    fit: MetaD, replicates: Replicates, quantity: str, level: float = 0.95, method: str = "percentile"
) -> Interval:
    """Return the bootstrap interval of one of ``QUANTITIES`` for every cell."""
    if quantity not in QUANTITIES:
        raise ValueError(f"quantity {quantity!r} is unknown: one of {', '.join(QUANTITIES)}")
    if method not in METHODS:
        raise ValueError(f"method {method!r} of interval is unknown: one of {', '.join(METHODS)}")
    if not 0 < level < 1:
        raise ValueError(f"level {level} is outside 0..1")
    draws = getattr(replicates, quantity)
    value = point(fit, quantity)
    low, high, se = (np.full(fit.cells, np.nan) for _ in range(3))
    status = np.full(fit.cells, OK, dtype="<U20")
    for cell in range(fit.cells):
        usable = replicates.usable[cell]
        if not fit.ok[cell]:
            status[cell] = NO_FIT
        elif usable_draws(np.where(usable, 0.0, np.nan)) is None:
            status[cell] = TOO_FEW
        elif not np.isfinite(value[cell]):
            status[cell] = NEVER_POSITIVE
        else:
            ends = _ends(draws[cell][usable], float(value[cell]), level, method)
            if not np.isfinite(ends).all():
                status[cell] = NEVER_POSITIVE
                continue
            clipped = replicates.at_end[cell]
            if quantity not in ("da", "ca") and np.isin(ends, draws[cell][clipped]).any():
                status[cell] = OPEN_ENDED
                continue
            low[cell], high[cell] = ends
            kept = draws[cell][usable & ~clipped]
            kept = kept[np.isfinite(kept)]
            se[cell] = float(np.std(kept, ddof=1)) if len(kept) > 1 else 0.0
    return Interval(low, high, se, status)


def point(fit: MetaD, quantity: str) -> Floats:
    """Return the estimate of one of ``QUANTITIES``; NaN where the logarithm does not exist."""
    if quantity == "log_m_ratio":
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(fit.m_ratio > 0, np.log(np.where(fit.m_ratio > 0, fit.m_ratio, 1.0)), np.nan)
    values: Floats = getattr(fit, quantity)
    return values


def _ends(draws: Floats, value: float, level: float, method: str) -> tuple[float, float]:
    """Return the ends of the interval, from ``draws`` in no order."""
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    if method == "bias_corrected":
        n = len(draws)
        share = ((draws < value).sum() + 0.5 * (draws == value).sum() + 0.5) / (n + 1)
        tails = ndtr(2 * ndtri(share) + ndtri(tails))
    low, high = np.quantile(draws, tails, method="inverted_cdf")
    return float(low), float(high)
