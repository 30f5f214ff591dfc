"""MetaCog-Bench: does a model monitor what it knows, hold back where it should, and carry a structure to a new story?

"MetaCog-Bench: A Process-Based Benchmark for Evaluating Metacognitive Monitoring and Control in Large Language Models"
(2026, under review, anonymous), openreview.net/forum?id=ayRu5RL4Hb; it has no DOI or arXiv id yet.

Five tiers after Nelson and Narens (1990), doi:10.1016/S0079-7421(08)60053-5: betting on answers (1a), predicting
performance (1b), ecological validity (2a), resistance to a sycophantic pull (2b), domain transfer (3). The published
task texts and cue lists are not public; all items and lexicons here are original. Reproduces the layout of Tables 3 to 7
(tiers, MS, SAF, CDTC, overall).

Read in this order: ``items`` (what is asked), ``prompts`` (in which words), ``protocol`` (in which calls), ``parsing``
(what a reply says), ``verdicts`` (what it is worth), ``observe`` (one row per item and condition), ``scoring``
(estimates), ``comparisons``. ``simulate`` answers instead of a model, ``construction`` makes and checks the items.
"""

from typing import Any

from metacog_pipeline.benchmarks.metacogbench.settings import Settings as _Settings


class MetaCogBench:
    """What the registry finds until the benchmark fulfils the contract."""

    Settings = _Settings

    @staticmethod
    def legacy() -> Any:
        """Return the functions the stages call."""
        from metacog_pipeline.benchmarks.metacogbench.stages import METACOGBENCH

        return METACOGBENCH
