"""How self-knowledge is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from metacog_pipeline.benchmark.display import Board, Column
from metacog_pipeline.errors import one_line


def notes(read: Callable[[str], Sequence[tuple[Any, ...]]]) -> Iterator[str]:
    """Yield one line per model whose d′ of type 2 rests on a rate of 0 or 1: every answer got a yes, or none did."""
    found = read(
        "select model, condition, source, estimate from estimates "
        "where benchmark = 'selfknowledge' and measure = 'd_type2_clip' "
        "and status like '%made by the clip%' and condition <> 'idk' order by condition, model"
    )
    for model, condition, source, estimate in found:
        whose = " (simulated)" if source == "simulated" else ""
        size = f"{estimate:.2f}" if isinstance(estimate, float) else "no number"
        yield one_line(
            f"{model}{whose}, {condition}: a rate of yes is 0 or 1. The paper's d′ would be {size}, made by its clip"
        )


BOARD = Board(
    columns=(
        Column("d_type2", "d′", instead="d_type2_reference"),
        Column("auroc2", "AUROC2"),
        Column("raw_alignment", "alignment"),
        Column("accuracy", "accuracy"),
        Column("yes_ratio", "yes"),
        Column("yfr", "YFR"),
        Column("nfr", "NFR"),
        Column("invalid_share", "neither", interval=False),
        Column("idk_d_type2", "IDK d′"),
        Column("idk_accuracy", "IDK acc."),
        Column("idk_rate", "abstains"),
        Column("idk_alignment", "IDK align."),
        Column("all_alignment", "all align."),
    ),
    order=(("d_type2", "d_type2_reference"), ("idk_d_type2",), ("idk_alignment",), ("accuracy",)),
    legend=(
        "Below each value its 95 % interval. A model is asked a question and, apart from that, whether it knows the\n"
        "answer. d′: does a yes go with being right (0: not at all); AUROC2: does P(yes) of the first token, where\n"
        "log-probabilities are kept; alignment: right = yes; YFR, NFR: share of the yeses given to wrong, of the noes\n"
        "given to right answers; neither: replies that say neither yes nor no, which count in accuracy only. idk: the\n"
        'question with leave to say "I don\'t know"; its d′ is large because an abstention is hardly ever right; all\n'
        "align.: right = yes = not abstained. dual_zh, dual_ko, dual_es: asked in that language.\n"
    ),
    notes=notes,
    stands_in="*: by the rules of the published numbers: a yes anywhere in the reply, rates kept 1e-4 from 0 and 1.\n",
    about={
        "sample": " (facts written for this project; not comparable with the literature)",
        "trivia_qa": " (TriviaQA)",
        "mkqa": " (MKQA; about a third of its questions have no answer, and no reply to them is right)",
        "fictional_qa": " (FictionalQA: nobody who was not taught them can know the answers)",
        "selfaware": " (SelfAware: to a third of its questions no reply is right)",
    },
)
