"""meta-d′ and M-ratio of answers that are right or wrong: of the binary task they are equivalent to.

Such an answer is no S1 or S2, so what is fitted is the two-alternative equivalent of `stats.folded`: d′ is
2 z(accuracy) of the answers that state a confidence, and at an accuracy of one half or less there is no M-ratio. All
groups are fitted together; with several runs an item is resampled with all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.stats.counts import padded
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.stats.folded import estimate, fold, metad_of_correct_cells
from metacog_pipeline.stats.metad import fit_metad

Floats = NDArray[np.float64]

NAMES = {"d": "d_equivalent", "meta_d": "meta_d", "m_ratio": "m_ratio"}
N_REFITTED = 400  # of the resamples of clustered items: an interval's ends need no more, and a fit costs


def meta_d_estimates(
    tables: Sequence[NDArray[np.int64]], draws: Sequence[Floats | None]
) -> list[dict[str, Estimate]]:
    """Return ``d_equivalent``, ``meta_d`` and ``m_ratio`` of every group.

    Parameters
    ----------
    tables
        Of each group, shape ``(K, 2)``, K alike for all: rated answers by confidence, rising, and outcome, wrong
        before correct.
    draws
        Of each group resampled tables, shape ``(B, 2 K)``, level × outcome; None for independent items, whose
        interval is that of the two-stage delta method.
    """
    if not tables:
        return []
    stacked = np.stack(tables)
    padding = 1 / (2 * stacked.shape[1])
    found = metad_of_correct_cells(stacked, padding=padding)
    return [
        {
            name: one[key] if drawn is None else _resampled(one[key], key, drawn, padding)
            for key, name in NAMES.items()
        }
        for one, drawn in zip(found, draws, strict=True)
    ]


def _resampled(single: Estimate, key: str, drawn: Floats, padding: float) -> Estimate:
    """Return the value with the interval of its resamples; one without a value stays as it is."""
    if single.value is None:
        return single
    fit = fit_metad(padded(fold(drawn[:N_REFITTED].reshape(len(drawn[:N_REFITTED]), -1, 2)), padding))
    values = {"d": fit.d1, "meta_d": fit.meta_da, "m_ratio": fit.m_ratio}[key]
    usable = np.isfinite(values) if key == "d" else fit.ok & ((key != "m_ratio") | (fit.d1 > 0))
    method = single.method.removesuffix(", delta")
    again = estimate(
        single.value,
        np.nan,
        single.n,
        method,
        single.status,
        np.where(usable, values, np.nan),
        keep=key == "d",
    )
    return replace(again, method=f"{again.method} of items")
