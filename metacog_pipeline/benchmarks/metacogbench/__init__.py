"""MetaCog-Bench: does a model monitor what it knows, hold back where it should, and carry a structure to a new story?

"MetaCog-Bench: A Process-Based Benchmark for Evaluating Metacognitive Monitoring and Control in Large Language Models"
(2026, under review, anonymous), openreview.net/forum?id=ayRu5RL4Hb; it has no DOI or arXiv id yet.

Five tiers after Nelson and Narens (1990), doi:10.1016/S0079-7421(08)60053-5: betting on answers (1a), predicting
performance (1b), ecological validity (2a), resistance to a sycophantic pull (2b), domain transfer (3). The published
task texts and cue lists are not public; all items here are original. Reproduces the layout of Tables 3 to 7
(tiers, MS, SAF, CDTC, overall).

Read in this order: ``items`` (what is asked), ``prompts`` (in which words), ``asking`` (in which calls), ``read``
(what a reply says), ``scoring_rules`` (what it is worth), ``tier_measures`` and ``measures`` (estimates), ``contrasts``.
``simulated`` answers instead of a model, ``construction`` reads and checks the items, ``generators`` wrote some of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metacog_pipeline import registry

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.metacogbench.benchmark import MetaCogBench as MetaCogBench

#: Imported when asked for: a command that reads the study file or prints a board loads no statistics.
PARTS = {
    "MetaCogBench": f"{__name__}.benchmark:MetaCogBench",
    "Settings": f"{__name__}.settings:Settings",
    "board": f"{__name__}.board:BOARD",
    "read_row": f"{__name__}.rows:read_row",
}
__getattr__ = registry.lazily(__name__, "MetaCogBench", PARTS)
