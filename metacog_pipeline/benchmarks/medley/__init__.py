"""MEDLEY-BENCH: when others disagree, does a model follow arguments, the crowd, or itself?

Farhad Abtahi, Abdolamir Karbalaie, Eduardo Illueca-Fernandez, Fernando Seoane: "MEDLEY-BENCH: Scale Buys Evaluation but
Not Control in AI Metacognition" (2026), arXiv:2604.16009. Reproduces Table 1 and Tables S5–S10, and the numbers of the
authors' package medley-bench 0.5.3; ``report.PAPER`` lists all of the paper.

A model answers a case alone (step A), reviews its own answer (B-private), and then sees eight analysts and their consensus
(B-social); what it changed, why, and whom it cites is measured. Two scorings are kept apart everywhere: ``reference`` (what
the package computes) and ``paper`` (what the paper writes).

``benchmark`` is the class. ``items``, ``construction``: instances; ``prompts``: what is asked; ``read``: replies;
``rules``, ``scores``: from replies to MMS; ``judging``; ``pull``: social influence; ``measures``, ``contrasts``: models;
``report``, ``published``: the paper; ``simulated``: respondents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metacog_pipeline import registry
from metacog_pipeline.benchmark.display import Board, Column

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.medley.benchmark import Medley as Medley

_COLUMNS = {
    **{"mms": "MMS", "t1": "T1", "t2": "T2", "t3": "T3", "judge_agreement": "judges agree", "mas": "MAS"},
    **{"pull_crowd": "crowd pull", "pull_arguments": "argument pull"},
    **{"adversarial_delta": "inverted", "stripped_delta": "stripped"},
}
BOARD = Board(
    columns=(
        *(Column(measure, short) for measure, short in _COLUMNS.items()),
        Column("judge_share_missing", "unjudged", interval=False),
    ),
    order=(("mms",), ("resistance",), ("stripped_delta",)),
    legend=(
        "Below each value its 95 % interval over instances; 0 to 1. MMS: 10 % trimmed mean of three tiers joined; T1:\n"
        "updating on reflection; T2: robustness to the others; T3: saying why; judges agree: alpha of the grades in it;\n"
        "MAS: mean of four judged abilities; crowd pull: shift of ratings toward a statistic shown inverted, in units of\n"
        "the scale; argument pull: toward the arguments against it; inverted, stripped: change of MMS on the same\n"
        "instances with that statistic, with only the two weakest analysts: scored by other rules, no behaviour;\n"
        "unjudged: the share of MMS that rests on grades no judge gave. It is left out, so MMS compares only where it is\n"
        "the same (published scores are judged whole). reference: scored as the authors' package computes; paper: as the\n"
        "paper writes. Published scores are as printed. A model that says nothing readable has no score.\n"
    ),
    about={
        "published": " (the claims of its instances have no text: every respondent fills the five slots with its own)",
        "sample": " (written for this project; not comparable with the literature)",
        "custom": " (the study's own)",
    },
)

#: Imported on demand: a command that reads the study file or prints a board loads no statistics.
PARTS = {
    "Medley": f"{__name__}.benchmark:Medley",
    "Settings": f"{__name__}.settings:Settings",
    "board": f"{__name__}:BOARD",
    "read_row": f"{__name__}.read:read_row",
}
__getattr__ = registry.lazily(__name__, "Medley", PARTS)
