"""Figures of self-knowledge: type-2 ROC curves, densities of confidence, d′ with its interval.

From points, for the page; and from the files of estimates and curves, for whoever has no leaderboard yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from metacog_pipeline.report.figures import PALETTE, Point, canvas, finished, handle, intervals, lines

Pairs = list[tuple[float, float]]


@dataclass(slots=True)
class Curves:
    """What there is to draw of one model under one condition.

    Attributes
    ----------
    roc
        (false alarms, hits) of the graded yes, from (0, 0) to (1, 1).
    said
        The same of the spoken yes; one pair.
    correct, wrong
        (lower edge of the bin, density) of the graded yes.
    """

    roc: Pairs = field(default_factory=list)
    said: Pairs = field(default_factory=list)
    correct: Pairs = field(default_factory=list)
    wrong: Pairs = field(default_factory=list)


def collected(points: Iterable[Sequence[object]]) -> dict[tuple[str, str], Curves]:
    """Return (model, condition) → curves, from rows of model, condition, curve, x, y in the order of their position."""
    found: dict[tuple[str, str], Curves] = {}
    for model, condition, curve, x, y in points:
        own = found.setdefault((str(model), str(condition)), Curves())
        if isinstance(x, float) and isinstance(y, float):
            getattr(own, str(curve)).append((x, y))
    return found


def roc_figure(curves: Mapping[str, Curves]) -> str | None:
    """Return type-2 ROC curves of the named series and their points of the spoken yes; None where there is nothing."""
    told = {series: own for series, own in curves.items() if own.roc or own.said}
    if not told:
        return None
    return lines(
        {series: [(x, Point(y)) for x, y in own.roc] for series, own in told.items()},
        x="yes to wrong answers",
        y="yes to right answers",
        diagonal="chance",
        marks=False,
        spots={series: own.said for series, own in told.items()},
    )


def density_figure(own: Curves, *, name: str) -> str | None:
    """Return the densities of confidence among right and wrong answers; None where there was no graded yes."""
    if not own.correct or not own.wrong:
        return None
    figure, axes = canvas(2.9)
    for values, colour in ((own.correct, PALETTE[0]), (own.wrong, PALETTE[1])):
        edges = [x for x, _ in values]
        width = edges[1] - edges[0] if len(edges) > 1 else 1.0
        heights = [y for _, y in values]
        axes.stairs(heights, [*edges, edges[-1] + width], color=colour, fill=True, alpha=0.25)
        axes.stairs(heights, [*edges, edges[-1] + width], color=colour, linewidth=1.6)
    axes.set_xlim(0, 1)
    axes.set_ylim(bottom=0)
    handles = [handle("s", PALETTE[0], "right answers"), handle("s", PALETTE[1], "wrong answers")]
    return finished(figure, axes, "P(yes) / (P(yes) + P(no))", "density", handles, name)


def selfknowledge_figures(estimates: Path) -> dict[str, str]:
    """Return figures as SVG by title: d′, type-2 ROC curves and, per model, densities of confidence.

    Parameters
    ----------
    estimates
        ``<home>/estimates/selfknowledge``, with ``models/*.parquet`` and ``curves/curves.parquet``.

    Notes
    -----
    Simulated observers and models have figures of their own. What has no values yet has no figure.
    """
    files, found = sorted((estimates / "models").glob("*.parquet")), estimates / "curves" / "curves.parquet"
    if not files or not found.exists():
        return {}
    pooled = pl.concat([pl.read_parquet(path, glob=False, hive_partitioning=False) for path in files])
    points = pl.read_parquet(found, glob=False, hive_partitioning=False)
    drawn = {}
    for world, own in (
        ("models", pl.col("source") != "simulated"),
        ("simulated observers", pl.col("source") == "simulated"),
    ):
        for title, figure in _drawn(pooled.filter(own), points.filter(own)):
            drawn[f"{title}, {world}"] = figure
    return drawn


def _drawn(pooled: pl.DataFrame, points: pl.DataFrame) -> Iterator[tuple[str, str]]:
    values = pooled.filter(measure="d_type2").drop_nulls("estimate").sort("condition", "model")
    rows = [
        (f"{model}, {condition}", Point(value, low, high))
        for model, condition, value, low, high in values.select(
            "model", "condition", "estimate", "low", "high"
        ).iter_rows()
    ]
    if rows:
        yield "d′ of type 2", intervals(rows, x="d′ of type 2")
    ordered = points.sort("model", "condition", "curve", "position")
    by_condition: dict[str, dict[str, Curves]] = {}
    for (model, condition), own in collected(
        ordered.select("model", "condition", "curve", "x", "y").iter_rows()
    ).items():
        by_condition.setdefault(condition, {})[model] = own
    for condition, series in sorted(by_condition.items()):
        if drawn := roc_figure(series):
            yield f"type-2 ROC, {condition}", drawn
        for model, own in series.items():
            if drawn := density_figure(own, name=f"confidence of {model}, {condition}"):
                yield f"confidence, {model}, {condition}", drawn
