"""Measures that are computed and shown but are no part of the main score."""

from __future__ import annotations

import numpy as np

from metacog_pipeline.benchmarks.medley.rule_based.batch import Batch
from metacog_pipeline.benchmarks.medley.rule_based.options import Options
from metacog_pipeline.benchmarks.medley.rule_based.panel import Bools, Floats
from metacog_pipeline.benchmarks.medley.rule_based.tier1 import (
    NO_EVIDENCE,
    clip,
    correlation_score,
    masked_mean,
    outcomes,
)
from metacog_pipeline.stats.ranks import guarded_rho

BINS = 5
LARGEST_CHANGE = 0.8  # from the lowest label to the highest


def update_completeness(batch: Batch, options: Options) -> Floats:
    """Return the share of the more disputed claims that B-social rates; ``(N,)``, 0..1."""
    rated = (~np.isnan(batch.s)).astype(np.float64)
    return masked_mean(rated, batch.high_jsd, empty=NO_EVIDENCE)


def delta_ece(batch: Batch, options: Options) -> Floats:
    """Return 0.5 + the calibration error of A - that of B-social, against the consensus, five bins; ``(N,)``, 0..1."""
    known = ~np.isnan(batch.a) & ~np.isnan(batch.s) & ~np.isnan(batch.consensus)
    right = outcomes(batch)
    change = _calibration_error(batch.a, right, known) - _calibration_error(batch.s, right, known)
    return np.where(known.sum(axis=1) < 2, NO_EVIDENCE, clip(0.5 + change))


def consensus_convergence(batch: Batch, options: Options) -> Floats:
    """Return 0.5 + the mean decrease of the distance from the consensus; ``(N,)``, 0..1."""
    closer = np.abs(batch.a - batch.consensus) - np.abs(batch.s - batch.consensus)
    mean = masked_mean(closer, ~np.isnan(closer), empty=0.0)
    return clip(0.5 + mean)


def confidence_contagion(batch: Batch, options: Options) -> Floats:
    """Return (ρ + 1) / 2 of the final confidences with the analysts' means; ``(N,)``, 0..1, bad when high."""
    return correlation_score(batch.s, batch.mean)


def instructional_instability(batch: Batch, options: Options) -> Floats:
    """Return (1 - ρ) / 2 of first confidence with private change: high where the unsure change; ``(N,)``, 0..1."""
    return clip((1 - guarded_rho(batch.a, np.abs(batch.p - batch.a))) / 2)


def self_revision_magnitude(batch: Batch, options: Options) -> Floats:
    """Return the mean change from A to B-private over 0.8; ``(N,)``, 0..1, 0 without a claim rated in both."""
    return _mean_change(batch.p - batch.a)


def social_influence_magnitude(batch: Batch, options: Options) -> Floats:
    """Return the mean change from B-private to B-social over 0.8; ``(N,)``, 0..1."""
    return _mean_change(batch.s - batch.p)


def change_rate(start: Floats, end: Floats) -> Floats:
    """Return the share of claims rated in both steps whose confidence changed; ``(N,)``, 0..1, NaN without a claim.

    From A to B-private it is the paper's self-revision rate; 0 from A to B-social is a respondent that others never move.
    """
    change = np.abs(end - start)
    return masked_mean((change > 0).astype(np.float64), ~np.isnan(change))


def instruction_dependence_gap(batch: Batch, options: Options) -> Floats:
    """Return twice the mean distance of B-social from the minimal probe; ``(N,)``, 0..1."""
    gap = np.abs(batch.s - batch.minimal)
    mean = masked_mean(gap, ~np.isnan(gap), empty=NO_EVIDENCE / 2)
    return clip(2 * mean)


def _mean_change(change: Floats) -> Floats:
    size = np.abs(change)
    return clip(masked_mean(size, ~np.isnan(size), empty=0.0) / LARGEST_CHANGE)


def _calibration_error(stated: Floats, right: Floats, known: Bools) -> Floats:
    """Return the expected calibration error of each row over bins (0, 0.2], …, (0.8, 1]; 0 joins the first bin."""
    edges = np.linspace(0.0, 1.0, BINS + 1)
    total = np.zeros(len(stated))
    n = np.maximum(known.sum(axis=1), 1).astype(np.float64)
    for place in range(BINS):
        low = stated >= edges[place] if place == 0 else stated > edges[place]
        inside = known & low & (stated <= edges[place + 1])
        count = inside.sum(axis=1).astype(np.float64)
        gap = np.abs(masked_mean(right, inside, empty=0.0) - masked_mean(stated, inside, empty=0.0))
        total += count / n * gap
    return total


MEASURES = {
    measure.__name__: measure
    for measure in (
        update_completeness,
        delta_ece,
        consensus_convergence,
        confidence_contagion,
        instructional_instability,
        self_revision_magnitude,
        social_influence_magnitude,
    )
}
