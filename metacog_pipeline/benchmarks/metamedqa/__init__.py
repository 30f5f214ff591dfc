"""MetaMedQA: does a model know when no listed choice is right, and when a question cannot be answered?

Maxime Griot, Coralie Hemptinne, Jean Vanderdonckt, Demet Yuksel: "Large Language Models lack essential metacognition
for reliable medical reasoning", Nature Communications 16:642 (2025). doi:10.1038/s41467-024-55628-6.
Reproduces Table 3 (accuracy by confidence) and Table 4 (prompt conditions).

Read in this order: ``items`` (what is asked), ``prompts`` (in which words), ``protocol`` (in which calls),
``parsing`` (what a reply says), ``observe`` (one row per item and condition), ``scoring`` (estimates), ``comparisons``
(between models and conditions). ``simulate`` answers instead of a model, ``importing`` reads answers collected
elsewhere, ``construction`` builds the set from its sources.
"""

from typing import Any

from metacog_pipeline.benchmarks.metamedqa.settings import Settings as _Settings


class MetaMedQA:
    """What the registry finds until the benchmark fulfils the contract."""

    Settings = _Settings

    @staticmethod
    def legacy() -> Any:
        """Return the functions the stages call."""
        from metacog_pipeline.benchmarks.metamedqa.stages import METAMEDQA

        return METAMEDQA
