"""Figures of scores: points in a plane, named next to their marks, and a heat map."""

from __future__ import annotations

from collections.abc import Sequence

from metacog_pipeline.leaderboard.output import printable
from metacog_pipeline.report import figures
from metacog_pipeline.report.drawing import Plot
from metacog_pipeline.report.figures import PALETTE, Point, label_text

_ROW_IN = 0.28
_WIDE_MAP, _WIDEST_MAP = 9, 14  # columns from which the numbers in the cells must be small, have no room
# A plot, a letter of a name and a line of names, in points of print; near enough to separate names.
_LETTERS = 50  # below a map, where each name is as wide as the widest, at full size
_PLOT_PT, _LETTER_PT, _LINE_PT, _ABOVE_PT = (255.0, 180.0), 5.2, 9.0, 4.0
_MOST_NAMED = 12  # more names than that run into each other


def plane(
    points: Sequence[tuple[str, str, Point, Point]],
    *,
    x: str,
    y: str,
    axes_at_zero: bool,
) -> str:
    """Return points in a plane, each named next to its mark where there are few.

    Parameters
    ----------
    points
        ``(name, kind, x, y)``: a kind has a colour and a marker.
    axes_at_zero
        Draw the lines x = 0 and y = 0, which make four quadrants.
    """
    kinds = list(dict.fromkeys(kind for _, kind, _, _ in points))
    plot = Plot(3.9 + 0.12 * len(kinds))
    plot.x.margin = plot.y.margin = 0.12
    if axes_at_zero:
        plot.zero(of_x=False)
        plot.zero(of_x=True)
    for _, kind, a, b in points:
        place = kinds.index(kind)
        figures.mark(plot, a, b, figures.marker(place), figures.colour(place), 6)
    named = points if len(points) <= _MOST_NAMED else ()
    for (name, _, a, b), above in zip(named, _heights(named), strict=True):
        plot.words(a.value, b.value, label_text(name), 8, moved=(5, above))
    for i, kind in enumerate(kinds):
        plot.entry(figures.marker(i), figures.colour(i), label_text(kind))
    return figures.finished(plot, x, y)


def _heights(points: Sequence[tuple[str, str, Point, Point]]) -> list[float]:
    """Return how far above its mark each name is, in points of print: below the names that are higher near it."""
    xs = [a.value for *_, a, _ in points]
    ys = [b.value for *_, b in points]
    wide, high = (max(each, default=0.0) - min(each, default=0.0) or 1.0 for each in (xs, ys))
    heights = [0.0] * len(points)
    placed: list[tuple[float, float, float]] = []  # start, end and level of a name
    for i in sorted(range(len(points)), key=lambda each: -ys[each]):
        left, mark = _PLOT_PT[0] * xs[i] / wide, _PLOT_PT[1] * ys[i] / high
        right = left + _LETTER_PT * len(label_text(points[i][0]))
        near = [level for start, end, level in placed if left < end and start < right]
        level = min([mark + _ABOVE_PT, *(each - _LINE_PT for each in near)])
        placed.append((left, right, level))
        heights[i] = level - mark
    return heights


def heat_map(rows: Sequence[tuple[str, Sequence[float | None]]], *, columns: Sequence[str], name: str) -> str:
    """Return cells coloured by sign and size around 0, the value in each that has room; an empty cell has no value."""
    plot = Plot(0.9 + _ROW_IN * max(1, len(rows)))
    known = [abs(value) for _, values in rows for value in values if value is not None]
    largest = max(known, default=0.0) or 1.0
    for place, (_, values) in enumerate(rows):
        for column, value in enumerate(values):
            if value is None:
                continue
            shade, alpha = PALETTE[0] if value >= 0 else PALETTE[1], 0.85 * abs(value) / largest
            plot.box((column + 0.02, place + 0.04), (column + 0.98, place + 0.96), shade, alpha)
            size = 8 if len(columns) <= _WIDE_MAP else 5.5
            if len(columns) > _WIDEST_MAP:
                continue  # the tables have the values
            plot.words(column + 0.5, place + 0.5, f"{value:+.1f}", size, centred=True)
    for axis, named in ((plot.x, columns), (plot.y, [each for each, _ in rows])):
        axis.bare, axis.size = True, 9
        axis.ticks = [(place + 0.5, label_text(each)) for place, each in enumerate(named)]
    letters = len(columns) * max((len(label_text(each)) + 1.5 for each in columns), default=0)
    plot.x.size = 9 * min(1, _LETTERS / max(1, letters))  # names of columns do not touch
    plot.x.low, plot.x.high = 0, max(1, len(columns))
    plot.y.low, plot.y.high = max(1, len(rows)), 0
    return plot.svg(printable(name))
