"""What the format of a reply changes in MetaCog-Bench: the same tasks, free and in JSON, asked once and in two turns."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from metacog_pipeline.leaderboard.output import Stacked, fixed
from metacog_pipeline.leaderboard.read import Rows, read_table
from metacog_pipeline.report.figures import Point, ladder
from metacog_pipeline.report.html import figure, folded, paragraph, table

_WORLDS = {"measured": "Models", "simulated": "Simulated observers"}
_DRAWN = ("t2a", "t2a_grounded", "accuracy_1b", "ece_pre")  # other ways of scoring: in the table
_MOST_ROWS = 40  # of a figure; the table has all
_SAID = (
    "Differences on the same tasks by the same scorer. Right of 0: more of it under the first named, which is better but "
    "for ECE. A score that hangs on the format measures the format too."
)


def body(home: Path) -> str:
    """Return figures and tables of the differences between formats, from the leaderboard of ``home``."""
    found = read_table(
        home,
        "select source, measure, model, a, b, value, low, high, p_adjusted, verdict, status "
        "from metacogbench_comparisons where family in ('format', 'protocol') "
        "order by source, measure, model, a, b",
    ).rows
    figures, tables = [], []
    for source, group in groupby(found, key=lambda row: row[0]):
        own, title = list(group), _WORLDS[str(source)]
        for measure, of_measure in groupby(own, key=lambda row: row[1]):
            rows: dict[str, dict[str, Point]] = {}
            for _, _, model, a, b, value, low, high, *_ in of_measure:
                if isinstance(value, float):
                    ends = (low, high) if isinstance(low, float) and isinstance(high, float) else (None, None)
                    rows.setdefault(str(model), {})[f"{a} - {b}"] = Point(value, *ends)
            if rows and measure in _DRAWN:
                steps = sorted({step for points in rows.values() for step in points})
                drawn = ladder(
                    list(rows.items())[:_MOST_ROWS], steps=steps, x=f"change of {measure}", apart=0.25
                )
                figures.append(figure(drawn, f"{title}: {measure}, with 95 % intervals."))
        lines = tuple(
            (model, measure, f"{a} - {b}", _interval(value, low, high), _shown(p),
             str(verdict or status).replace("_", " "))
            for _, measure, model, a, b, value, low, high, p, verdict, status in own
        )  # fmt: skip
        columns = ("model", "measure", "contrast", "difference", "p adjusted", "verdict")
        whole = table(Rows(columns, lines), f"{title}: differences on the same tasks")
        tables.append(folded(f"{title}: {len(lines)} tests", whole))
    if not found:
        return paragraph("Asked under one format only.", "soft")
    grid = f'<div class="figures">{"".join(figures)}</div>' if figures else ""
    return paragraph(_SAID, "soft") + grid + "".join(tables)


def _interval(value: object, low: object, high: object) -> object:
    if not isinstance(value, float) or not isinstance(low, float) or not isinstance(high, float):
        return _shown(value)
    return Stacked(f"{fixed(value, 3)}\n{fixed(low, 3)} to {fixed(high, 3)}")


def _shown(value: object) -> object:
    return Stacked(fixed(value, 3)) if isinstance(value, float) else None
