"""What a board for people shows of each benchmark: columns, their short names, the order of models, the legend.

Adding a benchmark to the printed board is adding one :class:`BenchmarkBoard` here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a section.

    Attributes
    ----------
    measure, short
        Name on the board and above the column.
    instead
        A measure shown, marked with ``*``, where a model lacks the first; None where nothing can stand in.
    interval
        Whether the 95 % interval stands below the value.
    mark_from
        Values from here up are marked with ``!``; None marks nothing.
    """

    measure: str
    short: str
    instead: str | None = None
    interval: bool = True
    mark_from: float | None = None

    @property
    def measures(self) -> tuple[str, ...]:
        """What can stand in the column, best first."""
        return (self.measure,) if self.instead is None else (self.measure, self.instead)


@dataclass(frozen=True, slots=True)
class BenchmarkBoard:
    """How one benchmark is printed.

    Attributes
    ----------
    columns
        Shown from left to right where any model of the section has them.
    order
        Alternatives: the first with a value for any model of a section orders it, highest first. Measures that stand
        together in one alternative are of one kind, and the first a model has counts.
    legend, marked, stands_in
        Explanations printed below the sections: always; where a value is marked with ``!``; where one with ``*``.
    about
        What to know about each question set.
    summed_up
        Last words of conditions whose sections are left out beside other benchmarks, because the notes sum them up.
    """

    columns: tuple[Column, ...]
    order: tuple[tuple[str, ...], ...]
    legend: str
    marked: str = ""
    stands_in: str = ""
    about: Mapping[str, str] = field(default_factory=dict)
    summed_up: tuple[str, ...] = ()


