"""Questions of your own: any file of questions with answers becomes a benchmark, with confidence asked in several ways.

``benchmark`` is the class, ``items`` settings and files, ``prompts`` words, ``read`` what a reply says; below the board.
"""

from __future__ import annotations

from metacog_pipeline import registry
from metacog_pipeline.benchmark.display import Board, Column

BOARD = Board(
    columns=(
        Column("accuracy", "accuracy"),
        Column("mean_confidence", "confidence"),
        Column("ece", "ECE"),
        Column("auroc2", "AUROC2"),
        Column("aurc", "AURC"),
        Column("meta_d_mafc", "meta-d′"),
        Column("m_ratio_mafc", "M-ratio"),
    ),
    order=(("auroc2",), ("accuracy",)),
    legend=(
        "Below each value its 95 % interval. ECE: gaps between confidence and share right; AUROC2: chance that a right\n"
        "answer has more confidence than a wrong one; AURC: share wrong among the surest answers, less is better; meta-d′\n"
        "and M-ratio: of choices among options, what confidence knows of what the answers know. N/A: no value, see\n"
        "table estimates.\n"
    ),
)

#: Imported when asked for: a command that reads the study file or prints a board loads no statistics.
PARTS = {
    "OwnQuestions": f"{__name__}.benchmark:OwnQuestions",
    "Settings": f"{__name__}.items:Settings",
    "board": f"{__name__}:BOARD",
    "read_row": f"{__name__}.read:read_row",
}
__getattr__ = registry.lazily(__name__, "OwnQuestions", PARTS)
