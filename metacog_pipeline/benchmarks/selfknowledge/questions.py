"""What is asked of the answers, and the one test that answers each question."""

from __future__ import annotations

from metacog_pipeline.benchmark.contract import Question

QUESTIONS = (
    Question("Does one model know better than another what it knows?", ("models_paired", "d_type2"), ("mcnemar",),
        verdict="knows"),
    Question("Does one model abstain better than another where it does not know?", ("models_paired", "idk_d_type2"),
        verdict="unanswerable"),
    Question("Does a model know better in one language than in another what it knows?", ("languages_paired",
        "d_type2")),
    Question("Does asking apart whether a model knows say more than leave to abstain?", ("dual_idk",
        "raw_alignment")),
)  # fmt: skip
