"""Figures of scores: points in a plane, named beside their marks, and a heat map."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from metacog_pipeline.report import figures
from metacog_pipeline.report.figures import INK, PALETTE, Drawn, Point, label_text

if TYPE_CHECKING:
    from matplotlib.patches import Rectangle

_ROW_IN = 0.28
_WIDE_MAP = 9  # columns from which the numbers in the cells must be small
# A plot, a letter of a name and a line of names, in points of print; near enough to keep names apart.
_PLOT_PT, _LETTER_PT, _LINE_PT, _ABOVE_PT = (255.0, 180.0), 5.2, 9.0, 4.0
_MOST_NAMED = 12  # more names than that run into each other


@figures.drawn_once
def plane(
    points: Sequence[tuple[str, str, Point, Point]],
    *,
    x: str,
    y: str,
    axes_at_zero: bool,
    log_x: bool = False,
) -> Drawn:
    """Return points in a plane, each named beside its mark where there are few.

    Parameters
    ----------
    points
        ``(name, kind, x, y)``: a kind has a colour and a marker.
    axes_at_zero
        Draw the lines x = 0 and y = 0, which make four quadrants.
    log_x
        Draw x, which is above 0, on a logarithmic scale.
    """
    kinds = list(dict.fromkeys(kind for _, kind, _, _ in points))
    figure, axes = figures.canvas(3.9 + 0.12 * len(kinds), measured=True)
    if axes_at_zero:
        axes.axhline(0, color=INK, linewidth=0.8, linestyle=(0, (1, 3)), zorder=1)
        axes.axvline(0, color=INK, linewidth=0.8, linestyle=(0, (1, 3)), zorder=1)
    if log_x:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    for (name, kind, a, b), above in zip(points, _heights(points, log_x), strict=True):
        place = kinds.index(kind)
        figures.mark(axes, a, b, figures.marker(place), figures.colour(place), 6)
        if len(points) <= _MOST_NAMED:
            axes.annotate(
                label_text(name),
                (a.value, b.value),
                xytext=(5, above),
                textcoords="offset points",
                fontsize=8,
                color=INK,
                parse_math=False,
            )
    axes.margins(0.12)
    marks = [figures.handle(figures.marker(i), figures.colour(i), kind) for i, kind in enumerate(kinds)]
    data = [(name, kind, *a.cells, *b.cells) for name, kind, a, b in points]
    columns = ("name", "kind", *figures.of_point(x), *figures.of_point(y))
    return figures.with_data(figures.finished(figure, axes, x, y, marks), columns, data)


def _heights(points: Sequence[tuple[str, str, Point, Point]], log_x: bool = False) -> list[float]:
    """Return how far above its mark each name stands, in points of print, so that no name stands on another."""
    if not points:
        return []
    xs = [math.log(a.value) if log_x else a.value for *_, a, _ in points]
    ys = [b.value for *_, b in points]
    wide, high = max(xs) - min(xs) or 1.0, max(ys) - min(ys) or 1.0
    placed: list[tuple[float, float, float]] = []
    heights = [0.0] * len(points)
    marks = [(_PLOT_PT[0] * x / wide, _PLOT_PT[1] * y / high) for x, y in zip(xs, ys, strict=True)]
    for i in sorted(range(len(points)), key=lambda each: -ys[each]):
        left, level = _PLOT_PT[0] * xs[i] / wide, _PLOT_PT[1] * ys[i] / high + _ABOVE_PT
        right = left + _LETTER_PT * len(label_text(points[i][0]))
        own = level

        def free(level: float, left: float = left, right: float = right) -> bool:
            return not any(
                left < end and start < right and abs(level - other) < _LINE_PT for start, end, other in placed
            ) and not any(left < x < right and -_LINE_PT < level - y + _ABOVE_PT < _LINE_PT for x, y in marks)

        # The nearest free level, below before above.
        level = next(each for step in itertools.count() for each in (own - step, own + step) if free(each))
        placed.append((left, right, level))
        heights[i] = _ABOVE_PT + level - own
    return heights


@figures.drawn_once
def heat_map(
    rows: Sequence[tuple[str, Sequence[float | None]]], *, columns: Sequence[str], name: str
) -> Drawn:
    """Return cells coloured by sign and size around 0, the value in each; an empty cell has no value."""
    figure, axes = figures.canvas(0.9 + _ROW_IN * max(1, len(rows)), measured=True)
    known = [abs(value) for _, values in rows for value in values if value is not None]
    largest = max(known, default=0.0) or 1.0
    for place, (_, values) in enumerate(rows):
        for column, value in enumerate(values):
            if value is None:
                continue
            shade = PALETTE[0] if value >= 0 else PALETTE[1]
            axes.add_patch(_cell(column, place, shade, 0.85 * abs(value) / largest))
            axes.text(
                column + 0.5,
                place + 0.5,
                f"{value:+.1f}",
                ha="center",
                va="center",
                fontsize=8 if len(columns) <= _WIDE_MAP else 5.5,
                color=INK,
                parse_math=False,
            )
    axes.set_xlim(0, max(1, len(columns)))
    axes.set_ylim(max(1, len(rows)), 0)
    axes.set_xticks([i + 0.5 for i in range(len(columns))], [label_text(each) for each in columns])
    axes.set_yticks(
        [i + 0.5 for i in range(len(rows))], [label_text(each) for each, _ in rows], parse_math=False
    )
    axes.tick_params(length=0, labelsize=9)
    for spine in axes.spines.values():
        spine.set_visible(False)
    data = [(row, *values) for row, values in rows]
    return figures.with_data(figures.svg(figure, name), ("row", *columns), data)


def _cell(column: int, row: int, colour: str, alpha: float) -> Rectangle:
    from matplotlib.patches import Rectangle

    return Rectangle((column + 0.02, row + 0.04), 0.96, 0.92, facecolor=colour, alpha=alpha, linewidth=0)