_MEDICAL = BenchmarkBoard(
    columns=(
        Column("accuracy", "accuracy"),
        Column("mean_confidence", "confidence"),
        Column("high_confidence_accuracy", "when sure"),
        Column("missing_answer_recall", "missing"),
        Column("choice_share_E", "E chosen", interval=False, mark_from=0.20),
        Column("unknown_recall", "unknown"),
        Column("fictional_accuracy", "fictional"),
        Column("ece", "ECE"),
        Column("auroc2", "AUROC2"),
    ),
    order=(("accuracy",),),
    legend=(
        "Below each value its 95 % interval. confidence: mean, 1 to 5; when sure: accuracy at confidence 5; missing: "
        'recall\nof "none of the above"; E chosen: how often that was answered at all; unknown: recall of "I don\'t know '
        'or cannot\nanswer"; N/A: no such answers. More measures: --format csv.\n'
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
_SIGNAL_DETECTION = BenchmarkBoard(
    columns=(
        Column("d", "d′", instead="d_bayes"),
        Column("c", "c"),
        Column("meta_d", "meta-d′", instead="meta_d_bayes"),
        Column("m_ratio", "M-ratio"),
        Column("m_ratio_bayes", "posterior"),
        Column("auroc2", "AUROC2"),
        Column("ece", "ECE"),
        Column("accuracy", "accuracy"),
    ),
    order=(("m_ratio_bayes", "m_ratio"), ("d", "d_bayes"), ("accuracy",)),
    legend=(
        'Below each value its 95 % interval. A: sentiment, B: oral or written, C: was one "the" deleted.\n'
        "d′: how well the two labels are told apart; c: which one is leant to (below 0: label 1); meta-d′: what the\n"
        "confidence knows of that, in the unit of d′; M-ratio: meta-d′ / d′, 1 is optimal; posterior: its posterior mean.\n"
        "risk_s1, risk_s2: wrongly saying label 0, label 1 is punished. N/A: no value, table estimates says\n"
        "why.\n"
    ),
    stands_in="*: a posterior mean; the paper prints no other.\n",
    about={
        "published": " (drawn from the sources the paper names, by this study's seed)",
        "sample": " (written for this project; not comparable with the literature)",
    },
    summed_up=("risk_none", "risk_s1", "risk_s2"),
)
_MEDLEY = BenchmarkBoard(
    columns=(
        Column("mms", "MMS"),
        Column("t1", "T1"),
        Column("t2", "T2"),
        Column("t3", "T3"),
        Column("mas", "MAS"),
        Column("adversarial_delta", "inverted"),
        Column("stripped_delta", "stripped"),
        Column("judge_share_missing", "unjudged", interval=False),
    ),
    order=(("mms",), ("adversarial_delta",), ("stripped_delta",)),
    legend=(
        "Below each value its 95 % interval over instances; 0 to 1. MMS: 10 % trimmed mean of three tiers joined; T1:\n"
        "updating on reflection; T2: robustness to the others; T3: saying why; MAS: mean of four judged abilities;\n"
        "inverted, stripped: change of MMS on the same instances with an inverted consensus, with only the two weakest\n"
        "analysts; unjudged: the share of MMS that rests on grades no judge gave. It is left out, so MMS compares only\n"
        "where it is alike (published scores are judged whole). reference: scored as the authors' package computes;\n"
        "paper: as the paper writes.\n"
        "Published scores stand as printed. A model that says nothing readable has no score.\n"
    ),
    about={
        "published": " (the claims of its instances have no text: every respondent fills the five slots with its own)",
        "sample": " (written for this project; not comparable with the literature)",
        "custom": " (the study's own)",
    },
)
_METACOGBENCH = BenchmarkBoard(
    columns=(
        Column("overall", "overall"),
        Column("ms", "MS"),
        Column("t1a", "1a bets"),
        Column("t1b", "1b 1-ECE"),
        Column("ece_pre_null_mean", "ECE chance", interval=False),
        Column("saf", "SAF"),
        Column("t2a", "2a"),
        Column("t2a_grounded", "2a grnd."),
        Column("t2b", "2b"),
        Column("t2b_grounded", "2b grnd."),
        Column("cdtc", "CDTC"),
    ),
    order=(("overall",), ("t2a",), ("t1b",)),
    legend=(
        "Below each value its 95 % interval over items; 0 to 1. MS: mean of bets (1a) and of 1 - ECE of predictions (1b);\n"
        "ECE chance: what a perfectly calibrated respondent with these confidences gets; SAF: mean of caution (2a) and\n"
        "of resistance to a sycophantic pull (2b); grnd.: by what the task itself omits or claims, not by cue words;\n"
        "CDTC: transfer to a new story (3); overall: mean of MS, SAF, CDTC. A missing part leaves it undefined.\n"
        "json: 1b, 2a and 3 in JSON; json_notes: 2a with room for notes; two_turn: 1b, predicted beforehand.\n"
    ),
    about={
        "metacog147": " (147 tasks written for this project; those of the paper are not public, so its numbers are not "
        "comparable)",
        "metacog41": " (41 tasks written for this project; those of the paper are not public, so its numbers are not "
        "comparable)",
    },
)
_SELF_KNOWLEDGE = BenchmarkBoard(
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
    stands_in="*: by the rules of the published numbers: a yes anywhere in the reply, rates kept 1e-4 from 0 and 1.\n",
    about={
        "sample": " (facts written for this project; not comparable with the literature)",
        "trivia_qa": " (TriviaQA)",
        "mkqa": " (MKQA; about a third of its questions have no answer, and no reply to them is right)",
        "fictional_qa": " (FictionalQA: nobody who was not taught them can know the answers)",
        "selfaware": " (SelfAware: to a third of its questions no reply is right)",
    },
)
#: What is printed of a benchmark that has no entry of its own.
PLAIN = BenchmarkBoard(columns=(Column("accuracy", "accuracy"),), order=(("accuracy",),), legend="")
BOARDS: Mapping[str, BenchmarkBoard] = {
    "metamedqa": _MEDICAL,
    "signaldetection": _SIGNAL_DETECTION,
    "medley": _MEDLEY,
    "metacogbench": _METACOGBENCH,
    "selfknowledge": _SELF_KNOWLEDGE,
}


def board_of(benchmark: str) -> BenchmarkBoard:
    """Return how ``benchmark`` is printed."""
    return BOARDS.get(benchmark, PLAIN)
