"""What is asked of the answers, and the one test that answers each question."""

from __future__ import annotations

from metacog_pipeline.benchmark.contract import Question

QUESTIONS = (
    Question(
        "Does one model's confidence use more of what the model knows than another's?",
        ("models_paired", "m_ratio"),
        ("bayes_models", "mcnemar"),
        verdict="knows",
    ),
    Question(
        "Does a model's confidence use all of what the model knows?",
        ("bayes_optimality", "m_ratio"),
    ),
    Question(
        "Does a model's confidence use more of what the model knows in one task than in another?",
        ("bayes_tasks", "m_ratio"),
    ),
    Question(
        "Does a stated risk move the criterion of a model?",
        ("criterion_paired", "c"),
        ("criterion_z", "criterion_order"),
    ),
)
