"""Type-2 hit and false-alarm rates, P(confidence >= k) for k = 2 .. K given response and outcome."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from metacog_pipeline.stats._arrays import Floats


def observed_rates(counts: Floats) -> Floats:
    """Return the rates in ``counts`` ``(side, row, K, C)`` as ``(C, side, row, K - 1)``; NaN where a row is empty."""
    beyond = np.cumsum(counts[:, :, ::-1], axis=2)[:, :, ::-1]
    total = beyond[:, :, :1]
    rates = np.divide(beyond[:, :, 1:], total, out=np.full_like(beyond[:, :, 1:], np.nan), where=total > 0)
    return np.moveaxis(rates, 3, 0)


def fitted_rates(edges: Floats, meta_d: Floats, meta_c: Floats, s: Floats) -> Floats:
    """Return the rates of the model, ``(C, side, row, K - 1)``.

    Parameters
    ----------
    edges
        ``(side, K - 1, C)``: distances of the type-2 criteria from the type-1 criterion.
    meta_d, meta_c, s
        ``(C,)``: distance of the means, the criterion from midway between them, and sd(S1) / sd(S2).
    """
    one = np.ones_like(s)
    mean = np.stack([[meta_d / 2 + meta_c, meta_c - meta_d / 2], [meta_d / 2 - meta_c, -meta_d / 2 - meta_c]])
    sigma = np.stack([[one, s], [s, one]])
    survival = ndtr((mean[:, :, None] - edges[:, None]) * sigma[:, :, None])
    whole = ndtr(mean * sigma)[:, :, None]
    rates = np.divide(survival, whole, out=np.full_like(survival, np.nan), where=whole > 0)
    return np.moveaxis(rates, 3, 0)
