"""What the figures themselves tell about a printed table: misprints, missing trials, shared items."""

from __future__ import annotations

import math
from collections import Counter

import polars as pl

# How far a printed number may lie from ours: for table S1 the Monte-Carlo error of a run of the usual length, for c one
# unit of the last digit (one value is cut off instead of rounded), for half widths half a unit.
TOLERANCE = {"d": 0.005, "meta_d": 0.010, "m_ratio": 0.004, "c": 1e-4, "ci_half": 5.1e-5}


def printed_note(quantity: str, printed: float, value: float) -> list[str]:
    """Return what is to be said of one printed number beside the value from the counts: nothing, or one remark."""
    if abs(value - printed) > TOLERANCE[quantity]:
        return [f"does not follow from the counts, which give {value:.5f}: a misprint, or other counts"]
    cut_off, rounded = math.trunc(value * 1e4) / 1e4, round(value, 4)
    if quantity == "c" and cut_off != rounded and math.isclose(printed, cut_off, abs_tol=1e-9):
        return [f"cut off, not rounded: the counts give {value:.6f}"]
    return []


def cell_notes(cells: pl.DataFrame) -> list[list[str]]:
    """Say of each cell how many trials it has where others have more, and whether its items seem to be shared."""
    rows = list(cells.iter_rows(named=True))
    split = [(row["false_alarms"] + row["correct_rejections"], row["hits"] + row["misses"]) for row in rows]
    total = [sum(pair) for pair in split]
    notes: list[list[str]] = []
    for place, row in enumerate(rows):
        same_task = [n for n, other in zip(total, rows, strict=True) if other["task"] == row["task"]]
        own = [
            pair
            for pair, other in zip(split, rows, strict=True)
            if (other["task"], other["model"]) == (row["task"], row["model"])
        ]
        usual, said = Counter(same_task).most_common(1)[0][0], []
        if total[place] != usual:
            said.append(f"{total[place]:,} trials where the cells of this task have {usual:,}")
        n1, n2 = split[place]
        if own.count(split[place]) > 1:
            said.append(
                f"shares its class split ({n1:,} to {n2:,}) with another configuration of this model, so very probably its "
                "items: the published test takes them as independent"
            )
        elif len(set(own)) < len(own):
            said.append(f"run on other items than the other configurations: {n1:,} to {n2:,}")
        notes.append(said)
    return notes
