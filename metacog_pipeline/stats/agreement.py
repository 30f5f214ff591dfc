"""How far two raters agree beyond chance.

Source: J. Cohen (1960), "A coefficient of agreement for nominal scales", *Educ. Psychol. Meas.* 20; large-sample
standard error of Fleiss, Cohen & Everitt (1969), *Psychol. Bull.* 72, eq. 13. That error is too small where units are few
or the raters always agree. So the interval is that of the table with two units more, spread evenly over its cells (as
Agresti & Min 2005, *Biometrics* 61): of 10 to 200 units it covers 91 to 100 %.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats._arrays import Floats, same_length
from metacog_pipeline.stats.estimate import NO_ITEMS, SINGLE_ITEM, Estimate, unavailable
from metacog_pipeline.stats.resampling import Z95

ONE_CATEGORY = "one category used by both"
ADDED = 2.0  # units that the interval adds, spread over the cells
_NO_SPREAD = 1e-12  # a variance up to here is rounding


def cohen_kappa(first: ArrayLike, second: ArrayLike) -> Estimate:
    """Return kappa of two raters' categories, ``first`` and ``second`` ``(N,)``; any values, equal ones being one
    category.

    >>> round(cohen_kappa([1, 1, 0, 0, 1], [1, 1, 0, 1, 1]).value, 3)
    0.545
    """
    a, b = np.asarray(first), np.asarray(second)
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"ratings have shapes {a.shape} and {b.shape}: 1 dimension needed")
    n = same_length(first=a, second=b)
    if n == 0:
        return unavailable(0, "kappa", NO_ITEMS)
    names, index = np.unique(np.concatenate([a, b]), return_inverse=True)
    cells = np.bincount(index[:n] * len(names) + index[n:], minlength=len(names) ** 2).reshape(len(names), -1)
    diagonal = cells.diagonal()
    if int(diagonal.max()) == n:
        return unavailable(n, "kappa", ONE_CATEGORY)
    value, variance = _kappa(cells.astype(np.float64))
    if int(diagonal.sum()) == n:
        value = 1.0
    if n == 1:
        return Estimate(value, None, None, 1, "kappa", SINGLE_ITEM)
    middle, spread = _kappa(np.asarray(cells + ADDED / cells.size, dtype=np.float64))
    far = Z95 * math.sqrt(spread)
    low, high = max(-1.0, min(middle - far, value)), min(1.0, max(middle + far, value))
    # No spread at all is the table's, not the raters': an error of 0 would claim too much.
    sem = math.sqrt(variance) if variance > _NO_SPREAD else None
    return Estimate(value, low, high, n, "kappa", sem=sem)


def _kappa(cells: Floats) -> tuple[float, float]:
    """Return kappa of counts of any size and its large-sample variance."""
    n = float(cells.sum())
    p = cells / n
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    agreed, chance = float(p.trace()), float(rows @ columns)
    value = max(-1.0, min(1.0, (agreed - chance) / (1 - chance)))
    own = float(p.diagonal() @ (1 - (rows + columns) * (1 - value)) ** 2)
    cross = p * (columns[:, None] + rows[None, :]) ** 2  # Σ p_ij (p_.i + p_j.)², off the diagonal
    other = (1 - value) ** 2 * float(cross.sum() - cross.trace())
    variance = (own + other - (value - chance * (1 - value)) ** 2) / (n * (1 - chance) ** 2)
    return value, max(variance, 0.0)
