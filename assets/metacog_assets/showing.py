"""What people see beside an asset in the UI: tables and a plot, built from data and never from code in it."""

from __future__ import annotations

import base64
import html
import io
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from metacog_pipeline.stats.proportions import wilson_interval

if TYPE_CHECKING:
    from dagster import MarkdownMetadataValue as Markdown
    from matplotlib.figure import Figure

PREVIEW_ROWS = 10
PREVIEW_CHARACTERS = 120
MOST_LEVELS = 11  # of a confidence that are drawn as they are
_CANVAS = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 270" font-family="sans-serif" font-size="11">'
    '<path d="M50 30V230H290" fill="none" stroke="#888"/>'
    '<line x1="50" y1="230" x2="290" y2="30" stroke="#aaa" stroke-dasharray="3 3"/>'
    '<text x="170" y="262" text-anchor="middle">confidence</text>'
    '<text x="14" y="130" text-anchor="middle" transform="rotate(-90 14 130)">share correct</text>'
    '<text x="50" y="246" text-anchor="middle">0</text><text x="290" y="246" text-anchor="middle">1</text>'
    '<text x="42" y="234" text-anchor="end">0</text><text x="42" y="34" text-anchor="end">1</text>{marks}</svg>'
)
MARKUP = "\\`*_~[]<>|!#&:@"  # the backslash first; colon and at sign, because bare addresses become links


@dataclass(frozen=True, slots=True)
class _Words:
    """Markdown where Dagster is not loaded: sent to a process that has it, it is what Dagster shows."""

    value: str

    def __reduce__(self) -> tuple[Any, ...]:
        return markdown, (self.value,)


def markdown(text: str) -> Markdown:
    """Return what Dagster shows of Markdown."""
    if "dagster" not in sys.modules:
        return cast("Markdown", _Words(text))
    import dagster as dg

    found: Markdown = dg.MetadataValue.md(text)
    return found


def preview(
    frame: pl.DataFrame,
    columns: Sequence[str] | None = None,
    *,
    rows: int = PREVIEW_ROWS,
    total: int | None = None,
) -> Markdown:
    """Return the first ``rows`` of ``frame``, a table of ``total`` rows, as Markdown; every cell is escaped data."""
    shown = frame.select(columns) if columns else frame
    lines = ["| " + " | ".join(shown.columns) + " |", "|" + " --- |" * len(shown.columns)]
    for row in shown.head(rows).iter_rows():
        lines.append("| " + " | ".join(_cell(value) for value in row) + " |")
    if (more := (total or shown.height) - rows) > 0:
        lines.append(f"\n{more} more rows")
    return markdown("\n".join(lines))


def calibration_plot(responses: pl.DataFrame) -> Markdown:
    """Return accuracy by confidence as a picture: each level, or tenths where there are many; 95 % intervals.

    Parameters
    ----------
    responses
        Columns ``confidence`` (0 to 1 or null) and ``correct`` (0 or 1).
    """
    rated = responses.drop_nulls(["confidence", "correct"])
    level = pl.col("confidence")
    if rated["confidence"].n_unique() > MOST_LEVELS:
        level = ((level * 10).floor().clip(0, 9) + 0.5) / 10
    levels = rated.group_by(level=level).agg(n=pl.len(), right=pl.col("correct").sum()).sort("level")
    marks = [_level(x, int(right), n) for x, n, right in levels.select("level", "n", "right").iter_rows()]
    return drawing(_CANVAS.format(marks="".join(marks)), "accuracy by confidence")


def _level(confidence: float, right: int, n: int) -> str:
    low, high = wilson_interval(right / n, n)
    x, y, bottom, top = 50 + 240 * confidence, *(230 - 200 * share for share in (right / n, low, high))
    return (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{bottom:.1f}" y2="{top:.1f}" stroke="#2166ac"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#2166ac"/>'
        f'<text x="{x + 6:.1f}" y="{y - 6:.1f}" font-size="9">n={n}</text>'
    )


def picture(figure: Figure, title: str) -> Markdown:
    """Return a figure as a picture; ``title`` is read where it cannot be seen."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100)
    encoded = base64.b64encode(buffer.getvalue()).decode()
    return markdown(f"![{_cell(title)}](data:image/png;base64,{encoded})")


def drawing(svg: str, title: str) -> Markdown:
    """Return an SVG figure as a picture: data in an image, in which nothing runs, on white whatever the theme."""
    sized = re.search(r'viewBox="[\d.+-]+ [\d.+-]+ ([\d.]+) ([\d.]+)"', svg)
    width, height = sized.groups() if sized else ("640", "480")
    attributes = f'width="{width}" height="{height}" style="background:#fff;color:#1b1f24"'
    sized_svg = svg.replace("<svg", f"<svg {attributes}", 1)
    encoded = base64.b64encode(sized_svg.encode("utf-8", "replace")).decode()
    return markdown(f"![{_cell(title)}](data:image/svg+xml;base64,{encoded})")


def escaped_svg(text: str, longest: int = 28) -> str:
    """Return a name as it may stand in an SVG figure: data, never markup, and not longer than its place."""
    kept = "".join(c if c.isprintable() else " " for c in text.encode("utf-8", "replace").decode("utf-8"))
    return html.escape(kept if len(kept) <= longest else kept[: longest - 1] + "…")


def _cell(value: object) -> str:
    text = "–" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
    text = text.encode("utf-8", "replace").decode("utf-8")
    text = text if len(text) <= PREVIEW_CHARACTERS else text[: PREVIEW_CHARACTERS - 1] + "…"
    escaped = "".join(c if c.isprintable() else " " for c in text)
    for special in MARKUP:
        escaped = escaped.replace(special, "\\" + special)
    return escaped.replace("www.", "www\\.")
