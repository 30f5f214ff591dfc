"""Figures as SVG inside the page. Text and axes take the page's colour, so they can be read on light and dark paper."""

from __future__ import annotations

import functools
import io
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ParamSpec

from metacog_pipeline.files import sha256_hex
from metacog_pipeline.leaderboard.output import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

P = ParamSpec("P")
#: Stands for the page's ink while drawing; no palette below holds it.
INK = "#010203"
#: Told apart by people with any colour vision, on light and on dark paper.
PALETTE = ("#3b82c4", "#d1603d", "#2f9e77", "#b5578f", "#a3852a", "#7a6fd0", "#5f8a99", "#c2483f")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
MOST_LINES = len(PALETTE)  # more cannot be told apart; the table beside the figure has them all
MOST_ROWS = 40  # of a figure with a row per model; the table has all
_DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)))  # lines told apart without colour too
_REFERENCE = (0, (4, 3))
_WIDTH_IN = 5.4
_LONGEST_LABEL = 32
_MOST_KEPT = 200  # drawn figures in memory, some 20 kB each
_WIDE_SCRIPTS = 0x1100  # the first character of a script as wide as it is high


@dataclass(frozen=True, slots=True)
class Point:
    """One value with the ends of its 95 % interval, where it has one."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def arms(self) -> tuple[list[float], list[float]] | None:
        """Lengths below and above the value, as Matplotlib takes them."""
        if self.low is None or self.high is None:
            return None
        return [max(0.0, self.value - self.low)], [max(0.0, self.high - self.value)]

    @property
    def cells(self) -> tuple[float, float | None, float | None]:
        """The value and its ends, as a table has them."""
        return self.value, self.low, self.high


class Drawn(str):
    """A figure as SVG, with the numbers it is drawn from: ``columns`` name the values of each of ``rows``."""

    columns: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()


def with_data(svg: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Drawn:
    """Return a figure with its numbers."""
    made = Drawn(svg)
    made.columns, made.rows = tuple(columns), [tuple(row) for row in rows]
    return made


def drawn_once(draw: Callable[P, Drawn]) -> Callable[P, Drawn]:
    """Return ``draw`` so that the same values are drawn once: pages share figures, and printed values never change."""
    kept: dict[str, Drawn] = {}

    @functools.wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Drawn:
        key = repr((args, kwargs))
        if (found := kept.get(key)) is None:
            if len(kept) >= _MOST_KEPT:
                kept.clear()
            found = kept[key] = draw(*args, **kwargs)
        return found

    return drawn


def of_point(name: str) -> tuple[str, str, str]:
    """Return the names of the columns that hold a `Point`."""
    return name, f"{name}: low", f"{name}: high"


def colour(place: int) -> str:
    """Return the colour of series number ``place``."""
    return PALETTE[place % len(PALETTE)]


def marker(place: int) -> str:
    """Return the mark of series number ``place``."""
    return MARKERS[place % len(MARKERS)]


@drawn_once
def scatter(points: Sequence[tuple[str, str, Point, Point]], *, x: str, y: str, line: str) -> Drawn:
    """Return a plot of ``y`` against ``x`` with the line y = x, named ``line``.

    ``points`` are ``(series, kind, x, y)``: a series has a colour, a kind a marker.
    """
    series = {name: colour(i) for i, name in enumerate(dict.fromkeys(each[0] for each in points))}
    kinds = {name: marker(i) for i, name in enumerate(sorted({each[1] for each in points}))}
    figure, axes = canvas(3.8 + 0.12 * (1 + len(series) + len(kinds)))  # room for the legend, two in a row
    ends = [end for *_, a, b in points for p in (a, b) for end in (p.value, p.low, p.high) if end is not None]
    low, high = min([0.0, *ends]), max([1.0, *ends])
    margin = 0.04 * (high - low)
    axes.plot([low, high], [low, high], color=INK, linewidth=1, linestyle=_REFERENCE, zorder=1)
    for name, kind, a, b in points:
        mark(axes, a, b, kinds[kind], series[name], 7)
    axes.set_xlim(low - margin, high + margin)
    axes.set_ylim(low - margin, high + margin)
    axes.set_aspect("equal")
    handles = [handle("-", INK, line, dashes=True)]
    handles += [handle("s", shade, name) for name, shade in series.items()]
    handles += [handle(each, INK, name, hollow=True) for name, each in kinds.items()]
    data = [(name, kind, *a.cells, *b.cells) for name, kind, a, b in points]
    columns = ("series", "kind", *of_point(x), *of_point(y))
    return with_data(finished(figure, axes, x, y, handles), columns, data)


@drawn_once
def ladder(
    rows: Sequence[tuple[str, Mapping[str, Point]]],
    *,
    steps: Sequence[str],
    x: str,
    apart: float = 0.0,
    label: str | None = None,
) -> Drawn:
    """Return one line per row, `MOST_ROWS` at most, with a mark for each of ``steps``, joined in that order.

    ``apart`` sets the steps of a row below each other, in rows, where their intervals would lie on one another; they
    are not joined then. ``label`` tells figures of one page apart.
    """
    every, rows = rows, rows[:MOST_ROWS]
    figure, axes = canvas(1.2 + 0.42 * max(1, len(rows)))
    for place, (_, points) in enumerate(rows):
        there = [step for step in steps if step in points]
        if not apart:
            values = [points[step].value for step in there]
            axes.plot(values, [place] * len(there), color=INK, linewidth=0.6, zorder=1)
        for i, step in enumerate(steps):
            if step in points:
                level = place + apart * (i - (len(steps) - 1) / 2)
                mark(axes, points[step], Point(level), marker(i), colour(i), 6)
    axes.axvline(0, color=INK, linewidth=0.8, linestyle=(0, (1, 3)))
    name_rows(axes, [name for name, _ in rows])
    handles = [handle(marker(i), colour(i), step) for i, step in enumerate(steps)]
    data = [(name, step, *points[step].cells) for name, points in every for step in steps if step in points]
    return with_data(finished(figure, axes, x, "", handles, label or x), ("row", "step", *of_point(x)), data)


@drawn_once
def intervals(rows: Sequence[tuple[str, Point]], *, x: str, label: str | None = None) -> Drawn:
    """Return one mark with its interval per row, from top to bottom as given; ``label`` tells figures of one page apart."""
    figure, axes = canvas(0.9 + 0.28 * max(1, len(rows)))
    for place, (_, point) in enumerate(rows):
        mark(axes, point, Point(place), MARKERS[0], PALETTE[0], 5)
    name_rows(axes, [name for name, _ in rows])
    whole = [end for _, p in rows for end in (p.value, p.low, p.high) if end is not None]
    if whole and all(float(end).is_integer() for end in whole):
        first, last = int(min(whole)), int(max(whole))
        axes.set_xticks(range(first, last + 1, max(1, (last - first) // 8)))
    data = [(name, *point.cells) for name, point in rows]
    return with_data(finished(figure, axes, x, "", [], label or x), ("row", *of_point(x)), data)


@drawn_once
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
) -> Drawn:
    """Return at most `MOST_LINES` lines of shares over ``span``, and dashed the diagonal of that name, if it has one.

    Parameters
    ----------
    apart
        Over how wide a range around a whole x the values of different series stand beside each other.
    marks
        Put a mark on every point.
    spots
        Single points of a series, apart from its line.
    """
    told = dict(list(series.items())[:MOST_LINES])
    figure, axes = canvas((3.6 if apart else 4.0) + 0.12 * (1 + len(told)))
    handles = []
    if diagonal is not None:
        axes.plot(span, [0, 1], color=INK, linewidth=1, linestyle=_REFERENCE, zorder=1)
        handles.append(handle("-", INK, diagonal, dashes=True))
    for place, (name, points) in enumerate(told.items()):
        beside = apart * ((place + 0.5) / len(told) - 0.5)
        for at, point in points:
            if point.arms:
                axes.errorbar([at + beside], [point.value], yerr=point.arms, color=colour(place), linewidth=1)
        axes.plot(
            [at + beside for at, _ in points],
            [point.value for _, point in points],
            color=colour(place),
            marker=marker(place) if marks else "",
            markersize=5,
            linewidth=1.5,
            linestyle=_DASHES[place % len(_DASHES)],
        )
        for at, level in (spots or {}).get(name, ()):
            axes.plot([at], [level], marker(place), color=colour(place), markersize=8)
        handles.append(handle(marker(place), colour(place), name))
    axes.set_xlim(span[0] - apart - 0.02, span[1] + apart + 0.02)
    axes.set_ylim(-0.02, 1.02)
    if span == (0.0, 1.0):
        axes.set_aspect("equal")
    else:
        axes.set_xticks(range(int(span[0]), int(span[1]) + 1))
    data = [(name, at, *point.cells) for name, points in series.items() for at, point in points]
    data += [(f"{name}, mark", *spot, None, None) for name, own in (spots or {}).items() for spot in own]
    return with_data(finished(figure, axes, x, y, handles, label), ("series", x, *of_point(y)), data)


def mark(axes: Axes, a: Point, b: Point, shape: str, shade: str, size: float) -> None:
    """Draw one point with its intervals."""
    axes.errorbar(
        [a.value], [b.value], xerr=a.arms, yerr=b.arms, fmt=shape, color=shade, markersize=size, linewidth=1.3
    )


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Put a name beside each row, the first on top."""
    axes.set_yticks(range(len(names)), [label_text(name) for name in names], parse_math=False)
    axes.set_ylim(max(1, len(names)) - 0.5, -0.5)


