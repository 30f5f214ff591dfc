"""How the board of MetaMedQA is printed."""

from metacog_pipeline.benchmark.display import Board, Column

E_SHARE_FLAG = 0.20  # above this share of E the missing-answer recall says little (base rate 8.4 %)

BOARD = Board(
    columns=(
        Column("accuracy", "accuracy"),
        Column("mean_confidence", "confidence"),
        Column("high_confidence_accuracy", "when sure"),
        Column("missing_answer_recall", "missing"),
        Column("choice_share_E", "E chosen", interval=False, mark_from=E_SHARE_FLAG),
        Column("unknown_recall", "unknown"),
        Column("fictional_accuracy", "fictional"),
        Column("ece", "ECE"),
        Column("auroc2", "AUROC2"),
    ),
    order=(("accuracy",),),
    legend=(
        "Below each value its 95 % interval. confidence: mean, 1 to 5; when sure: accuracy at confidence 5; missing: "
        'recall\nof "none of the above"; E chosen: how often that was answered at all; unknown: recall of "I don\'t know '
        'or cannot\nanswer"; N/A: no such answers.\n'
    ),
    marked="!: a fifth or more of all answers; the recall beside it is inflated (8.4 % of the published keys are E).\n",
    about={
        "published": " (two of its 115 items keyed E still offer the right answer: someone who never errs misses those "
        "two)",
        "sample": " (written for this project; not comparable with the literature)",
        "corrected": " (the published set with its known anomalies mended; not comparable with the literature)",
        "custom": " (the study's own)",
    },
)
