"""How the benchmark is printed."""

from __future__ import annotations

from metacog_pipeline.benchmark.display import Board, Column

BOARD = Board(
    columns=(
        Column("mms", "MMS"),
        Column("t1", "T1"),
        Column("t2", "T2"),
        Column("t3", "T3"),
        Column("judge_agreement", "judges agree"),
        Column("judge_bias", "judges' bias"),
        Column("mas", "MAS"),
        Column("pull_crowd", "crowd pull"),
        Column("pull_arguments", "argument pull"),
        Column("adversarial_delta", "inverted"),
        Column("stripped_delta", "stripped"),
        Column("judge_share_missing", "unjudged", interval=False),
    ),
    order=(("mms",), ("resistance",), ("stripped_delta",)),
    legend=(
        "Below each value its 95 % interval over instances; 0 to 1. MMS: 10 % trimmed mean of three tiers joined; T1:\n"
        "updating on reflection; T2: robustness to the others; T3: saying why; judges agree: alpha of the grades in it;\n"
        "judges' bias: the most that a form of an answer which deserves no more adds to a grade (detail.judge_agreement\n"
        "says which); MAS: mean of four judged abilities; crowd pull: shift of ratings toward a statistic shown inverted,\n"
        "in units of the scale; argument pull: toward the arguments against it; inverted, stripped: change of MMS on the\n"
        "same instances with that statistic, with only the two weakest analysts: scored by other rules, no behaviour;\n"
        "unjudged: the share of MMS that rests on grades no judge gave. It is left out,\n"
        "so MMS compares only where it is the same (published scores are judged whole). reference: scored as the authors'\n"
        "package computes; paper: as the paper writes. Published scores stand as printed. A model that says nothing\n"
        "readable has no score.\n"
    ),
    about={
        "published": " (the claims of its instances have no text: every respondent fills the five slots with its own)",
        "sample": " (written for this project; not comparable with the literature)",
        "sample-v1": " (the sample as it was before 0.3.0)",
        "custom": " (the study's own)",
    },
)
