"""Do two measures order the same respondents alike? Spearman's correlation, with an interval over resampled respondents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats, Ints, floats, same_length
from metacog_pipeline.stats.estimate import OK, Estimate, unavailable
from metacog_pipeline.stats.ranks import average_ranks

LEAST = 4  # respondents without which no correlation is given
ENOUGH = 10  # respondents from which on its interval is worth reading
CONSTANT = "one measure is the same for all"
METHOD = "spearman, bootstrap of respondents"


def rank_correlations(
    values: Sequence[ArrayLike], pairs: Sequence[tuple[int, int]], n_boot: int, seed: int
) -> list[Estimate]:
    """Return Spearman's correlation of ``pairs`` of ``values``, measures of the same respondents ``(respondents,)`` each.

    Pairs are places in ``values``. The interval is of ``n_boot`` resamples of respondents, the same for all pairs, by
    ``seed``. The status warns of fewer than ten respondents; below four there is no value.

    >>> measures = [np.arange(5.0), np.array([0.0, 2, 1, 4, 3]), np.arange(5.0) ** 2]
    >>> [round(each.value, 2) for each in rank_correlations(measures, [(0, 1), (0, 2)], 200, seed=1)]
    [0.8, 1.0]
    """
    measures = [floats("values", each) for each in values]
    same_length(**{f"measure {place}": each for place, each in enumerate(measures)})
    n = len(measures[0]) if measures else 0
    if n < LEAST:
        return [unavailable(n, METHOD, f"too few respondents: {n}, at least {LEAST} needed") for _ in pairs]
    rows = np.vstack([np.arange(n), resampling.indices(n, n_boot, seed)])  # the first is the sample itself
    ranks = {place: _centred(measures[place], rows) for place in {*np.ravel(pairs).tolist()}}
    return [_estimate(measures[a], measures[b], ranks[a], ranks[b]) for a, b in pairs]


def _centred(values: Floats, rows: Ints) -> Floats:
    """Return the ranks of each resample less their mean, ``(resamples, respondents)``."""
    return np.asarray(average_ranks(values[rows]) - (rows.shape[1] + 1) / 2)


def _estimate(first: Floats, second: Floats, one: Floats, other: Floats) -> Estimate:
    n = len(first)
    if np.ptp(first) < 1e-12 or np.ptp(second) < 1e-12:
        return unavailable(n, METHOD, CONSTANT)
    size = np.sqrt((one**2).sum(axis=1) * (other**2).sum(axis=1))
    product = (one * other).sum(axis=1)
    found = np.divide(product, size, out=np.full(len(product), np.nan), where=size > 1e-12)
    status = OK if n >= ENOUGH else f"few respondents: {n}"
    return resampling.from_draws(float(found[0]), found[1:].clip(-1, 1), n, METHOD, status)
