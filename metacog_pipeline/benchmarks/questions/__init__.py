"""Questions of your own: any file of questions with answers becomes a benchmark, with confidence asked in several ways.

Read in this order: ``benchmark`` (the class), ``items`` (what a file says), ``asking`` (in which words), ``parsing`` (what
a reply says), ``measures`` (numbers, tests, board). ``simulated`` answers instead of a model, ``importing`` takes answers
and questions from logs of other programs. Right and wrong are decided by the readers in `benchmark.answers`.
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
}
__getattr__ = registry.lazily(__name__, "OwnQuestions", PARTS)
