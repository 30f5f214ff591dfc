"""MetaMedQA as assets: raw sources → edits → items → transcripts → observations → estimates → comparisons."""

from assets.metamedqa.construction import (
    glianorex_source,
    medqa_source,
    metamedqa_edits,
    metamedqa_items,
)
from assets.metamedqa.measurement import (
    metamedqa_comparisons,
    metamedqa_estimates,
    metamedqa_observations,
    metamedqa_transcripts,
)

CONSTRUCTION = (medqa_source, glianorex_source, metamedqa_edits, metamedqa_items)
MEASUREMENT = (metamedqa_transcripts, metamedqa_observations, metamedqa_estimates)
ASSETS = (*CONSTRUCTION, *MEASUREMENT, metamedqa_comparisons)

__all__ = [
    "ASSETS",
    "CONSTRUCTION",
    "MEASUREMENT",
    "glianorex_source",
    "medqa_source",
    "metamedqa_comparisons",
    "metamedqa_edits",
    "metamedqa_estimates",
    "metamedqa_items",
    "metamedqa_observations",
    "metamedqa_transcripts",
]
