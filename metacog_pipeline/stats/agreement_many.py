"""How far any number of raters agree beyond chance.

Fleiss (1971), *Psychol. Bull.* 76, for kappa of many raters; Krippendorff (2011), "Computing Krippendorff's
alpha-reliability", for alpha with missing ratings on an interval scale. Intervals are percentiles over resampled units;
where all resamples give the value itself, as in full agreement, there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats, counts, floats, ratio
from metacog_pipeline.stats.estimate import NO_ITEMS, OK, SINGLE_ITEM, Estimate, unavailable

ONE_CATEGORY = "one category used by all"
TOO_FEW_RATERS = "fewer than two raters"
NO_SPREAD = "no spread: the same in every resample"
_LEAST_ROOM = 1e-10  # 1 - chance agreement below this is none
N_BOOT = 1000


def fleiss_kappa(table: ArrayLike) -> Estimate:
    """Return Fleiss' kappa of counts ``table`` ``(units, categories)``: how many raters put a unit in a category.

    Units with fewer than two raters are left out. Of one category used throughout kappa is 1 and the status says so.

    >>> round(fleiss_kappa([[3, 0], [0, 3], [2, 1], [3, 0]]).value, 3)
    0.625
    """
    cells = counts("table", table, 2)
    cells = cells[cells.sum(axis=1) >= 2].astype(np.float64)
    method, n = "fleiss kappa, bootstrap of units", len(cells)
    if n == 0:
        return unavailable(0, method, NO_ITEMS)
    raters = cells.sum(axis=1)
    agreed = ((cells**2).sum(axis=1) - raters) / (raters * (raters - 1))

    def kappa(weights: Floats) -> Floats:
        observed = weights @ agreed / weights.sum(axis=1)
        used = weights @ cells
        chance = ((used / used.sum(axis=1)[:, None]) ** 2).sum(axis=1)
        room = 1 - chance
        certain = np.abs(room) < _LEAST_ROOM
        value = ratio(observed - chance, np.where(certain, 1.0, room))
        return np.where(certain, (np.abs(observed - 1) < _LEAST_ROOM).astype(np.float64), value)

    one_category = int((cells.sum(axis=0) > 0).sum()) == 1
    return _estimate(kappa, n, method, N_BOOT, 0, ONE_CATEGORY if one_category else OK)


def krippendorff_alpha(ratings: ArrayLike, *, n_boot: int = N_BOOT, seed: int = 0) -> Estimate:
    """Return Krippendorff's alpha of ``ratings`` ``(raters, units)`` on an interval scale, NaN where a unit was left out.

    At most 1 (full agreement; 0: as by chance); no value where all ratings are one category. n counts units with two
    ratings or more; ``n_boot`` resamples of units, of ``seed``.

    >>> ratings = [[1, 2, 3, 3, 2], [1, 2, 3, 3, np.nan], [1, 3, 3, 3, 2]]
    >>> round(krippendorff_alpha(ratings).value, 3)
    0.895
    """
    values = floats("the table of ratings", ratings, 2, gaps=True)
    values = values[:, (~np.isnan(values)).sum(axis=0) >= 2]
    method, n = "krippendorff alpha, interval, bootstrap of units", values.shape[1]
    if n == 0:
        return unavailable(0, method, NO_ITEMS)
    here = ~np.isnan(values)
    if np.ptp(values[here]) == 0:
        return unavailable(n, method, ONE_CATEGORY)
    centred = np.where(here, values - np.nanmean(values), 0.0)
    raters, total, squares = here.sum(axis=0), centred.sum(axis=0), (centred**2).sum(axis=0)
    within = (squares - total**2 / raters) * raters / (raters - 1)

    def alpha(weights: Floats) -> Floats:  # sums over raters are all it needs
        number, moment = weights @ raters, weights @ squares
        spread = moment - (weights @ total) ** 2 / number
        spread = np.where(spread > _LEAST_ROOM * np.maximum(moment, _LEAST_ROOM), spread, 0.0)
        return 1 - ratio((number - 1) * (weights @ within), number * spread)

    return _estimate(alpha, n, method, n_boot, seed, OK)


def _estimate(
    statistic: Callable[[Floats], Floats], n: int, method: str, n_boot: int, seed: int, status: str
) -> Estimate:
    """Return a statistic of unit weights ``(B, n) -> (B,)`` with its interval over resampled units."""
    value = float(statistic(np.ones((1, n)))[0])
    if n == 1:
        return Estimate(value, None, None, 1, method, SINGLE_ITEM)
    drawn = statistic(resampling.weights(n, n_boot, seed))
    known = resampling.usable(drawn)
    if known is not None and float(np.ptp(np.append(known, value))) < _LEAST_ROOM:
        return Estimate(value, None, None, n, method, NO_SPREAD if status == OK else status)
    return replace(resampling.from_draws(value, drawn, n, method, status, "widened"), sem=None)
