"""Tier 3, epistemic articulation: the part of it that rules can see. Judges see the rest."""

from __future__ import annotations

import math

import numpy as np

from metacog_pipeline.benchmarks.medley.rule_based.batch import Batch
from metacog_pipeline.benchmarks.medley.rule_based.options import Options
from metacog_pipeline.benchmarks.medley.rule_based.panel import Floats
from metacog_pipeline.benchmarks.medley.rule_based.tier1 import NO_EVIDENCE, clip

PHRASES_AT_BEST = 150


def argument_specificity(batch: Batch, options: Options) -> Floats:
    """Return half the share of claims cited and half that of analysts cited; ``(N,)``, 0..1.

    A pattern without a right word boundary, kept for parity, takes "analyst argued" for analyst A.
    """
    return batch.specificity


def synthesis_necessity(batch: Batch, options: Options) -> Floats:
    """Return 1 - the largest share of the assessment's three-word phrases found in one analyst's; ``(N,)``, 0..1."""
    return np.where(np.isnan(batch.overlap), NO_EVIDENCE, 1 - batch.overlap)


def content_engagement(batch: Batch, options: Options) -> Floats:
    """Return ln(1 + k) / ln 151, k the analysts' phrases taken up; ``(N,)``, 0..1, 0 without a text or phrases."""
    return clip(np.log1p(np.nan_to_num(batch.phrases, nan=0.0)) / math.log(PHRASES_AT_BEST + 1))


MEASURES = {argument_specificity.__name__: argument_specificity}
WITH_ANALYSTS = {measure.__name__: measure for measure in (synthesis_necessity, content_engagement)}
