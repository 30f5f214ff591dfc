"""Signal detection: how well does a model discriminate, does its confidence know, and does its criterion heed risk?

Richard Servajean, Philippe Servajean: "Measuring the metacognition of AI" (2026), arXiv:2603.29693.
Reproduces Table S1 (d′, meta-d′ and M-ratio of three models on three tasks) and Table S2 (criteria under three risk
configurations).

Start with ``benchmark``, which names everything: ``construction`` builds the three tasks from published
sentences, ``prompts`` and ``asking`` say how they are asked, ``read`` what a reply says, ``grid`` how responses are
counted, ``measures`` and ``contrasts`` what is computed from the counts, ``published`` what the printed numbers come to
when computed again. ``simulated`` answers instead of a model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metacog_pipeline import registry

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.signaldetection.benchmark import SignalDetection as SignalDetection

#: Imported when asked for: a command that reads the study file or prints a board loads no statistics.
PARTS = {
    "SignalDetection": f"{__name__}.benchmark:SignalDetection",
    "Settings": f"{__name__}.settings:Settings",
    "board": f"{__name__}.board:BOARD",
    "read_row": f"{__name__}.read:read_row",
}
__getattr__ = registry.lazily(__name__, "SignalDetection", PARTS)
