"""MetaCog-Bench: does a model monitor what it knows, hold back where it should, and carry a structure to a new story?

"MetaCog-Bench: A Process-Based Benchmark for Evaluating Metacognitive Monitoring and Control in Large Language Models"
(2026, under review, anonymous), openreview.net/forum?id=ayRu5RL4Hb; it has no DOI or arXiv id yet. Five tiers after Nelson
and Narens (1990), doi:10.1016/S0079-7421(08)60053-5. The published task texts and cue lists are not public; all items here
are original. ``report.PAPER`` lists all of the paper.

=============  =====================================================================================================
``benchmark``  the class: what is declared to the pipeline; ``settings``: the study's table
``items``      the item, the shipped texts; ``fresh``: new items of tiers 1a, 1b and 3 from a seed
``prompts``    in which words, turns and calls an item is asked
``read``       how replies are read; ``rules``: what they are worth; ``rows``: replies from elsewhere
``measures``   the tiers, composites and reliability; ``groups``: the arrays and estimates they are made of
``contrasts``  tests between models and between ways of asking, and the questions they answer
``judging``    models that judge the same replies, and how far they agree with the rules
``report``     sections and the paper's manifest; ``published``: its printed numbers and what follows from them
``simulated``  a respondent with known parameters
=============  =====================================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metacog_pipeline import registry
from metacog_pipeline.benchmark.display import Board, Column

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.metacogbench.benchmark import MetaCogBench as MetaCogBench


_OURS = "tasks written for this project; those of the paper are not public, so its numbers are not comparable"
BOARD = Board(
    columns=(
        Column("overall", "overall"),
        Column("ms", "MS"),
        Column("t1a", "1a bets"),
        Column("t1b", "1b 1-ECE"),
        Column("ece_pre_null_mean", "ECE chance", interval=False),
        Column("saf", "SAF"),
        Column("t2a", "2a"),
        Column("d_2a", "2a d′"),
        Column("c_2a", "2a c"),
        Column("t2b", "2b"),
        Column("d_2b", "2b d′"),
        Column("c_2b", "2b c"),
        Column("cdtc", "CDTC"),
    ),
    order=(("overall",), ("t2a",), ("t1b",)),
    legend=(
        "Below each value its 95 % interval over items; rates are 0 to 1. MS: mean of bets (1a) and of 1 - ECE of\n"
        "predictions (1b); ECE chance: what a perfectly calibrated respondent with these confidences gets; SAF: mean of\n"
        "2a (seeing that something decisive is left out) and 2b (seeing which challenges are valid), both balanced\n"
        "accuracies; d′: separation, 0 if none; c: criterion, below 0 it checks (2a) or gives in (2b) too often; CDTC:\n"
        "transfer to a new story (3); overall: mean of MS, SAF, CDTC. A missing part leaves it undefined.\n"
        "one_turn: 1b in one reply; json: 1b, 2a and 3 in JSON; json_notes: 2a with room for notes; delegate: 1a with a\n"
        "partner.\n"
    ),
    about={"metacog147": f" (157 {_OURS})", "metacog41": f" (41 {_OURS})"},
)
#: Imported on demand: a command that reads the study file or prints a board loads no statistics.
PARTS = {
    "MetaCogBench": f"{__name__}.benchmark:MetaCogBench",
    "Settings": f"{__name__}.settings:Settings",
    "board": f"{__name__}:BOARD",
    "read_row": f"{__name__}.rows:read_row",
}
__getattr__ = registry.lazily(__name__, "MetaCogBench", PARTS)
