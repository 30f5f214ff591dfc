"""How the benchmark is printed."""

from __future__ import annotations

from metacog_pipeline.benchmark.display import Board, Column

BOARD = Board(
    columns=(
        Column("mms", "MMS"),
        Column("t1", "T1"),
        Column("t2", "T2"),
        Column("t3", "T3"),
        Column("mas", "MAS"),
        Column("adversarial_delta", "inverted"),
        Column("adversarial_delta_behaviour", "behaviour"),
        Column("stripped_delta", "stripped"),
        Column("judge_share_missing", "unjudged", interval=False),
    ),
    order=(("mms",), ("adversarial_delta_behaviour",), ("stripped_delta",)),
    legend=(
        "Below each value its 95 % interval over instances; 0 to 1. MMS: 10 % trimmed mean of three tiers joined; T1:\n"
        "updating on reflection; T2: robustness to the others; T3: saying why; MAS: mean of four judged abilities;\n"
        "inverted, stripped: change of MMS on the same instances with an inverted consensus, with only the two weakest\n"
        "analysts; behaviour: the part of inverted that the answers account for, both scored alike; unjudged: the share\n"
        "of MMS that rests on grades no judge gave. It is left out, so MMS compares only where it is the same (published\n"
        "scores are judged whole). reference: scored as the authors' package computes; paper: as the paper writes.\n"
        "Published scores stand as printed. A model that says nothing readable has no score.\n"
    ),
    about={
        "published": " (the claims of its instances have no text: every respondent fills the five slots with its own)",
        "sample": " (written for this project; not comparable with the literature)",
        "sample-v1": " (the sample as it was before 0.3.0)",
        "custom": " (the study's own)",
    },
)
