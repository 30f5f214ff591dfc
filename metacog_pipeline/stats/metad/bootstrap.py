"""Percentile intervals of meta-d' over resampled trials, all cells and replicates as one batch of fits.

Source: Efron & Tibshirani (1993), *An Introduction to the Bootstrap*, chapter 13.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats, whole
from metacog_pipeline.stats.counts import Counts
from metacog_pipeline.stats.estimate import Estimate, unavailable
from metacog_pipeline.stats.metad.fit import fit_metad
from metacog_pipeline.stats.metad.types import BOUNDARY, OK, MetaD
from metacog_pipeline.stats.resampling.intervals import LEVEL

MEASURES = ("da", "ca", "meta_da", "m_ratio", "m_diff")
TOO_FEW = "no interval: too many replicates without an estimate"
OPEN_ENDED = "no interval: an end lies beyond |meta-d'| = 10"


def bootstrap_metad(
    table: Counts, n_boot: int, seed: int, s: ArrayLike = 1.0, padding: float | None = None
) -> list[dict[str, Estimate]]:
    """Return the `MEASURES` of every cell with percentile intervals, by name.

    Parameters
    ----------
    table, s, padding
        As in :func:`fit_metad`. Raw trials are drawn again, either stimulus keeping its number; a replicate is padded as
        the table is.
    n_boot, seed
        Replicates, 1,000 are usual, and the seed of their draws.

    Returns
    -------
    list
        By cell: da and ca in root-mean-square units, meta_da on the same scale, m_ratio = meta-d' / d', m_diff. A replicate
        whose meta-d' has no finite estimate counts as one beyond all others; where an end is one of these there is no
        interval. A cell whose number is withheld (`MetaD.withheld`) has none.

    Examples
    --------
    >>> table = Counts(np.array([[60.0, 40, 25, 15]]), np.array([[10.0, 20, 45, 65]]))
    >>> found = bootstrap_metad(table, 200, seed=1)[0]["m_ratio"]
    >>> round(found.low, 1), round(found.high, 1), found.status
    (0.4, 1.1, 'ok')
    """
    fit = fit_metad(table, s=s, padding=padding)
    drawn = _drawn(table, whole("n_boot", n_boot, 1), seed, fit.ok)
    cells, bins = fit.cells, table.n_s1.shape[1]
    each = np.repeat(np.broadcast_to(np.asarray(s, dtype=np.float64), (cells,)), n_boot)
    replicates = fit_metad(
        Counts(drawn[0].reshape(-1, bins), drawn[1].reshape(-1, bins)), s=each, padding=fit.pad
    )
    at_end = (replicates.status == BOUNDARY).reshape(cells, n_boot)
    usable = at_end | (replicates.status == OK).reshape(cells, n_boot)
    draws = {name: getattr(replicates, name).reshape(cells, n_boot) for name in MEASURES}
    return [
        {name: _estimate(fit, cell, name, draws[name][cell], usable[cell], at_end[cell]) for name in MEASURES}
        for cell in range(cells)
    ]


def _drawn(table: Counts, n_boot: int, seed: int, fitted: NDArray[np.bool_]) -> list[Floats]:
    """Return replicates ``(cells, n_boot, 2 K)`` of either stimulus; none of cells without a fit, which cost no search."""
    rng, found = resampling.generator(seed), []
    for side in (table.n_s1, table.n_s2):
        raw = np.maximum(side - table.pad, 0.0)
        made = np.zeros((len(raw), n_boot, raw.shape[1]))
        for cell in np.flatnonzero(raw.sum(axis=1) > 0):
            made[cell] = resampling.table(raw[[cell]], n_boot, rng)[:, 0]
        made[~fitted] = 0.0
        found.append(made)
    return found


def _estimate(
    fit: MetaD,
    cell: int,
    name: str,
    draws: Floats,
    usable: NDArray[np.bool_],
    at_end: NDArray[np.bool_],
) -> Estimate:
    n = round(float(fit.n[cell] - 4 * fit.counts.shape[2] * fit.pad))
    method = f"maximum likelihood, bootstrap, percentile, {len(draws)}, pad {fit.pad:g}"
    if why := fit.withheld[cell]:
        return unavailable(n, method, why)
    value = float(getattr(fit, name)[cell])
    if resampling.usable(np.where(usable, 0.0, np.nan)) is None:
        return Estimate(value, None, None, n, method, TOO_FEW)
    low, high = np.quantile(draws[usable], [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="inverted_cdf")
    if name not in ("da", "ca") and np.isin([low, high], draws[at_end]).any():
        return Estimate(value, None, None, n, method, OPEN_ENDED)
    kept = draws[usable & ~at_end]
    return Estimate(
        value, float(low), float(high), n, method, sem=float(np.std(kept, ddof=min(1, len(kept) - 1)))
    )
