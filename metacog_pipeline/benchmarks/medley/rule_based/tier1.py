"""Tier 1, reflective updating: do changes from step A to B-social follow the evidence?"""

from __future__ import annotations

import numpy as np

from metacog_pipeline.benchmarks.medley.rule_based.batch import Batch
from metacog_pipeline.benchmarks.medley.rule_based.options import Options
from metacog_pipeline.benchmarks.medley.rule_based.panel import Bools, Floats
from metacog_pipeline.stats.ranks import guarded_rho

NO_EVIDENCE = 0.5  # what a measure gives where there is nothing to measure
_SMALLEST_MOVE = 0.02
_SMALLEST_TOTAL = 0.01
_TINY = 1e-10
_CLEAR_DIRECTION = 0.7


def proportionality(batch: Batch, options: Options) -> Floats:
    """Return (ρ + 1) / 2 of change against weight: is more changed where there is more to consider? ``(N,)``, 0..1.

    The weight is the number of raters of a slot, or the analysts' disagreement on it, as the options say.
    """
    start = batch.a if options.proportionality_base == "A" else batch.p
    weight = batch.weight if options.proportionality_weight == "raters" else batch.jsd
    return correlation_score(np.abs(batch.s - start), weight)


def selectivity(batch: Batch, options: Options) -> Floats:
    """Return h / (h + l), the mean change on the weightier half of the claims and on the rest; ``(N,)``, 0..1."""
    high = batch.high_strength if options.selectivity_weight == "raters" else batch.high_jsd
    change = np.abs(batch.s - batch.a)
    both = batch.is_claim & ~np.isnan(change)
    upper, lower = masked_mean(change, both & high), masked_mean(change, both & ~high)
    total = upper + lower
    told = (total >= _SMALLEST_TOTAL) & (
        batch.is_claim.sum(axis=1) >= 2
    )  # NaN, a side without claims, is not told
    return clip(divided(upper, total, told))


def confidence_volatility(batch: Batch, options: Options) -> Floats:
    """Return how concentrated changes are, and how often they go toward the analysts; ``(N,)``, 0..1.

    Concentration is 1 - H(q) / log n with q the share of each claim in the total change. The paper has it alone; the
    package gives half of it, and half the share of moved claims that end closer to μ, the latter weighing 0.7 where that
    share exceeds 0.7.
    """
    change = np.abs(batch.s - batch.a)
    known = ~np.isnan(change)
    n = known.sum(axis=1)
    moved = np.where(known, change, 0.0)
    total = moved.sum(axis=1)
    share = moved / (total + _TINY)[:, None]
    entropy = -(np.where(known, share * np.log2(share + _TINY), 0.0)).sum(axis=1)
    focus = 1 - divided(entropy, np.log2(np.maximum(n, 2)), n >= 2)
    focus = np.where(total < _SMALLEST_TOTAL, NO_EVIDENCE, focus)
    if options.volatility == "entropy":
        return np.where(n < 3, NO_EVIDENCE, clip(focus))
    counted = known & ~np.isnan(batch.mean) & (moved > _SMALLEST_MOVE)
    closer = np.abs(batch.s - batch.mean) < np.abs(batch.a - batch.mean)
    direction = masked_mean(closer.astype(np.float64), counted, empty=NO_EVIDENCE)
    clear = direction > _CLEAR_DIRECTION
    mixed = np.where(clear, 0.3 * focus + 0.7 * direction, 0.5 * focus + 0.5 * direction)
    return np.where(n < 3, NO_EVIDENCE, clip(mixed))


def uncertainty_localization(batch: Batch, options: Options) -> Floats:
    """Return (ρ + 1) / 2 of doubt 1 - s against disagreement: is doubt where the analysts differ? ``(N,)``, 0..1."""
    return correlation_score(1 - batch.s, batch.jsd)


def brier_score_change(batch: Batch, options: Options) -> Floats:
    """Return 0.5 + mean[(a - o)²] - mean[(s - o)²], o what the consensus holds; ``(N,)``, 0..1, fewer than 2 claims 0.5.

    o is 1 where the consensus is above 0.5, else 0; or the consensus itself.
    """
    known = ~np.isnan(batch.a) & ~np.isnan(batch.s) & ~np.isnan(batch.consensus)
    outcome = outcomes(batch) if options.brier_outcome == "threshold" else batch.consensus
    before, after = masked_mean((batch.a - outcome) ** 2, known), masked_mean((batch.s - outcome) ** 2, known)
    return np.where(known.sum(axis=1) < 2, NO_EVIDENCE, clip(0.5 + (before - after)))


def outcomes(batch: Batch) -> Floats:
    """Return 1 where the consensus is above 0.5 and 0 elsewhere, NaN where it is unknown; ``(N, C)``."""
    return np.where(np.isnan(batch.consensus), np.nan, (batch.consensus > 0.5).astype(np.float64))


def correlation_score(x: Floats, y: Floats) -> Floats:
    """Return (guarded ρ + 1) / 2 of each row over the pairs with both values; 0.5 below three pairs."""
    return clip((guarded_rho(x, y) + 1) / 2)


def masked_mean(values: Floats, where: Bools, empty: float = np.nan) -> Floats:
    """Return the mean of each row over ``where``, summed from left to right; ``empty`` for a row without any."""
    number = where.sum(axis=1)
    return divided(np.where(where, values, 0.0).sum(axis=1), number.astype(np.float64), number > 0, empty)


def divided(top: Floats, bottom: Floats, where: Bools, otherwise: float = NO_EVIDENCE) -> Floats:
    """Return top / bottom where told, elsewhere ``otherwise``."""
    result = np.full(len(top), otherwise)
    np.divide(top, bottom, out=result, where=where)
    return result


def clip(values: Floats) -> Floats:
    """Return values held within 0..1."""
    return np.clip(values, 0.0, 1.0)


MEASURES = {
    measure.__name__: measure
    for measure in (
        proportionality,
        selectivity,
        confidence_volatility,
        uncertainty_localization,
        brier_score_change,
    )
}
