"""MetaMedQA: does a model know when no listed choice is right, and when a question cannot be answered?

Maxime Griot, Coralie Hemptinne, Jean Vanderdonckt, Demet Yuksel: "Large Language Models lack essential metacognition
for reliable medical reasoning", Nature Communications 16:642 (2025). doi:10.1038/s41467-024-55628-6.

``benchmark`` is the class, ``items`` settings, item and sources, ``construction`` the way from these to the items,
``prompts`` words and calls, ``read`` what a reply says, ``measures`` and ``contrasts`` what is measured and tested,
``report`` sections, manifest and printed numbers of the paper, ``simulated`` a respondent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metacog_pipeline import registry
from metacog_pipeline.benchmark.display import Board, Column

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.metamedqa.benchmark import MetaMedQA as MetaMedQA

BOARD = Board(
    columns=(
        Column("d_unanswerable", "d′ unseen"),
        Column("c_unanswerable", "c unseen"),
        Column("missing_answer_recall", "missing"),
        Column("false_alarm_E", "false E"),
        Column("choice_share_E", "E chosen", interval=False),
        Column("unknown_recall", "unknown"),
        Column("false_alarm_F", "false F"),
        Column("accuracy", "accuracy"),
        Column("high_confidence_accuracy", "when sure"),
        Column("ece", "ECE"),
        Column("auroc2", "AUROC2"),
    ),
    order=(("d_unanswerable",),),
    legend=(
        "Below each value its 95 % interval. d′ unseen: separation of questions without an answer from the others, mean\n"
        'of "none of the above" (E) and "I don\'t know or cannot answer" (F), 0 if not at all; c unseen: below 0 it is\n'
        "chosen too often, above 0 too seldom. missing, unknown: recall of E and F; false E, false F: share of E and F\n"
        "where A to D is right; E chosen: a fifth or more inflates the recall; when sure: accuracy at confidence 5;\n"
        "N/A: no such answers.\n"
    ),
    about={
        "published": " (two of its 115 items keyed E still offer the right answer: a respondent that never errs misses "
        "those two)",
        "sample": " (written for this project; not comparable with the literature)",
        "corrected": " (the published set with its known anomalies corrected; not comparable with the literature)",
        "custom": " (the study's own)",
    },
)

#: Imported on demand: a command that reads the study file or prints a board loads no statistics.
PARTS = {
    "MetaMedQA": f"{__name__}.benchmark:MetaMedQA",
    "Settings": f"{__name__}.items:Settings",
    "board": f"{__name__}:BOARD",
    "read_row": f"{__name__}.read:read_row",
}
__getattr__ = registry.lazily(__name__, "MetaMedQA", PARTS)
