"""What is measured and compared: accuracy, and the shared measures of answers with a confidence."""

from __future__ import annotations

from metacog_pipeline.benchmark.contract import Measure, Question
from metacog_pipeline.benchmarks.questions.report import ELICITATIONS
from metacog_pipeline.scoring import confident_answers
from metacog_pipeline.scoring.measures import share


def stated(condition: str) -> bool:
    """Whether a condition gives a confidence."""
    return condition != "answer_only"


MEASURES = (
    Measure(
        "accuracy", "accuracy", share({"correct": 1}),
        words="Share of the answered questions that are right; a reply without a readable answer is wrong.",
    ),
    Measure(
        "abstained", "abstains", share({"kept": 0}), higher_is_better=None,
        conditions=lambda name: name == "abstain_allowed", words="Share of answers that were withheld.",
    ),
    confident_answers.measures(stated),
)  # fmt: skip
CONTRASTS = (
    confident_answers.between_conditions(
        ELICITATIONS, "Two ways to elicit confidence from one model, on the questions it answered under both."
    ),
)
QUESTIONS = (
    Question(
        "Which way to elicit confidence separates right from wrong best, of one model?",
        (ELICITATIONS, "auroc2"),
    ),
)
