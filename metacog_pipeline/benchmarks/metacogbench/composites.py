"""From tiers to composites, within one run and over several.

MS (monitoring) = (1a + 1b) / 2, SAF (holding back) = (2a + 2b) / 2, CDTC (carrying over) = 3, overall = their mean; all
0..1. 1b is 1 - ECE of the predictions. A tier that is missing leaves every composite that needs it undefined: the
other tier of the pair never stands in. Composites are formed in each run and then averaged; the spread over runs has
n - 1 in its divisor, as the published spreads have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

TIER_MEASURES: Mapping[str, str] = {"1a": "t1a", "1b": "t1b", "2a": "t2a", "2b": "t2b", "3": "t3"}
COMPOSITES = ("ms", "saf", "cdtc", "overall")
#: What each composite is the mean of.
PARTS: Mapping[str, tuple[str, ...]] = {
    "ms": ("t1a", "t1b"),
    "saf": ("t2a", "t2b"),
    "cdtc": ("t3",),
    "overall": ("ms", "saf", "cdtc"),
}


def composites(tiers: Mapping[str, float | None]) -> dict[str, float | None]:
    """Return ``ms``, ``saf``, ``cdtc`` and ``overall`` from ``t1a``, ``t1b``, ``t2a``, ``t2b``, ``t3``, each 0..1.

    A part that is absent or None makes what rests on it None.
    """
    made: dict[str, float | None] = {name: tiers.get(name) for name in TIER_MEASURES.values()}
    for name, parts in PARTS.items():
        values = [made[part] for part in parts]
        known = [value for value in values if value is not None]
        made[name] = sum(known) / len(known) if len(known) == len(values) else None
    return {name: made[name] for name in COMPOSITES}


def combined(parts: Mapping[str, Any], mean: Callable[[Sequence[Any]], Any]) -> dict[str, Any]:
    """Return the composites of anything that has a mean, such as resamples; those whose parts are there."""
    made = dict(parts)
    for name, needed in PARTS.items():
        if all(part in made for part in needed):
            made[name] = mean([made[part] for part in needed])
    return {name: made[name] for name in COMPOSITES if name in made}


def run_stats(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return mean and standard deviation (n - 1) over runs; None where there are no runs, or only one to spread."""
    if not values:
        return None, None
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, None
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def rounded(value: float, digits: int) -> float:
    """Return ``value`` rounded half away from zero, as scores are printed."""
    scale = 10**digits
    return math.copysign(math.floor(abs(value) * scale + 0.5 + 1e-9) / scale, value)