def canvas(height: float, *, measured: bool = False) -> tuple[Figure, Axes]:
    """Return an empty figure and its axes, as wide as all.

    ``measured``: room is made for whatever is drawn, also beside the axes, which takes a second drawing; else `finished`
    makes room for the names of rows, axes and series from their lengths.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH_IN, height), layout="constrained" if measured else None)
    figure.patch.set_alpha(0)
    axes = figure.add_subplot()
    axes.patch.set_alpha(0)
    axes.tick_params(colors=INK, labelsize=10)
    for name, spine in axes.spines.items():
        spine.set_color(INK)
        spine.set_visible(name in ("left", "bottom"))
    return figure, axes


def handle(shape: str, shade: str, name: str, *, hollow: bool = False, dashes: bool = False) -> object:
    """Return an entry of a legend."""
    from matplotlib.lines import Line2D

    return Line2D(
        [],
        [],
        color=shade,
        marker="" if dashes else shape,
        linestyle=_REFERENCE if dashes else "none",
        markerfacecolor="none" if hollow else shade,
        markersize=7,
        label=label_text(name),
    )


def finished(
    figure: Figure, axes: Axes, x: str, y: str, handles: Sequence[object], name: str | None = None
) -> str:
    """Name the axes, put the legend below, and return the figure as SVG; ``name`` says what it shows."""
    axes.set_xlabel(label_text(x), color=INK, fontsize=11, parse_math=False)
    axes.set_ylabel(label_text(y), color=INK, fontsize=11, parse_math=False)
    measured = figure.get_layout_engine() is not None
    if handles:
        made = figure.legend(
            handles=list(handles),
            loc="outside lower center" if measured else "lower center",
            ncols=2,
            frameon=False,
            fontsize=10,
            labelcolor=INK,
            borderaxespad=0.2,
        )
        for text in made.get_texts():
            text.set_parse_math(False)
    if not measured:
        _make_room(figure, axes, rows_of_legend=-(-len(handles) // 2))
    return svg(figure, f"{y} against {x}" if name is None else name)


def _make_room(figure: Figure, axes: Axes, rows_of_legend: int) -> None:
    """Set the margins, in points of print: a letter is about 0.6 of its size wide, one of a wide script 1."""
    wide, high = 72 * figure.get_figwidth(), 72 * figure.get_figheight()
    labels = [each.get_text() for each in axes.get_yticklabels()]
    letters = max(
        (sum(0.6 if ord(each) < _WIDE_SCRIPTS else 1.0 for each in label) for label in labels), default=0
    )
    left = 10 + 10 * letters + (16 if axes.get_ylabel() else 0)
    below = 36 + (15 * rows_of_legend + 6 if rows_of_legend else 0)
    figure.subplots_adjust(
        left=min(left / wide, 0.6), right=1 - 12 / wide, top=1 - 6 / high, bottom=min(below / high, 0.7)
    )


def svg(figure: Figure, label: str) -> str:
    """Return the figure as SVG for the page; ``label`` says what it shows."""
    import matplotlib as mpl

    out = io.StringIO()
    # Text stays text: small files, and it can be searched.
    with (
        mpl.rc_context({"svg.fonttype": "none", "font.family": "sans-serif", "svg.hashsalt": label}),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter(
            "ignore", UserWarning
        )  # the reader's fonts draw the text, not those measured here
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    drawn = out.getvalue()
    drawn = drawn[drawn.index("<svg") :].replace(INK, "currentColor")
    drawn = re.sub(r"<metadata>.*?</metadata>", "", drawn, flags=re.DOTALL)
    # Names of groups repeat from figure to figure; only what is pointed at keeps its own.
    used = set(re.findall(r"(?:href=\"|url\()#([\w-]+)", drawn))
    own = sha256_hex(drawn)[:8]  # marks of the same shape would have one name in two figures
    drawn = re.sub(
        r' id="([^"]*)"', lambda found: f' id="{found[1]}-{own}"' if found[1] in used else "", drawn
    )
    drawn = re.sub(r"((?:href=\"|url\()#[\w-]+)", rf"\1-{own}", drawn)
    opening = drawn[: drawn.index(">")]
    sized = re.sub(r' (width|height)="[^"]*"', "", opening)
    name = "".join(each for each in printable(label) if each not in '<>&"')
    return f'{sized} role="img" aria-label="{name}"{drawn[len(opening) :]}'


def label_text(text: str) -> str:
    """Return ``text`` as it fits beside a plot."""
    plain = printable(text.encode("utf-8", "replace").decode("utf-8"))
    return plain if len(plain) <= _LONGEST_LABEL else plain[: _LONGEST_LABEL - 1] + "…"
