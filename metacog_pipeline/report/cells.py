"""Values of the leaderboard as cells of a table and points of a figure, alike in every part of the page."""

from __future__ import annotations

from collections.abc import Sequence

from metacog_pipeline.leaderboard.output import Stacked, fixed
from metacog_pipeline.report.figures import Point


def number(value: object) -> float | None:
    """Return ``value`` where it is a number, else None."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def shown(value: object, digits: int = 3) -> object:
    """Return a number with ``digits`` decimals, anything else as it is."""
    return Stacked(fixed(value, digits)) if isinstance(value, float) else value


def interval(value: object, low: object, high: object) -> object:
    """Return a number with its interval below it, where it has one; anything else as it is."""
    if not (isinstance(value, float) and isinstance(low, float) and isinstance(high, float)):
        return shown(value)
    return Stacked(f"{fixed(value, 3)}\n{fixed(low, 3)} to {fixed(high, 3)}")


def interval_of(ends: Sequence[object] | None) -> object:
    """Return `interval` of (value, low, high, …); None where there is no value."""
    return None if ends is None or not isinstance(ends[0], float) else interval(*ends[:3])


def point_of(ends: Sequence[object] | None) -> Point | None:
    """Return (value, low, high, …) as a point of a figure; None where there is no value."""
    value = None if ends is None else number(ends[0])
    return None if ends is None or value is None else Point(value, number(ends[1]), number(ends[2]))


def grid(figures: Sequence[str]) -> str:
    """Return figures side by side where there is room; nothing but the frame without any."""
    return f'<div class="figures">{"".join(figures)}</div>'
