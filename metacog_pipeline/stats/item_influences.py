"""How much each item moves criterion and sensitivity: variances, and covariances of conditions that share items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from metacog_pipeline.stats._arrays import Floats

QUANTITIES = ("c", "d", "c_prime")


@dataclass(frozen=True, slots=True)
class ItemInfluences:
    """c, d′ and c′ of one respondent (`QUANTITIES`), item by item.

    The products of two conditions' influences on the same items add up to their covariance.
    """

    value: Floats  # (3,)
    variance: Floats  # (3,)
    influence: Floats  # (items, 3)
    answered: Floats  # (items,): 1 where the item has a response


def item_influences(
    hits: Floats, misses: Floats, false_alarms: Floats, correct_rejections: Floats
) -> ItemInfluences:
    """Return the influences of items on log-linear corrected c, d′ and c′ (Efron & Tibshirani 1993, ch. 21).

    hits, misses, false_alarms, correct_rejections: responses to each item over its runs, shapes ``(items,)``.

    >>> one, none = np.repeat([1.0, 0.0], 4), np.zeros(8)
    >>> found = item_influences(one * [1, 1, 1, 0, 0, 0, 0, 0], one * [0, 0, 0, 1, 0, 0, 0, 0], 1 - one, none)
    >>> found.value.round(2).tolist()
    [-0.9, -0.76, 1.19]
    """
    # To first order an item moves z of a rate by (y - rate · m) / (N φ(z)), with m its responses and y those that say S2.
    # The half answers of the correction count as one item more: of one answer per item this is the delta method.
    z, moved, spread = np.empty(2), np.empty((len(hits), 2)), np.empty(2)
    for side, (y, other) in enumerate(((hits, misses), (false_alarms, correct_rejections))):
        m = y + other
        n = m.sum() + 1
        rate = (y.sum() + 0.5) / n
        z[side] = ndtri(rate)
        scale = n * np.exp(-(z[side] ** 2) / 2) / np.sqrt(2 * np.pi)
        moved[:, side] = (y - rate * m) / scale
        spread[side] = (moved[:, side] ** 2).sum() + 0.5 * ((1 - rate) ** 2 + rate**2) / scale**2
    d, both = z[0] - z[1], z[0] + z[1]
    c_prime = [z[1] / d**2, -z[0] / d**2] if d != 0 else [np.nan, np.nan]
    gradients = np.array([[-0.5, -0.5], [1.0, -1.0], c_prime])
    value = np.array([-both / 2, d, -both / (2 * d) if d != 0 else np.nan])
    answered = (hits + misses + false_alarms + correct_rejections > 0).astype(np.float64)
    return ItemInfluences(value, gradients**2 @ spread, moved @ gradients.T, answered)
