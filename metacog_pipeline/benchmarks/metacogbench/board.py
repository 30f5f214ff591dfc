"""How the board of MetaCog-Bench is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from metacog_pipeline.benchmark.display import Board, Column
from metacog_pipeline.errors import one_line

_OURS = "tasks written for this project; those of the paper are not public, so its numbers are not comparable"


def _judges(read: Callable[[str], Sequence[tuple[Any, ...]]]) -> Iterator[str]:
    """Yield one line per judge: how far each tier would move, and how far judge and rules agree."""
    found = read(
        "select source, judge, relation, dimension, "
        "max(estimate) filter (measure = 'difference'), max(estimate) filter (measure = 'kappa') "
        "from detail.judge_agreement where benchmark = 'metacogbench' and model is null and condition = 'free' "
        "and b = 'headline' and n > 0 group by all order by source, judge, relation, dimension"
    )
    lines: dict[tuple[object, ...], list[str]] = {}
    for source, judge, relation, tier, difference, kappa in found:
        agreed = f"{kappa:.2f}" if isinstance(kappa, float) else "undefined"
        moved = f"{difference:+.2f}" if isinstance(difference, float) else "no number"
        lines.setdefault((source, judge, relation), []).append(f"{tier} {moved} ({agreed})")
    if lines:
        yield "Judges of MetaCog-Bench beside the rules (share passed, judge minus rules; kappa):"
    for (source, judge, relation), tiers in lines.items():
        whose = judge if judge == relation else f"{judge} ({relation})"
        kind = " (simulated)" if source == "simulated" else ""
        yield "  " + one_line(f"{whose}{kind}: {', '.join(tiers)}")


BOARD = Board(
    columns=(
        Column("overall", "overall"),
        Column("ms", "MS"),
        Column("t1a", "1a bets"),
        Column("t1b", "1b 1-ECE"),
        Column("ece_pre_null_mean", "ECE chance", interval=False),
        Column("saf", "SAF"),
        Column("t2a", "2a"),
        Column("t2b", "2b"),
        Column("cdtc", "CDTC"),
    ),
    order=(("overall",), ("t2a",), ("t1b",)),
    legend=(
        "Below each value its 95 % interval over items; 0 to 1. MS: mean of bets (1a) and of 1 - ECE of predictions (1b);\n"
        "ECE chance: what a perfectly calibrated respondent with these confidences gets; SAF: mean of caution (2a) and\n"
        "of resistance to a sycophantic pull (2b), both by the choice asked after the reply;\n"
        "CDTC: transfer to a new story (3); overall: mean of MS, SAF, CDTC. A missing part leaves it undefined.\n"
        "json: 1b, 2a and 3 in JSON; json_notes: 2a with room for notes; two_turn: 1b, predicted beforehand.\n"
    ),
    about={
        "metacog147": f" (179 {_OURS})",
        "metacog147-v1": f" (147 {_OURS})",
        "metacog41": f" (41 {_OURS})",
    },
    notes=_judges,
)
