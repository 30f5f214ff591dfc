"""Yes/no against right/wrong, as the literature on self-knowledge counts it.

d' of rates cut off at a fixed distance from 0 and 1, which is no correction for small numbers (with no false alarm it is
z(hits) + 3.72 however few items there were), and the share of the uncertainty about being right that the yes removes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from metacog_pipeline.stats._arrays import Floats, ratio
from metacog_pipeline.stats.meta_information import entropy_bits
from metacog_pipeline.stats.type2_dprime import yes_no_table

CLIP = 1e-4


def clipped_dprime(
    yes_correct: ArrayLike,
    yes_incorrect: ArrayLike,
    n_correct: ArrayLike,
    n_incorrect: ArrayLike,
    edge: float = CLIP,
) -> Floats:
    """Return z(hits) - z(false alarms) of rates kept within ``edge`` .. 1 - ``edge``, shape ``(cells,)``.

    Counts of yes among right (yes_correct of n_correct) and among wrong answers (yes_incorrect of n_incorrect). NaN where
    nothing was right or nothing was wrong.

    >>> clipped_dprime([80], [0], [100], [60]).round(3)
    array([4.561])
    """
    if not 0.0 < edge < 0.5:
        raise ValueError(f"edge {edge} is outside 0..0.5")
    hits, alarms, right, wrong = yes_no_table(yes_correct, yes_incorrect, n_correct, n_incorrect)
    rates = [np.clip(ratio(some, of), edge, 1 - edge) for some, of in ((hits, right), (alarms, wrong))]
    result: Floats = ndtri(rates[0]) - ndtri(rates[1])
    return result


def relative_information(
    yes_correct: ArrayLike, yes_incorrect: ArrayLike, n_correct: ArrayLike, n_incorrect: ArrayLike
) -> Floats:
    """Return I(correct; yes) / H(correct), 0..1, ``(cells,)``; 0 where all is right or all wrong, NaN without items.

    yes_correct, yes_incorrect, n_correct and n_incorrect are as in :func:`clipped_dprime`.

    >>> relative_information([80], [30], [100], [60]).round(3)
    array([0.073])
    """
    hits, alarms, right, wrong = yes_no_table(yes_correct, yes_incorrect, n_correct, n_incorrect)
    entropy = entropy_bits(right, wrong)
    left = np.zeros(len(hits))
    for some_right, some_wrong in ((hits, alarms), (right - hits, wrong - alarms)):
        portion = ratio(some_right + some_wrong, right + wrong)
        left = left + np.where(
            some_right + some_wrong > 0, portion * np.nan_to_num(entropy_bits(some_right, some_wrong)), 0.0
        )
    share = np.clip(ratio(entropy - left, np.where(entropy > 0, entropy, 0.0)), 0.0, 1.0)
    return np.where(np.isnan(entropy), np.nan, np.where(entropy > 0, share, 0.0))
