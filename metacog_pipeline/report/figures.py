"""Figures as SVG inside the page. Text and axes take the page's colour, so they can be read on light and dark paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metacog_pipeline.leaderboard.output import printable
from metacog_pipeline.report.drawing import DASHES, INK, REFERENCE, Plot

#: Distinguishable with any colour vision, on light and on dark paper.
PALETTE = ("#3b82c4", "#d1603d", "#2f9e77", "#b5578f", "#a3852a", "#7a6fd0", "#5f8a99", "#c2483f")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
# more cannot be distinguished; the table of the figure has them all
MOST_LINES = len(PALETTE)
# of a figure with a row per model; the table has all
MOST_ROWS = 40
_LONGEST_LABEL, _LONGEST_AXIS = 32, 46
_ROW_IN = 0.28
# columns from which the numbers in the cells must be small, have no room
_WIDE_MAP, _WIDEST_MAP = 9, 14
# A plot, a letter of a name and a line of names, in points of print; near enough to separate names.
# below a map, where each name is as wide as the widest, at full size
_LETTERS = 50
_PLOT_PT, _LETTER_PT, _LINE_PT, _ABOVE_PT = (255.0, 180.0), 5.2, 9.0, 4.0
# more names than that run into each other
_MOST_NAMED = 12


@dataclass(frozen=True, slots=True)
class Point:
    """One value with the ends of its 95 % interval, where it has one; ``few``: too few answers for it, drawn hollow."""

    value: float
    low: float | None = None
    high: float | None = None
    few: bool = False

    @property
    def ends(self) -> tuple[float, float] | None:
        """Both ends of the interval, the value between them; None where there is none."""
        if self.low is None or self.high is None:
            return None
        return min(self.low, self.value), max(self.high, self.value)


def colour(place: int) -> str:
    """Return the colour of series number ``place``."""
    return PALETTE[place % len(PALETTE)]


def marker(place: int) -> str:
    """Return the mark of series number ``place``."""
    return MARKERS[place % len(MARKERS)]


def scatter(points: Sequence[tuple[str, str, Point, Point]], *, x: str, y: str, line: str) -> str:
    """Return points ``(series, kind, x, y)`` and the line y = x, named ``line``: a series has a colour, a kind a marker."""
    series = {name: colour(i) for i, name in enumerate(dict.fromkeys(each[0] for each in points))}
    kinds = {name: marker(i) for i, name in enumerate(sorted({each[1] for each in points}))}
    # room for the legend, two in a row
    plot = Plot(3.8 + 0.12 * (1 + len(series) + len(kinds)), square=True)
    ends = [end for *_, a, b in points for p in (a, b) for end in (p.value, p.low, p.high) if end is not None]
    low, high = min([0.0, *ends]), max([1.0, *ends])
    margin = 0.04 * (high - low)
    plot.line([(low, low), (high, high)], dash=REFERENCE)
    for name, kind, a, b in points:
        mark(plot, a, b, kinds[kind], series[name], 7)
    for axis in (plot.x, plot.y):
        axis.low, axis.high = low - margin, high + margin
    plot.entry("-", INK, label_text(line))
    for name, shade in series.items():
        plot.entry("s", shade, label_text(name))
    for name, each in kinds.items():
        plot.entry(each, INK, label_text(name), hollow=True)
    return finished(plot, x, y)


def ladder(
    rows: Sequence[tuple[str, Mapping[str, Point]]],
    *,
    steps: Sequence[str],
    x: str,
    apart: float = 0.0,
    label: str | None = None,
) -> str:
    """Return one line per row, `MOST_ROWS` at most, with a mark for each of ``steps``, joined in that order."""
    # ``apart`` sets the steps of a row below each other, in rows, where their intervals would lie on one another.
    rows = rows[:MOST_ROWS]
    plot = Plot(1.2 + 0.42 * max(1, len(rows)))
    plot.zero(of_x=True)
    for place, (_, points) in enumerate(rows):
        there = [step for step in steps if step in points]
        if not apart:
            plot.line([(points[step].value, place) for step in there], width=0.6)
        for i, step in enumerate(steps):
            if step in points:
                level = place + apart * (i - (len(steps) - 1) / 2)
                mark(plot, points[step], Point(level), marker(i), colour(i), 6)
    name_rows(plot, [name for name, _ in rows])
    for i, step in enumerate(steps):
        plot.entry(marker(i), colour(i), label_text(step))
    return finished(plot, x, "", label or x)


def intervals(rows: Sequence[tuple[str, Point]], *, x: str, label: str | None = None) -> str:
    """Return one mark with its interval per row, from top to bottom; ``label`` distinguishes figures of one page."""
    plot = Plot(0.9 + 0.28 * max(1, len(rows)))
    for place, (_, point) in enumerate(rows):
        mark(plot, point, Point(place), MARKERS[0], PALETTE[0], 5)
    name_rows(plot, [name for name, _ in rows])
    whole = [end for _, p in rows for end in (p.value, p.low, p.high) if end is not None]
    if whole and all(float(end).is_integer() for end in whole):
        first, last = int(min(whole)), int(max(whole))
        plot.x.ticks = [(at, str(at)) for at in range(first, last + 1, max(1, (last - first) // 8))]
    return finished(plot, x, "", label or x)


def lines(
    series: Mapping[str, Sequence[tuple[float, Point]]],
    *,
    x: str,
    y: str,
    diagonal: str | None,
    span: tuple[float, float] = (0.0, 1.0),
    apart: float = 0.0,
    marks: bool = True,
    spots: Mapping[str, Sequence[tuple[float, float]]] | None = None,
    label: str | None = None,
) -> str:
    """Return at most `MOST_LINES` lines of shares over ``span``, and dashed the diagonal of that name, if it has one.

    Values of different series at one x are spread over ``apart``; ``spots`` are points of a series beside its line.
    """
    told = dict(list(series.items())[:MOST_LINES])
    whole = span == (0.0, 1.0)
    plot = Plot((3.6 if apart else 4.0) + 0.12 * (1 + len(told)), square=whole)
    if diagonal is not None:
        plot.line([(span[0], 0), (span[1], 1)], dash=REFERENCE)
        plot.entry("-", INK, label_text(diagonal))
    for place, (name, points) in enumerate(told.items()):
        beside, shade = apart * ((place + 0.5) / len(told) - 0.5), colour(place)
        for at, point in points:
            for ends in [point.ends] if point.ends else []:
                plot.line([(at + beside, each) for each in ends], shade)
            if marks:
                plot.mark(at + beside, point.value, marker(place), shade, 5)
        plot.line(
            [(at + beside, point.value) for at, point in points], shade, 1.5, DASHES[place % len(DASHES)]
        )
        for at, level in (spots or {}).get(name, ()):
            plot.mark(at, level, marker(place), shade, 8)
        plot.entry(marker(place), shade, label_text(name))
    plot.x.low, plot.x.high = span[0] - apart - 0.02, span[1] + apart + 0.02
    plot.y.low, plot.y.high = -0.02, 1.02
    if not whole:
        plot.x.ticks = [(at, str(at)) for at in range(int(span[0]), int(span[1]) + 1)]
    return finished(plot, x, y, label)


def mark(plot: Plot, a: Point, b: Point, shape: str, shade: str, size: float) -> None:
    """Draw one point with its intervals."""
    if a.ends:
        plot.line([(end, b.value) for end in a.ends], shade, 1.3)
    if b.ends:
        plot.line([(a.value, end) for end in b.ends], shade, 1.3)
    plot.mark(a.value, b.value, shape, shade, size, hollow=a.few or b.few)


def name_rows(plot: Plot, names: Sequence[str]) -> None:
    """Put a name next to each row, the first on top."""
    plot.y.ticks = [(place, label_text(name)) for place, name in enumerate(names)]
    plot.y.low, plot.y.high = max(1, len(names)) - 0.5, -0.5


def finished(plot: Plot, x: str, y: str, name: str | None = None) -> str:
    """Name the axes and return the figure as SVG; ``name`` says what it shows."""
    plot.x.label, plot.y.label = label_text(x, _LONGEST_AXIS), label_text(y)
    return plot.svg(printable(f"{y} against {x}" if name is None else name))


def label_text(text: str, longest: int = _LONGEST_LABEL) -> str:
    """Return ``text`` as it fits next to a plot."""
    plain = printable(text.encode("utf-8", "replace").decode("utf-8"))
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"


# --- points with names, and a heat map --------------------------------------------------------------------------------
def plane(points: Sequence[tuple[str, str, Point, Point]], *, x: str, y: str, axes_at_zero: bool) -> str:
    """Return points ``(name, kind, x, y)`` in a plane, each named next to its mark where there are few."""
    kinds = list(dict.fromkeys(kind for _, kind, _, _ in points))
    plot = Plot(3.9 + 0.12 * len(kinds))
    plot.x.margin = plot.y.margin = 0.12
    if axes_at_zero:
        plot.zero(of_x=False)
        plot.zero(of_x=True)
    for _, kind, a, b in points:
        place = kinds.index(kind)
        mark(plot, a, b, marker(place), colour(place), 6)
    named = points if len(points) <= _MOST_NAMED else ()
    for (name, _, a, b), above in zip(named, _heights(named), strict=True):
        plot.words(a.value, b.value, label_text(name), 8, moved=(5, above))
    for i, kind in enumerate(kinds):
        plot.entry(marker(i), colour(i), label_text(kind))
    return finished(plot, x, y)


def _heights(points: Sequence[tuple[str, str, Point, Point]]) -> list[float]:
    """Return how far above its mark each name is, in points of print: below the names that are higher near it."""
    xs = [a.value for *_, a, _ in points]
    ys = [b.value for *_, b in points]
    wide, high = (max(each, default=0.0) - min(each, default=0.0) or 1.0 for each in (xs, ys))
    heights = [0.0] * len(points)
    # start, end and level of a name
    placed: list[tuple[float, float, float]] = []
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
                # the tables have the values
                continue
            plot.words(column + 0.5, place + 0.5, f"{value:+.1f}", size, centred=True)
    for axis, named in ((plot.x, columns), (plot.y, [each for each, _ in rows])):
        axis.bare, axis.size = True, 9
        axis.ticks = [(place + 0.5, label_text(each)) for place, each in enumerate(named)]
    letters = len(columns) * max((len(label_text(each)) + 1.5 for each in columns), default=0)
    # names of columns do not touch
    plot.x.size = 9 * min(1, _LETTERS / max(1, letters))
    plot.x.low, plot.x.high = 0, max(1, len(columns))
    plot.y.low, plot.y.high = max(1, len(rows)), 0
    return plot.svg(printable(name))
