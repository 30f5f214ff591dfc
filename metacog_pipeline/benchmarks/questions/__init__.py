"""Questions of your own: any file of questions with answers becomes a benchmark, with confidence asked in several ways.

``benchmark`` (the class), ``settings``, ``items`` (what a file says), ``asking`` (in which words), ``read`` (what a reply
says, and on which scale its confidence is), ``measures`` (numbers and tests), ``report`` (the board), ``simulated``.
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
    "board": f"{__name__}.report:BOARD",
    "read_row": f"{__name__}.read:read_row",
}
__getattr__ = registry.lazily(__name__, "OwnQuestions", PARTS)
