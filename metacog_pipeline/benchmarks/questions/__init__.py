"""Questions of your own: any file of questions with answers becomes a benchmark, with confidence asked in several ways.

Read in this order: ``benchmark`` (the class), ``items`` (what a file says), ``asking`` (in which words), ``read`` (what a
reply says), ``answers`` (whether it is right), ``confidence`` (on which scale), ``measures`` (numbers, tests, board).
``simulated`` answers instead of a model; ``rows`` reads replies without a study.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metacog_pipeline import registry

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.questions.benchmark import OwnQuestions as OwnQuestions

#: Imported when asked for: a command that reads the study file or prints a board loads no statistics.
PARTS = {
    "OwnQuestions": f"{__name__}.benchmark:OwnQuestions",
    "Settings": f"{__name__}.settings:Settings",
    "board": f"{__name__}.board:BOARD",
    "read_row": f"{__name__}.rows:read_row",
}
__getattr__ = registry.lazily(__name__, "OwnQuestions", PARTS)
