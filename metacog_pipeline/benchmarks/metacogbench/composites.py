"""From tiers to composites, within one run and over several.

MS (monitoring) = (1a + 1b) / 2, SAF (holding back) = (2a + 2b) / 2, CDTC (carrying over) = 3, overall = their mean; all
0..1. 1b is 1 - ECE of the predictions. A tier that is missing leaves every composite that needs it undefined: the
other tier of the pair never stands in. Composites are formed in each run and then averaged; the spread over runs has
n - 1 in its divisor, as the published spreads have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from metacog_pipeline.benchmarks.metacogbench.items import TIERS
from metacog_pipeline.benchmarks.metacogbench.run_estimates import MEAN, RunEstimate, joined

TIER_MEASURES: Mapping[str, str] = {"1a": "t1a", "1b": "t1b", "2a": "t2a", "2b": "t2b", "3": "t3"}
#: What each composite is the mean of.
PARTS: Mapping[str, tuple[str, ...]] = {
    "ms": ("t1a", "t1b"),
    "saf": ("t2a", "t2b"),
    "cdtc": ("t3",),
    "overall": ("ms", "saf", "cdtc"),
}
COMPOSITES = tuple(PARTS)


def composites(tiers: Mapping[str, float | None]) -> dict[str, float | None]:
    """Return ``ms``, ``saf``, ``cdtc`` and ``overall`` from ``t1a``, ``t1b``, ``t2a``, ``t2b``, ``t3``, each 0..1.

    A part that is absent or None makes what rests on it None.
    """
    made: dict[str, float | None] = {name: tiers.get(name) for name in TIER_MEASURES.values()}
    for name, parts in PARTS.items():
        known = [value for part in parts if (value := made[part]) is not None]
        made[name] = sum(known) / len(known) if len(known) == len(parts) else None
    return {name: made[name] for name in COMPOSITES}


def composed(tiers: Mapping[str, RunEstimate]) -> dict[str, RunEstimate]:
    """Return the composites, formed run by run, of those tiers that are all there."""
    made = dict(tiers)
    for name, parts in PARTS.items():
        if all(part in made for part in parts):
            made[name] = mean_of_parts({part: made[part] for part in parts})
    return {name: made[name] for name in COMPOSITES if name in made}


def mean_of_parts(parts: Mapping[str, RunEstimate]) -> RunEstimate:
    """Return the mean of several measures, run by run."""
    return joined(parts, lambda *each: sum(each) / len(each), f"mean of tiers, {MEAN} in each")


def tiers_of(composite: str) -> tuple[str, ...]:
    """Return the tiers a composite rests on."""
    measures = {part for name in PARTS[composite] for part in PARTS.get(name, (name,))}
    return tuple(tier for tier in TIERS if TIER_MEASURES[tier] in measures)


def rounded(value: float, digits: int) -> float:
    """Return ``value`` rounded half away from zero, as scores are printed."""
    scale = 10**digits
    return math.copysign(math.floor(abs(value) * scale + 0.5 + 1e-9) / scale, value)
