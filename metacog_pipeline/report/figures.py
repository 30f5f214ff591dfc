"""Figures as SVG inside the page. Text and axes take the page's colour, so they can be read on light and dark paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metacog_pipeline.leaderboard.output import printable
from metacog_pipeline.report.drawing import DASHES, INK, REFERENCE, Plot

#: Distinguishable with any colour vision, on light and on dark paper.
PALETTE = ("#3b82c4", "#d1603d", "#2f9e77", "#b5578f", "#a3852a", "#7a6fd0", "#5f8a99", "#c2483f")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
MOST_LINES = len(PALETTE)  # more cannot be distinguished; the table of the figure has them all
MOST_ROWS = 40  # of a figure with a row per model; the table has all
_LONGEST_LABEL, _LONGEST_AXIS = 32, 46


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
    """Return a plot of ``y`` against ``x`` with the line y = x, named ``line``.

    ``points`` are ``(series, kind, x, y)``: a series has a colour, a kind a marker.
    """
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
    """Return one line per row, `MOST_ROWS` at most, with a mark for each of ``steps``, joined in that order.

    ``apart`` sets the steps of a row below each other, in rows, where their intervals would lie on one another; they
    are not joined then. ``label`` distinguishes figures of one page.
    """
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

    Parameters
    ----------
    apart
        Over how wide a range around a whole x the values of different series are spread.
    marks
        Put a mark on every point.
    spots
        Single points of a series, not on its line.
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
