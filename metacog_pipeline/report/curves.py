"""Reliability diagrams and type-2 ROC curves: one line per model, the diagonal for reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metacog_pipeline.report.figures import INK, MARKERS, PALETTE, canvas, handle, label, legend, svg

Line = Sequence[tuple[float, float]]
MOST_LINES = len(PALETTE)  # more cannot be told apart; the table beside the figure has them all


def reliability_line(use: Sequence[tuple[int, int, int]], bins: int = 10) -> list[tuple[float, float]]:
    """Return (mean confidence, share correct) of each of ``bins`` bins, (low, high], that was used.

    Parameters
    ----------
    use
        ``(percent, n, n_correct)``, percent 0..100.
    """
    found = []
    for place in range(bins):
        inside = [each for each in use if max(0, (each[0] * bins + 99) // 100 - 1) == place]
        if count := sum(n for _, n, _ in inside):
            mean = sum(percent * n for percent, n, _ in inside) / (100 * count)
            found.append((mean, sum(right for _, _, right in inside) / count))
    return found


def roc_line(use: Sequence[tuple[int, int, int]]) -> list[tuple[float, float]]:
    """Return the type-2 ROC, (share of wrong, share of correct answers) above each confidence; empty without both kinds."""
    right = sum(correct for _, _, correct in use)
    wrong = sum(n - correct for _, n, correct in use)
    if not (right and wrong):
        return []
    line, hits, alarms = [(0.0, 0.0)], 0, 0
    for _, n, correct in sorted(use, reverse=True):
        hits, alarms = hits + correct, alarms + n - correct
        line.append((alarms / wrong, hits / right))
    return line


def curves(lines: Mapping[str, Line], *, x: str, y: str, diagonal: str, marks: bool) -> str:
    """Return at most `MOST_LINES` lines in the unit square; ``marks`` puts a mark on every point."""
    shown = dict(list(lines.items())[:MOST_LINES])
    figure, axes = canvas(4.0 + 0.12 * (1 + len(shown)))
    axes.plot([0, 1], [0, 1], color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    handles = [handle("-", INK, diagonal, dashes=True)]
    for place, (name, line) in enumerate(shown.items()):
        marker = MARKERS[place % len(MARKERS)]
        axes.plot(
            [point[0] for point in line],
            [point[1] for point in line],
            color=PALETTE[place],
            marker=marker if marks else "",
            markersize=5,
            linewidth=1.6,
            linestyle=("-", (0, (5, 2)), (0, (1, 1.5)))[place % 3],  # told apart without colour too
        )
        handles.append(handle(marker, PALETTE[place], name))
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-0.02, 1.02)
    axes.set_aspect("equal")
    label(axes, x, y)
    legend(figure, handles)
    return svg(figure, f"{y} against {x}")
