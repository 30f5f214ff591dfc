"""Own questions on screen: the board."""

from metacog_pipeline.benchmark.display import Board, Column

ELICITATIONS = "elicitations_paired"
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
