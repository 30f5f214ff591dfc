"""How often each stated confidence is right: one line per model over the levels of the scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metacog_pipeline.report.figures import INK, MARKERS, PALETTE, Point, canvas, handle, label, legend, svg

MOST_LINES = len(PALETTE)  # more cannot be told apart; the table beside the figure has them all
_TOP = 5
_APART = 0.28  # how far around its level the models of one level stand beside each other


def levels(lines: Mapping[str, Sequence[tuple[int, Point]]], *, x: str, y: str, line: str) -> str:
    """Return at most `MOST_LINES` lines over the levels 1..5, each value with its interval; dashed: (level - 1) / 4."""
    shown = dict(list(lines.items())[:MOST_LINES])
    figure, axes = canvas(3.6 + 0.12 * (1 + len(shown)))
    axes.plot([1, _TOP], [0, 1], color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    handles = [handle("-", INK, line, dashes=True)]
    for place, (name, points) in enumerate(shown.items()):
        beside = _APART * ((place + 0.5) / len(shown) - 0.5)
        marker = MARKERS[place % len(MARKERS)]
        for level, point in points:
            axes.errorbar([level + beside], [point.value], yerr=point.arms, color=PALETTE[place], linewidth=1)
        axes.plot(
            [level + beside for level, _ in points],
            [point.value for _, point in points],
            color=PALETTE[place],
            marker=marker,
            markersize=5,
            linewidth=1.4,
            linestyle=("-", (0, (5, 2)), (0, (1, 1.5)))[place % 3],  # told apart without colour too
        )
        handles.append(handle(marker, PALETTE[place], name))
    axes.set_xlim(0.7, _TOP + 0.3)
    axes.set_xticks(range(1, _TOP + 1))
    axes.set_ylim(-0.02, 1.02)
    label(axes, x, y)
    legend(figure, handles)
    return svg(figure, f"{y} against {x}")
