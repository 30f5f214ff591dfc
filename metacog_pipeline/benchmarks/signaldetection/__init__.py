"""Signal detection: how well does a model discriminate, does its confidence know, and does its criterion heed risk?

Richard Servajean, Philippe Servajean: "Measuring the metacognition of AI" (2026), arXiv:2603.29693.
Reproduces Table S1 (d′, meta-d′ and M-ratio of three models on three tasks) and Table S2 (criteria under three risk
configurations).

Read in this order: ``items`` (what is asked), ``prompts`` (in which words), ``protocol`` (in which calls),
``parsing`` (what a reply says), ``observe`` (one row per item and condition), ``scoring`` (estimates), ``comparisons``
(between models, tasks and conditions). ``simulate`` answers instead of a model, ``sources`` fetches the published
sentences and ``texts`` reads them, ``construction`` builds the three tasks from them.
"""

from typing import Any

from metacog_pipeline.benchmarks.signaldetection.settings import Settings as _Settings


class SignalDetection:
    """What the registry finds until the benchmark fulfils the contract."""

    Settings = _Settings

    @staticmethod
    def legacy() -> Any:
        """Return the functions the stages call."""
        from metacog_pipeline.benchmarks.signaldetection.stages import SIGNALDETECTION

        return SIGNALDETECTION
