"""Scales of confidence of tables that are fitted or imported, and of replies: which ones numbers may be on."""

from __future__ import annotations

# No NumPy, which takes a tenth of a second: reading a study loads this.
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """The lowest and the highest confidence that can be stated."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:g}..{self.high:g}"

    def share(self, value: float) -> float | None:
        """Return the place of ``value`` from 0 (lowest) to 1 (highest); None outside."""
        return (value - self.low) / (self.high - self.low) if self.low <= value <= self.high else None


def two_scales(counted: Mapping[float, int], declared: bool = False) -> str:
    """Return a sentence where values are on two scales, as 0.85 among 85 and 90 is; '' where nothing speaks for it.

    counted: how often each value is there.
    declared: whether the scale was given: then a few may lie between 0 and 1, half a per cent can be meant.

    >>> two_scales({0.5: 9, 0.75: 9, 80: 9, 90: 9})[:38], two_scales({0.5: 9, 1: 3})
    ('18 values such as 0.5 lie between 0 an', '')
    """
    within = {value: n for value, n in counted.items() if n and 0 < value < 1}
    above = {value: n for value, n in counted.items() if n and value > 1}
    few, many = sum(within.values()), sum(above.values())
    total = sum(counted.values())
    whole = sum(n for value, n in above.items() if value == math.floor(value))
    large = min(few, many) >= max(2.0, 0.05 * total)
    advice = "put all on one" + ", or declare with --scale the one they are on" * (not (few and large))
    if few and many and not (declared and not large) and whole >= many * (0.9 if large else 1):
        low, high = (f"{next(iter(side)):g}" for side in (within, above))
        lie = f"{few} values such as {low} lie" if few > 1 else f"{low} lies"
        return f"{lie} between 0 and 1 and {many} such as {high} above: two scales seem to be mixed; {advice}"
    # Ratings from 1 on among numbers from 20 on, hardly any between: no one rates so on one scale.
    ratings = {value: n for value, n in counted.items() if n and 0 < value <= 7}
    larger = {value: n for value, n in counted.items() if n and value >= 20}
    rated, rest = sum(ratings.values()), sum(larger.values())
    between = total - rated - rest - counted.get(0.0, 0)
    if declared or min(len(ratings), len(larger)) < 3 or {*ratings} != {*range(1, len(ratings) + 1)}:
        return ""
    if min(rated, rest) < 0.2 * total or between > 0.2 * rated:
        return ""
    ends = [f"{sum(side.values())} values from {min(side):g} to {max(side):g}" for side in (ratings, larger)]
    return f"{' and '.join(ends)}: two scales seem to be mixed; {advice}"


#: Scales of confidence in common use; the last has whole numbers only.
USUAL_SCALES = (Scale(0, 1), Scale(0, 10), Scale(0, 100), Scale(1, 5))


def fitting_scales(low: float, high: float, whole: bool = True) -> list[str]:
    """Return the usual scales that values from ``low`` to ``high`` may be on; 1..5 has ``whole`` numbers only.

    >>> fitting_scales(12, 90), fitting_scales(0.2, 0.9)
    (['0..100'], ['0..1', '0..10', '0..100'])
    """
    scales = USUAL_SCALES if whole else USUAL_SCALES[:-1]
    return [str(scale) for scale in scales if scale.low <= low and high <= scale.high]


def are_shares(values: Collection[float]) -> bool:
    """Whether ``values`` of one source are shares: none above 1, some between 0 and 1.

    >>> are_shares([0.5, 1.0]), are_shares([0.0, 1.0]), are_shares([0.5, 60.0])
    (True, False, False)
    """
    return all(value <= 1 for value in values) and any(0 < value < 1 for value in values)
