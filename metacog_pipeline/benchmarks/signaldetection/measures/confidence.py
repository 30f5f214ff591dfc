"""What confidence is worth: AUROC2, calibration, and how many bits it tells about being right.

Confidence k of K is read as the probability 0.5 + (k - 1) / (2 (K - 1)) that the response is right: of two responses,
the lowest rating, a guess, is right half of the time.

``meta_information`` is the signed meta-I, I(correct; response, confidence) in bits (Dayan 2023), ``rmi`` its share of the
most there can be at this accuracy. Resampling items adds about as much to a plug-in value as sampling them did, so the
mean excess of the resamples is subtracted, and the interval is theirs reflected at the plug-in value. What is left may
lie below 0 where confidence tells nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.signaldetection.grid import Counts
from metacog_pipeline.benchmarks.signaldetection.measures.meta_d import no_confidence
from metacog_pipeline.scoring import calibration as shared
from metacog_pipeline.stats import counts as stats_counts
from metacog_pipeline.stats import resampling
from metacog_pipeline.stats.auroc import auroc_from_patterns
from metacog_pipeline.stats.calibration import brier_from_patterns, ece_estimate
from metacog_pipeline.stats.estimate import OFTEN_UNDEFINED, Estimate, unavailable
from metacog_pipeline.stats.meta_information import meta_information

Floats = NDArray[np.float64]

_INFORMATION = {"meta_information": "meta_i_signed", "rmi": "rmi"}
METHOD = "plug-in, less its mean excess in resamples of items"


def probability(ratings: int) -> Floats:
    """Return the probability of being right each confidence 1..K stands for in a binary task, 0.5 to 1."""
    return np.linspace(0.5, 1.0, ratings) if ratings > 1 else np.array([0.5])


def confidence_estimates(groups: Sequence[Counts]) -> list[dict[str, Estimate]]:
    """Return AUROC2, ECE, Brier score, mean confidence and information of every group, over its rated answers."""
    return [{**_graded(counts), **_information(counts)} for counts in groups]


def _graded(counts: Counts) -> dict[str, Estimate]:
    levels, k = counts.grid.by_level(), counts.grid.ratings
    patterns = counts.patterns.collapse(levels, 2 * k)
    held = patterns.counts.any(axis=1)  # an item without a rated answer is not resampled with them
    if patterns.counts.sum(axis=1).max(initial=0) > 1:
        patterns = resampling.merge_patterns(patterns.counts[held], patterns.weights[held])
    else:
        patterns = resampling.Patterns(np.eye(2 * k, dtype=np.int64), patterns.totals.astype(np.int64))
    drawn = shared.draws(patterns, counts.seed)
    level = np.repeat(np.arange(1.0, k + 1), 2)
    stated = probability(k)
    return {
        "auroc2": auroc_from_patterns(patterns),
        "ece": _read_as(ece_estimate(patterns, stated, drawn)),
        "brier": _read_as(brier_from_patterns(patterns, stated)),
        "mean_confidence": resampling.ratio(patterns, level, np.ones(2 * k)),
    }


def _read_as(found: Estimate) -> Estimate:
    return replace(found, method=f"{found.method}; k as 0.5+(k-1)/(2(K-1))")


def _information(counts: Counts) -> dict[str, Estimate]:
    n, why = counts.n_rated, no_confidence(counts)
    if why is not None:
        return {name: unavailable(n, METHOD, why) for name in _INFORMATION}
    plain = meta_information(counts.rated)
    drawn = meta_information(stats_counts.Counts(*counts.grid.rated(counts.draws)))
    status = str(plain.status_rmi[0])
    return {
        name: _corrected(float(getattr(plain, field)[0]), getattr(drawn, field), n, status)
        for name, field in _INFORMATION.items()
    }


def _corrected(value: float, drawn: Floats, n: int, status: str) -> Estimate:
    if not np.isfinite(value):
        return unavailable(n, METHOD, status)
    usable = resampling.usable(drawn)
    low, high = resampling.interval(drawn)
    if usable is None or low is None or high is None:
        return Estimate(value, None, None, n, "plug-in", OFTEN_UNDEFINED)
    corrected = 2 * value - float(usable.mean())
    return Estimate(corrected, 2 * value - high, 2 * value - low, n, METHOD, sem=float(usable.std(ddof=1)))
