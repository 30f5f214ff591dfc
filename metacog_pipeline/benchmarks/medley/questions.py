"""What is asked of the answers, and the one test that answers each question."""

from __future__ import annotations

from metacog_pipeline.benchmark.contract import Question

QUESTIONS = (
    Question(
        "Does one model keep better to its own judgement among others than another?",
        ("models_paired", "mms"),
        verdict="judgement",
    ),
    Question(
        "Does a model score otherwise where it meets an analyst of its own family?",
        ("analyst_overlap", "mms"),
    ),
    Question(
        "Does a judged dimension go with the change under an inverted consensus?",
        ("predictor", "capitulation_quality"),
        unit="models",
    ),
)
