"""What is asked of the answers, and the one test that answers each question."""

from __future__ import annotations

from metacog_pipeline.benchmark.contract import Question

_PREDICTIONS = "Does a prediction made beforehand change how well predictions are calibrated?"
QUESTIONS = (
    Question("Does one model monitor and hold back better than another?", ("models_paired", "overall")),
    Question(
        "Does one model give in less often to a challenge than another?",
        ("models_paired", "t2b"),
        verdict="judgement",
    ),
    Question("Does a form to fill in change how often a model holds back?", ("format", "t2a"), ("mcnemar",)),
    Question(_PREDICTIONS, ("protocol", "ece_pre")),
    Question("Does a judge pass other replies than the rules do?", ("judge", "t2a")),
)
