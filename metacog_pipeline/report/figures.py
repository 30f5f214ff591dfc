"""Figures as SVG inside the page. Text and axes take the page's colour, so they can be read on light and dark paper."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metacog_pipeline.leaderboard.output import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Stands for the page's ink while drawing; no palette below holds it.
INK = "#010203"
#: Told apart by people with any colour vision, on light and on dark paper.
PALETTE = ("#3b82c4", "#d1603d", "#2f9e77", "#b5578f", "#a3852a", "#7a6fd0", "#5f8a99", "#c2483f")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_WIDTH_IN = 5.4
_LONGEST_LABEL = 32


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


def scatter(points: Sequence[tuple[str, str, Point, Point]], *, x: str, y: str, line: str) -> str:
    """Return a plot of ``y`` against ``x`` with the line y = x, named ``line``.

    Parameters
    ----------
    points
        ``(series, kind, x, y)``: a series has a colour, a kind a marker.
    """
    series = {
        name: PALETTE[i % len(PALETTE)] for i, name in enumerate(dict.fromkeys(each[0] for each in points))
    }
    kinds = {name: MARKERS[i % len(MARKERS)] for i, name in enumerate(sorted({each[1] for each in points}))}
    figure, axes = canvas(3.8 + 0.12 * (1 + len(series) + len(kinds)))  # room for the legend, two in a row
    ends = [end for *_, a, b in points for p in (a, b) for end in (p.value, p.low, p.high) if end is not None]
    low, high = min([0.0, *ends]), max([1.0, *ends])
    margin = 0.04 * (high - low)
    axes.plot([low, high], [low, high], color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    for name, kind, a, b in points:
        axes.errorbar(
            [a.value],
            [b.value],
            xerr=a.arms,
            yerr=b.arms,
            fmt=kinds[kind],
            color=series[name],
            markersize=7,
            linewidth=1.2,
        )
    axes.set_xlim(low - margin, high + margin)
    axes.set_ylim(low - margin, high + margin)
    axes.set_aspect("equal")
    label(axes, x, y)
    handles = [handle("-", INK, line, dashes=True)]
    handles += [handle("s", colour, name) for name, colour in series.items()]
    handles += [handle(marker, INK, name, hollow=True) for name, marker in kinds.items()]
    legend(figure, handles)
    return svg(figure, f"{y} against {x}")


def ladder(
    rows: Sequence[tuple[str, Mapping[str, Point]]], *, steps: Sequence[str], x: str, apart: float = 0.0
) -> str:
    """Return one line per row with a mark for each of ``steps``, joined in that order.

    ``apart`` sets the steps of a row below each other, in rows, where their intervals would lie on one another; they
    are not joined then.
    """
    figure, axes = canvas(1.2 + 0.42 * max(1, len(rows)))
    colours = {step: PALETTE[i % len(PALETTE)] for i, step in enumerate(steps)}
    markers = {step: MARKERS[i % len(MARKERS)] for i, step in enumerate(steps)}
    for place, (_, points) in enumerate(rows):
        levels = {step: place + apart * (i - (len(steps) - 1) / 2) for i, step in enumerate(steps)}
        there = [step for step in steps if step in points]
        if not apart:
            axes.plot(
                [points[step].value for step in there],
                [place] * len(there),
                color=INK,
                linewidth=0.6,
                zorder=1,
            )
        for step in steps:
            if step in points:
                axes.errorbar(
                    [points[step].value],
                    [levels[step]],
                    xerr=points[step].arms,
                    fmt=markers[step],
                    color=colours[step],
                    markersize=6,
                    linewidth=1.4,
                )
    axes.axvline(0, color=INK, linewidth=0.8, linestyle=(0, (1, 3)))
    axes.set_yticks(range(len(rows)), [label_text(name) for name, _ in rows], parse_math=False)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    label(axes, x, "")
    legend(figure, [handle(markers[step], colours[step], step) for step in steps])
    return svg(figure, x)


def canvas(height: float) -> tuple[Figure, Axes]:
    """Return an empty figure and its axes, as wide as all."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH_IN, height), layout="constrained")
    figure.patch.set_alpha(0)
    axes = figure.add_subplot()
    axes.patch.set_alpha(0)
    axes.tick_params(colors=INK, labelsize=10)
    for name, spine in axes.spines.items():
        spine.set_color(INK)
        spine.set_visible(name in ("left", "bottom"))
    return figure, axes


def label(axes: Axes, x: str, y: str) -> None:
    """Name both axes."""
    axes.set_xlabel(label_text(x), color=INK, fontsize=11, parse_math=False)
    axes.set_ylabel(label_text(y), color=INK, fontsize=11, parse_math=False)


def handle(marker: str, colour: str, name: str, *, hollow: bool = False, dashes: bool = False) -> object:
    """Return an entry of a legend."""
    from matplotlib.lines import Line2D

    return Line2D(
        [],
        [],
        color=colour,
        marker="" if dashes else marker,
        linestyle=(0, (4, 3)) if dashes else "none",
        markerfacecolor="none" if hollow else colour,
        markersize=7,
        label=label_text(name),
    )


def legend(figure: Figure, handles: Sequence[object]) -> None:
    """Put a legend below the plot."""
    made = figure.legend(
        handles=list(handles),
        loc="outside lower center",
        ncols=2,
        frameon=False,
        fontsize=10,
        labelcolor=INK,
    )
    for text in made.get_texts():
        text.set_parse_math(False)


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
        )  # the reader's fonts draw the text, not those measured with here
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    drawn = out.getvalue()
    drawn = drawn[drawn.index("<svg") :].replace(INK, "currentColor")
    drawn = re.sub(r"<metadata>.*?</metadata>", "", drawn, flags=re.DOTALL)
    # Names of groups repeat from figure to figure; only what is pointed at keeps its own.
    used = set(re.findall(r"#([\w-]+)", drawn))
    drawn = re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", drawn)
    opening = drawn[: drawn.index(">")]
    sized = re.sub(r' (width|height)="[^"]*"', "", opening)
    name = "".join(each for each in label if each not in '<>&"')
    return f'{sized} role="img" aria-label="{name}"{drawn[len(opening) :]}'


def label_text(text: str) -> str:
    """Return ``text`` as it fits beside a plot."""
    plain = printable(text.encode("utf-8", "replace").decode("utf-8"))
    return plain if len(plain) <= _LONGEST_LABEL else plain[: _LONGEST_LABEL - 1] + "…"
