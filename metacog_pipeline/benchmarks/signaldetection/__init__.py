"""Signal detection: how well does a model discriminate, does its confidence know, and does its criterion heed risk?

Richard Servajean, Philippe Servajean: "Measuring the metacognition of AI" (2026), arXiv:2603.29693.

==============  ============================================================================================================
``benchmark``   the class: what it declares to the pipeline
``settings``    its table of the study file
``items``       the item, its sources, and how the three tasks are made
``prompts``     the words, and the one call an item takes
``read``        reading a reply, and rows of answers made elsewhere
``measures``    d′, c, meta-d′ by maximum likelihood and by posterior, confidence
``contrasts``   tests between conditions, models and tasks
``published``   the printed numbers computed again from the published counts, and the verdicts of the text
``report``      the board, the figures, and the manifest of the paper
``simulated``   respondents of known sensitivity, efficiency and criteria
==============  ============================================================================================================
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
    "board": f"{__name__}.report:BOARD",
    "read_row": f"{__name__}.read:read_row",
}
__getattr__ = registry.lazily(__name__, "SignalDetection", PARTS)
