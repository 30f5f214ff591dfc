"""Measures of D, the graded yes: P(yes) / (P(yes) + P(no)) of the meta reply, where log-probabilities were kept."""

from __future__ import annotations

import numpy as np

from metacog_pipeline.benchmarks.selfknowledge.cells import THRESHOLD, Cell, Floats, derived_seed
from metacog_pipeline.benchmarks.selfknowledge.measures import Found, sensitivity, shares
from metacog_pipeline.stats.auroc import auroc
from metacog_pipeline.stats.calibration import ece
from metacog_pipeline.stats.clusters import percentile_interval
from metacog_pipeline.stats.estimate import SINGLE_ITEM, Estimate, unavailable
from metacog_pipeline.stats.proportions import sem_interval

NONE_KEPT = "no log-probabilities of yes and no were kept"
MEASURES = ("auroc2", "d_type2_threshold", "mean_confidence", "ece", "brier")
THRESHOLDED = ("yes_ratio", "raw_alignment", "yfr", "nfr")
BINS = 10
ECE_DRAWS = 1_000
_BLOCK = 4_000_000  # clusters × draws held at once


def graded_estimates(cell: Cell, draws: Floats, seed: int) -> Found:
    """Return the measures of D; one that was never seen leaves a status in each."""
    confidence, right, clusters = cell.graded()
    if not len(confidence):
        return {name: unavailable(0, "log-probabilities", NONE_KEPT) for name in MEASURES}
    by_threshold = shares(cell, THRESHOLD)
    return {
        "auroc2": auroc(confidence, right, clusters),
        "d_type2_threshold": sensitivity(cell, "d_type2", draws, THRESHOLD),
        **{f"{name}_threshold": by_threshold[name] for name in THRESHOLDED},
        "mean_confidence": _mean(confidence, clusters),
        "ece": _calibration(confidence, right, clusters, derived_seed(seed, "ece", *cell.key)),
        "brier": _mean((confidence - right) ** 2, clusters),
    }


def _mean(values: Floats, clusters: np.ndarray) -> Estimate:
    """Return the mean with ± 1.96 standard errors over clusters."""
    n, value = len(values), float(values.mean())
    number = np.bincount(clusters)
    sums = np.bincount(clusters, weights=values - value)
    k = int((number > 0).sum())
    method = "sem, clustered" if k < n else "sem"
    if k < 2:
        return Estimate(value, None, None, n, method, SINGLE_ITEM)
    sem = float(np.sqrt(k / (k - 1) * (sums @ sums))) / n
    return Estimate(value, *sem_interval(value, sem), n, method, sem=sem)


def _calibration(confidence: Floats, right: np.ndarray, clusters: np.ndarray, seed: int) -> Estimate:
    """Return the calibration error over equal bins; clusters are resampled, draws moved so that their mean is the value."""
    plain = ece(confidence, right, BINS)
    method = f"ece, {BINS} bins, item bootstrap, recentred"
    _, place = np.unique(clusters, return_inverse=True)
    k = int(place.max()) + 1
    if plain.value is None or k < 2:
        return Estimate(plain.value, None, None, plain.n, method, SINGLE_ITEM)
    index = np.searchsorted(np.arange(1, BINS) / BINS, confidence, side="left")
    gaps = np.bincount(place * BINS + index, weights=right - confidence, minlength=k * BINS).reshape(k, BINS)
    number = np.bincount(place, minlength=k).astype(np.float64)
    rng = np.random.Generator(np.random.PCG64(seed))
    drawn, step = [], max(1, _BLOCK // k)
    for start in range(0, ECE_DRAWS, step):
        size = min(step, ECE_DRAWS - start)
        # Drawing the clusters themselves is quicker than a multinomial over as many.
        of = rng.integers(k, size=(size, k)) + k * np.arange(size)[:, None]
        weights = np.bincount(of.ravel(), minlength=size * k).reshape(size, k).astype(np.float64)
        drawn.append(np.abs(weights @ gaps).sum(axis=1) / (weights @ number))
    draws = np.concatenate(drawn)
    low, high = percentile_interval(np.clip(draws + plain.value - float(draws.mean()), 0.0, 1.0))
    assert low is not None and high is not None
    value = plain.value
    return Estimate(value, min(low, value), max(high, value), plain.n, method, sem=float(draws.std()))
