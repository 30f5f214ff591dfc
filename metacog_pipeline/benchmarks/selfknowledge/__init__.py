"""Self-knowledge: does a model know which questions it can answer?

"Fine-Tuning Language Models to Know What They Know" (ESMA, 2026), arXiv:2602.02605.
Each question is asked twice in separate contexts: for its answer, and whether the answer is known. Reproduces the
layout of Tables 1 to 7 (d′ of type 2, raw alignment, failure ratios of yes and no).

Read in this order: ``items`` (what is asked), ``prompts`` (in which words), ``protocol`` (in which calls), ``matching``
(whether an answer is right), ``parsing`` (what a yes, a no and an abstention look like; ``answer_words``),
``confidence`` (how sure a yes is), ``observe`` (one row per item and condition), ``scoring`` (estimates),
``comparisons``. ``simulate`` answers instead of a model, ``sources`` fetches the published question sets,
``construction`` reads them and the shipped facts.
"""

from typing import Any

from metacog_pipeline.benchmarks.selfknowledge.settings import Settings as _Settings


class SelfKnowledge:
    """What the registry finds until the benchmark fulfils the contract."""

    Settings = _Settings

    @staticmethod
    def legacy() -> Any:
        """Return the functions the stages call."""
        from metacog_pipeline.benchmarks.selfknowledge.stages import SELFKNOWLEDGE

        return SELFKNOWLEDGE
