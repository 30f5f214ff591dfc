"""Single numbers with intervals out of a fit: what tables and boards take."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from metacog_pipeline.stats.estimate import OK, Estimate
from metacog_pipeline.stats.metad.bootstrap import QUANTITIES, Bootstrap, point
from metacog_pipeline.stats.metad.types import MetaD

MEASURES = ("meta_da", "m_ratio", "m_diff", "log_m_ratio")
REFUSED = {
    "no_fit": "no fit, so no interval",
    "too_few_replicates": "no interval: too many replicates without an estimate",
    "open_ended": "no interval: an end lies beyond |meta-d'| = 10",
    "not_positive": "the M-ratio, or the lower end of its interval, is not above 0",
}


def estimates(
    fit: MetaD, boot: Bootstrap | None = None, level: float = 0.95, method: str = "percentile"
) -> list[dict[str, Estimate]]:
    """Return, for every cell, the estimates by name.

    Parameters
    ----------
    fit
        A fit.
    boot
        Its bootstrap: all of ``QUANTITIES`` with its intervals. Without one ``MEASURES`` are given with the two-stage
        standard error: value ± z se.
    level, method
        Coverage of the interval, and how the bootstrap's is made (:func:`bootstrap.interval`).

    Examples
    --------
    >>> from metacog_pipeline.stats.counts import counts
    >>> from metacog_pipeline.stats.metad import fit_metad
    >>> found = estimates(fit_metad(counts([60, 40, 25, 15], [10, 20, 45, 65])))[0]["m_ratio"]
    >>> round(found.value, 3), round(found.sem, 3), found.method
    (0.733, 0.223, 'maximum likelihood, two-stage delta, pad 0')
    """
    if not 0 < level < 1:
        raise ValueError(f"level {level} is outside 0..1")
    if boot is not None and boot.fit.cells != fit.cells:
        raise ValueError(f"the bootstrap is of {boot.fit.cells} cells, the fit of {fit.cells}")
    names = MEASURES if boot is None else QUANTITIES
    columns = {
        name: _wald(fit, name, level) if boot is None else _resampled(fit, boot, name, level, method)
        for name in names
    }
    return [{name: columns[name][cell] for name in names} for cell in range(fit.cells)]


def _wald(fit: MetaD, name: str, level: float) -> list[Estimate]:
    value = point(fit, name)
    errors = {"meta_da": fit.se_meta_d_total, "m_ratio": fit.se_m_ratio, "m_diff": fit.se_m_diff}
    with np.errstate(divide="ignore", invalid="ignore"):
        errors["log_m_ratio"] = np.abs(fit.se_m_ratio / fit.m_ratio)
    half = -float(ndtri((1 - level) / 2)) * errors[name]
    return [
        _estimate(fit, cell, why, float(value[cell]), float(value[cell] - half[cell]), float(value[cell] + half[cell]),
                  float(errors[name][cell]), "two-stage delta", "")
        for cell, why in enumerate(fit.withheld)
    ]  # fmt: skip


def _resampled(fit: MetaD, boot: Bootstrap, name: str, level: float, method: str) -> list[Estimate]:
    value, interval = point(fit, name), boot.interval(name, level, method)
    how = f"{boot.kind} bootstrap, {method.replace('_', '-')}, {boot.n_boot}"
    return [
        _estimate(fit, cell, why, float(value[cell]), float(interval.low[cell]), float(interval.high[cell]),
                  float(interval.se[cell]), how, str(interval.status[cell]))
        for cell, why in enumerate(fit.withheld)
    ]  # fmt: skip


def _estimate(
    fit: MetaD, cell: int, why: str, value: float, low: float, high: float, se: float, how: str, status: str
) -> Estimate:
    n = round(float(fit.n[cell] - 4 * fit.counts.shape[2] * fit.pad))
    method = f"maximum likelihood, {how}, pad {fit.pad:g}"
    if why:
        return Estimate(None, None, None, n, method, why)
    reason = REFUSED.get(status, OK)
    if not math.isfinite(value):
        return Estimate(None, None, None, n, method, REFUSED["not_positive"])
    if not (math.isfinite(low) and math.isfinite(high)):
        return Estimate(value, None, None, n, method, reason if reason != OK else REFUSED["no_fit"])
    return Estimate(value, low, high, n, method, reason, se if math.isfinite(se) else None)
