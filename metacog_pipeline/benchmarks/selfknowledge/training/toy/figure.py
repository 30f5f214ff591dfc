"""Before and after in one picture: certainty of people answered rightly and wrongly, and the type-2 ROC."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from metacog_pipeline.benchmarks.selfknowledge.training.figures import D
from metacog_pipeline.benchmarks.selfknowledge.training.toy.asking import AUROC, Answers, measured
from metacog_pipeline.files import replacing
from metacog_pipeline.report.figures import PALETTE

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

BINS = 30
NAMES = ("before_after.svg", "before_after.png")
_RIGHT, _WRONG = PALETTE[2], PALETTE[1]
_BEFORE, _AFTER = PALETTE[6], PALETTE[0]


def draw(folder: Path, before: Answers, after: Answers, curves: pl.DataFrame) -> tuple[Path, ...]:
    """Write the picture as SVG and PNG into ``folder`` and return the paths.

    Four panels: densities of the certainty of yes before and after, the type-2 ROC of both, and d'type2 of
    held-out people over the run.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 3.4), layout="constrained", facecolor="white")
    panels = figure.subplots(1, 4)
    for axes, answers, title in ((panels[0], before, "before"), (panels[1], after, "after")):
        _densities(axes, answers, title)
    _roc(panels[2], before, after)
    _curve(panels[3], curves)
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
    return tuple(_write(figure, folder / name) for name in NAMES)


def _densities(axes: Axes, answers: Answers, title: str) -> None:
    d = measured(answers)[D].value
    edges = np.linspace(0, 1, BINS + 1).tolist()
    for name, chosen, colour in (("right", answers.correct, _RIGHT), ("wrong", ~answers.correct, _WRONG)):
        if chosen.any():
            axes.hist(answers.certainty[chosen], edges, density=True, color=colour, alpha=0.6, label=name)
    axes.axvline(0.5, color="0.4", linewidth=0.8, linestyle=(0, (4, 3)))
    axes.set(
        title=f"{title}: d′ undefined" if d is None else f"{title}: d′ = {d:.2f}",
        xlabel="P(yes) / (P(yes) + P(no))",
        ylabel="density",
        xlim=(0, 1),
    )
    axes.legend(frameon=False, title="direct answer")


def _roc(axes: Axes, before: Answers, after: Answers) -> None:
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, linestyle=(0, (4, 3)))
    for name, answers, colour in (("before", before, _BEFORE), ("after", after, _AFTER)):
        area = measured(answers)[AUROC].value
        shown = name if area is None else f"{name}: {area:.2f}"
        axes.plot(*roc(answers), color=colour, linewidth=1.8, label=shown)
    axes.set(
        title="type-2 ROC",
        xlabel="yes though wrong",
        ylabel="yes and right",
        xlim=(0, 1),
        ylim=(0, 1),
        aspect="equal",
    )
    axes.legend(frameon=False, title="area", loc="lower right")


def _curve(axes: Axes, curves: pl.DataFrame) -> None:
    held = curves.drop_nulls("held_out_d_type2")
    updates = held["updates"].to_list()
    axes.plot(updates, held["held_out_d_type2"].to_list(), color=_AFTER, linewidth=1.8, label="d′, held out")
    axes.plot(updates, held["held_out_accuracy"].to_list(), color=_RIGHT, linewidth=1.8, label="accuracy")
    axes.set(title="training", xlabel="generations", xlim=(0, None))
    axes.legend(frameon=False)


def roc(answers: Answers) -> tuple[list[float], list[float]]:
    """Return shares of wrong and of right answers above each certainty, from none to all."""
    order = np.argsort(-answers.certainty, kind="stable")
    ends = np.append(np.diff(answers.certainty[order]) != 0, True)
    shares = []
    for chosen in (~answers.correct, answers.correct):
        above = np.cumsum(chosen[order])[ends]
        shares.append([0.0, *(above / max(1, int(chosen.sum()))).tolist()])
    return shares[0], shares[1]


def _write(figure: object, path: Path) -> Path:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    assert isinstance(figure, Figure)
    with replacing(path) as temporary, mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": path.name}):
        kind = path.suffix.removeprefix(".")
        figure.savefig(temporary, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
    return path
