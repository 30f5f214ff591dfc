"""Figures of self-knowledge: type-2 ROC curves and densities of confidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from metacog_pipeline.report.drawing import Plot
from metacog_pipeline.report.figures import PALETTE, Drawn, Point, finished, lines, with_data

Pairs = list[tuple[float, float]]


@dataclass(slots=True)
class Curves:
    """What there is to draw of one model under one condition.

    ``roc`` and ``said`` are (false alarms, hits) of the graded yes and of the spoken one; ``correct`` and ``wrong``
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


def roc_figure(curves: Mapping[str, Curves]) -> Drawn | None:
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


def density_figure(own: Curves, *, name: str) -> Drawn | None:
    """Return the densities of confidence among right and wrong answers; None where there was no graded yes."""
    if not own.correct or not own.wrong:
        return None
    plot = Plot(2.9)
    named = ((own.correct, PALETTE[0], "right answers"), (own.wrong, PALETTE[1], "wrong answers"))
    for values, colour, words in named:
        width = values[1][0] - values[0][0] if len(values) > 1 else 1.0
        for x, height in values:
            plot.box((x, 0), (x + width, height), colour, 0.25)
        steps = [(end, height) for x, height in values for end in (x, x + width)]
        plot.line([(steps[0][0], 0), *steps, (steps[-1][0], 0)], colour, 1.6)
        plot.entry("s", colour, words)
    plot.x.low, plot.x.high, plot.y.low = 0, 1, 0
    label = "P(yes) / (P(yes) + P(no))"
    data = [(kind, *pair) for kind, pairs in (("right", own.correct), ("wrong", own.wrong)) for pair in pairs]
    return with_data(finished(plot, label, "density", name), ("answers", f"{label}, from", "density"), data)
