"""What people see beside an asset in the UI: tables and a plot, built from data and never from code in it."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl
from dagster import MarkdownMetadataValue, MetadataValue

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PREVIEW_ROWS = 10
PREVIEW_CHARACTERS = 120
MARKUP = "\\`*_~[]<>|!#&:@"  # the backslash first; colon and at sign, because bare addresses become links


def preview(frame: pl.DataFrame, columns: Sequence[str] | None = None) -> MarkdownMetadataValue:
    """Return the first rows of ``frame`` as a Markdown table; every cell is escaped data."""
    shown = frame.select(columns) if columns else frame
    lines = ["| " + " | ".join(shown.columns) + " |", "|" + " --- |" * len(shown.columns)]
    for row in shown.head(PREVIEW_ROWS).iter_rows():
        lines.append("| " + " | ".join(_cell(value) for value in row) + " |")
    if shown.height > PREVIEW_ROWS:
        lines.append(f"\n{shown.height - PREVIEW_ROWS} more rows")
    return MetadataValue.md("\n".join(lines))


def calibration_plot(levels: pl.DataFrame) -> MarkdownMetadataValue:
    """Return accuracy by confidence level as a picture.

    Parameters
    ----------
    levels
        Columns ``confidence`` (1 to 5), ``n``, ``accuracy``, ``low``, ``high`` (0 to 1).
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.plot([1, 5], [0, 1], linestyle=":", color="grey", label="perfect, read as (c − 1)/4")
    rows = levels.drop_nulls("accuracy")
    if rows.height:
        value = rows["accuracy"].to_numpy()
        errors = [value - rows["low"].to_numpy(), rows["high"].to_numpy() - value]
        axes.errorbar(
            rows["confidence"].to_numpy(), value, yerr=errors, fmt="o", capsize=3, label="accuracy, 95 %"
        )
        for confidence, n, accuracy in rows.select("confidence", "n", "accuracy").iter_rows():
            axes.annotate(
                f"n={n}", (confidence, accuracy), textcoords="offset points", xytext=(6, -10), fontsize=8
            )
    axes.set(
        xlabel="confidence", ylabel="share correct", xlim=(0.7, 5.6), ylim=(-0.05, 1.05), xticks=range(1, 6)
    )
    axes.legend(fontsize=8, loc="upper left", frameon=False)
    return picture(figure, "calibration")


def picture(figure: Figure, title: str) -> MarkdownMetadataValue:
    """Return a figure as a picture; ``title`` is read where it cannot be seen."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100)
    encoded = base64.b64encode(buffer.getvalue()).decode()
    return MetadataValue.md(f"![{_cell(title)}](data:image/png;base64,{encoded})")


def drawing(svg: str, title: str) -> MarkdownMetadataValue:
    """Return an SVG figure as a picture: data in an image, in which nothing runs, on white whatever the theme."""
    sized = re.search(r'viewBox="[\d.+-]+ [\d.+-]+ ([\d.]+) ([\d.]+)"', svg)
    width, height = sized.groups() if sized else ("640", "480")
    attributes = f'width="{width}" height="{height}" style="background:#fff;color:#1b1f24"'
    sized_svg = svg.replace("<svg", f"<svg {attributes}", 1)
    encoded = base64.b64encode(sized_svg.encode("utf-8", "replace")).decode()
    return MetadataValue.md(f"![{_cell(title)}](data:image/svg+xml;base64,{encoded})")


def _cell(value: object) -> str:
    text = "–" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
    text = text.encode("utf-8", "replace").decode("utf-8")
    text = text if len(text) <= PREVIEW_CHARACTERS else text[: PREVIEW_CHARACTERS - 1] + "…"
    escaped = "".join(c if c.isprintable() else " " for c in text)
    for special in MARKUP:
        escaped = escaped.replace(special, "\\" + special)
    return escaped.replace("www.", "www\\.")
