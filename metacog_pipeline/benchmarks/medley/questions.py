"""What is asked of the answers, and the one test that answers each question."""

from __future__ import annotations

from metacog_pipeline.benchmark.contract import Question

QUESTIONS = (
    Question(
        "Does one model withstand a statistic that misstates what others hold better than another?",
        ("models_paired", "resistance"),
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
