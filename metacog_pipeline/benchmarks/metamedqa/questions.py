"""What is asked of the answers, and the one test that answers each question."""

from __future__ import annotations

from metacog_pipeline.benchmark.contract import Question

QUESTIONS = (
    Question(
        "Is one model right more often than another?",
        ("paired_models", "accuracy"),
        ("mcnemar_models", "tukey_models", "anova_models", "cochran_models"),
    ),
    Question(
        "Is a model right more often when it is asked in another way?",
        ("paired_conditions", "accuracy"),
        ("mcnemar_conditions", "lsd_conditions", "anova_conditions", "cochran_conditions"),
    ),
    Question(
        "Do models that are right more often also notice more questions without an answer?",
        ("correlation_models", "unknown_recall"),
        ("correlation_conditions",),
        unit="models",
    ),
)
