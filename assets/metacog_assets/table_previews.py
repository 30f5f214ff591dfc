"""What people see of a table of the leaderboard in the UI: its first rows, and of the board who stands where."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

import polars as pl

from metacog_assets.figures import Fact
from metacog_assets.showing import PREVIEW_ROWS, drawing, escaped_svg, preview
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.read import query_table

BOARD = "leaderboard"
MOST_COLUMNS = 12
MOST_MODELS = 20  # of one benchmark in the figure
MOST_SHOWN = 40  # rows of the board's preview
_HEADLINES = """
select benchmark, condition, coalesce(measures.label, measure) as measure, model, estimate, low, high, n, coverage, status
from leaderboard left join measures using (benchmark, measure)
where leaderboard.headline
order by benchmark, condition, measure, rank nulls last, model
"""
_LEFT, _RIGHT, _ROW = 190, 440, 20


def shown(home: Home, schema: str, name: str, columns: Sequence[str]) -> dict[str, Fact]:
    """Return the metadata that shows what a table holds; nothing where it is empty."""
    if name == BOARD:
        headlines = _frame(home, _HEADLINES)
        if headlines.is_empty():
            return {}
        return {"headlines": preview(headlines, rows=MOST_SHOWN), "figure": board_figure(headlines)}
    listed = ", ".join(f'"{column}"' for column in columns[:MOST_COLUMNS])
    if not listed:
        return {}
    head = _frame(home, f'select {listed} from {schema}."{name}" limit {PREVIEW_ROWS}')
    return {"preview": preview(head)} if head.height else {}


def board_figure(headlines: pl.DataFrame) -> Fact:
    """Return the headline of each benchmark as a picture: a row per model, best first, with its 95 % interval.

    Parameters
    ----------
    headlines
        Columns benchmark, condition, measure, model, estimate, low, high; best first within a benchmark.
    """
    rows = headlines.drop_nulls("estimate").select(
        "benchmark", "condition", "measure", "model", "estimate", "low", "high"
    )
    parts, top = [], 10
    for about, of_one in groupby(rows.iter_rows(), key=itemgetter(0, 1, 2)):
        some = [(model, estimate, low, high) for *_, model, estimate, low, high in of_one][:MOST_MODELS]
        parts.append(_panel(", ".join(about), some, top))
        top += _ROW * (len(some) + 2)
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 520 {top}" font-family="sans-serif" font-size="11">'
        + "".join(parts)
        + "</svg>"
    )
    return drawing(svg, "headline of each benchmark with 95 % intervals")


def _panel(title: str, rows: Sequence[tuple[str, float, float | None, float | None]], top: int) -> str:
    ends = [value for row in rows for value in row[1:] if value is not None]
    least, most = min(0.0, *ends), max(ends)
    wide = (most - least) or 1.0

    def x(value: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * (value - least) / wide

    made = [f'<text x="4" y="{top + 12}" font-weight="bold">{escaped_svg(title, 70)}</text>']
    for place, (model, estimate, low, high) in enumerate(rows, start=1):
        y = top + _ROW * place + 8
        if low is not None and high is not None:
            made.append(f'<line x1="{x(low):.1f}" x2="{x(high):.1f}" y1="{y}" y2="{y}" stroke="#2166ac"/>')
        made.append(
            f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{escaped_svg(model)}</text>'
            f'<circle cx="{x(estimate):.1f}" cy="{y}" r="4" fill="#2166ac"/>'
            f'<text x="{_RIGHT + 8}" y="{y + 4}">{estimate:.2f}</text>'
        )
    bottom = top + _ROW * (len(rows) + 1)
    made.append(
        f'<path d="M{x(0):.1f} {top + 18}V{bottom - 4}" stroke="#aaa" stroke-dasharray="3 3" fill="none"/>'
    )
    return "".join(made)


def _frame(home: Home, sql: str) -> pl.DataFrame:
    found = pl.from_arrow(query_table(home, sql))
    assert isinstance(found, pl.DataFrame)
    return found
