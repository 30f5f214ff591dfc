"""Pictures of the tables of ``open_questions``: d′ and accuracy with their intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from metacog_pipeline.files import replacing
from metacog_pipeline.report.figures import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEASURES = (("d_type2", "d′"), ("accuracy", "accuracy"))


def draw(path: Path, name: str, table: pl.DataFrame) -> Path:
    """Write the picture of a table as SVG: lines over the share for the patch curve, points with bars for the others."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    height = 3.4 if name == "patch_curve" else 1.2 + 0.3 * len(_labels(table))
    figure = Figure(figsize=(9, height), layout="constrained", facecolor="white")
    for axes, (measure, label) in zip(figure.subplots(1, 2), MEASURES, strict=True):
        of_it = table.filter(pl.col("measure") == measure).drop_nulls("estimate")
        (_lines if name == "patch_curve" else _points)(axes, of_it)
        axes.set_xlabel("share of the largest changes kept" if name == "patch_curve" else label)
        axes.set_title(label)
        axes.spines[["top", "right"]].set_visible(False)
    with replacing(path) as temporary, mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(temporary, format="svg", metadata={"Date": None})
    return path


def _lines(axes: Axes, table: pl.DataFrame) -> None:
    for colour, ((dtype,), part) in zip(PALETTE, table.group_by("dtype", maintain_order=True), strict=False):
        shares = part["share"].to_numpy()
        axes.plot(
            shares, part["estimate"].to_numpy(), color=colour, marker="o", markersize=3, label=str(dtype)
        )
        whole = part.drop_nulls("low")
        ends = whole["low"].to_numpy(), whole["high"].to_numpy()
        axes.fill_between(whole["share"].to_numpy(), *ends, color=colour, alpha=0.15)
    axes.legend(frameon=False)


def _labels(table: pl.DataFrame) -> list[str]:
    columns = [name for name in ("questions", "language", "model") if name in table.columns]
    return (
        table.select(pl.concat_str(columns, separator=", "))[columns[0]].unique(maintain_order=True).to_list()
    )


def _points(axes: Axes, table: pl.DataFrame) -> None:
    labels = _labels(table)
    for place, (label, row) in enumerate(zip(labels, table.iter_rows(named=True), strict=True)):
        colour = PALETTE[1] if "base" in label else PALETTE[0]
        axes.plot(row["estimate"], place, "o", color=colour)
        if row["low"] is not None:
            axes.plot([row["low"], row["high"]], [place, place], color=colour)
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
