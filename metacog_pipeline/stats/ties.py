"""The largest of computed numbers, without a winner by the last bit.

Two numbers that are equal on paper differ in their last bit by the version of a library, or by the order of a sum. Where
the larger one is named on a board, or its sign is shown, that bit would decide what readers see.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Numbers closer than this count as equal. Errors of rounding are about 1e-15; no difference worth naming is below 1e-9.
TIE = 1e-9


def largest(values: ArrayLike, axis: int = -1) -> NDArray[np.intp]:
    """Return the place of the largest of ``values`` along ``axis``: of those within `TIE` of it, the first.

    NaN is never the largest; 0 where all are NaN.

    >>> int(largest([0.1 + 0.2, 0.3, 0.2])), int(largest([0.3, 0.1 + 0.2, 0.2]))
    (0, 0)
    """
    known = np.nan_to_num(np.asarray(values, dtype=np.float64), nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    top = known.max(axis=axis, keepdims=True)
    within = TIE * np.maximum(1.0, np.abs(np.where(np.isfinite(top), top, 0.0)))
    return np.asarray((known >= top - within).argmax(axis=axis))
