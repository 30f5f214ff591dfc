"""Signal detection: how well does a model discriminate, does its confidence know, and does its criterion heed risk?

Richard Servajean, Philippe Servajean: "Measuring the metacognition of AI" (2026), arXiv:2603.29693.

``benchmark`` is the class, ``settings`` its table of the study file, ``items`` three tasks and their sources, ``prompts``
words and the one call, ``read`` what replies and files say, ``measures`` and ``contrasts`` what is measured and tested,
``published`` the printed numbers computed again, ``report`` board, figures and manifest, ``simulated`` a respondent.
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
