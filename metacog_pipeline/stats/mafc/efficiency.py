"""Metacognitive efficiency of answers chosen among m alternatives, with intervals and the reasons where there is none.

Items of different numbers of alternatives are strata. An M-ratio is a number only where its denominator is one: with fewer
than five right or wrong answers, or a d' that may be 0 (`identifiability`), there is its interval and the reason.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats.estimate import NO_ITEMS, Estimate, unavailable
from metacog_pipeline.stats.identifiability import FEW_ERRORS, RATIO_UNSTABLE, gated, may_be_zero
from metacog_pipeline.stats.intervals import wilson_interval
from metacog_pipeline.stats.mafc import accuracy as type1
from metacog_pipeline.stats.mafc import fit, intervals
from metacog_pipeline.stats.mafc.table import table
from metacog_pipeline.stats.resampling import Z95

#: What is measured of choices.
MEASURES = ("d_mafc", "meta_d_mafc", "m_ratio_mafc", "eta_mafc", "auroc2_ideal")
NO_ALTERNATIVES = "no answers chosen among 2 to 10 alternatives"
NO_STRATUM = "right and wrong answers in no stratum together"
#: Resamples of clustered items. Of 2,000 an end of the interval varies by 1.5 % of its width with the seed, of 400 by
#: 3.5 %.
N_REFITTED = 2000


@dataclass(frozen=True, slots=True)
class Choices:
    """Answers of one group: ``right`` and ``wrong`` shape ``(S, K)`` by stratum and rising confidence, ``m`` ``(S,)``.

    ``draws`` are resampled tables where an item has several runs, shape ``(B, S, K, 2)``, wrong before right.
    """

    right: Floats
    wrong: Floats
    m: Ints
    draws: Floats | None = None

    @property
    def n(self) -> int:
        """The number of answers."""
        return int(self.right.sum() + self.wrong.sum())

    @property
    def method(self) -> str:
        """How the model is fitted, and to which strata."""
        return f"ml, m {', '.join(str(each) for each in self.m) or 'none'}"


def choices(
    level: Ints, correct: Ints, m: Ints, clusters: NDArray[np.generic], seed: int | None, n_levels: int,
    n_draws: int = N_REFITTED,
) -> Choices:  # fmt: skip
    """Return answers as counts: of each its confidence ``level`` 0 .. ``n_levels`` - 1, ``correct`` 0 or 1, ``m`` and item
    (``clusters``); ``seed``: of ``n_draws`` resamples, None: no item has several answers.

    >>> four = np.full(3, 4)
    >>> choices(np.array([0, 1, 1]), np.array([0, 1, 1]), four, np.arange(3), None, 2).right
    array([[0., 2.]])
    """
    strata, place = np.unique(m, return_inverse=True)
    cells = (place * n_levels + level) * 2 + correct
    shape = len(strata), n_levels, 2
    counts = np.bincount(cells, minlength=math.prod(shape)).reshape(shape).astype(float)
    draws = None
    if seed is not None and len(cells):
        patterns = resampling.patterns_of(clusters, cells, math.prod(shape))
        if patterns.n_items > 1:
            draws = resampling.patterns(patterns, n_draws, seed).reshape(-1, *shape)
    return Choices(counts[..., 1], counts[..., 0], strata, draws)


def efficiency(group: Choices) -> dict[str, Estimate]:
    """Return the measures `MEASURES` of one ``group``: d' and meta-d' in standard deviations, their ratio, eta, an area.

    >>> group = Choices(np.array([[10.0, 20, 40]]), np.array([[15.0, 10, 5]]), np.array([4]))
    >>> round(efficiency(group)["d_mafc"].value, 2)
    1.49
    """
    method = f"{group.method}, profile likelihood"
    if group.n == 0:
        why = NO_ITEMS if len(group.m) else NO_ALTERNATIVES
        return dict.fromkeys(MEASURES, unavailable(0, method, why))
    cell = intervals.Cell(group.right, group.wrong, group.m)
    found = cell.found
    few = fit.REASONS[FEW_ERRORS] if found.few_errors[0] else "ok"
    status = str(found.status[0])
    unfitted = fit.REASONS[status]
    without_fit = "ok" if status.startswith("boundary") else unfitted or "ok"  # what needs no finite meta-d'
    d = _sensitivity(group, found)
    against = fit.REASONS[cell.status] or few
    if against == "ok" and may_be_zero(d.low, d.high):
        against = RATIO_UNSTABLE
    ratio = _bounded(cell.m_ratio_interval(), group.n, method, against)
    if ratio.value is not None:
        ratio = replace(ratio, sem=_finite(float(found.se_m_ratio[0])))
    eta = intervals.eta(group.right, group.wrong, group.m)
    made = {
        "d_mafc": d,
        "meta_d_mafc": _bounded(cell.meta_d_interval(), group.n, method, unfitted or few),
        "m_ratio_mafc": ratio,
        "eta_mafc": _bounded(eta, group.n, "rating-matched ideal observer, MOVER", without_fit),
        "auroc2_ideal": _ideal(group, d, without_fit),
    }
    made = made if group.draws is None else _clustered(made, group, group.draws)
    d = made["d_mafc"]
    return {**made, "m_ratio_mafc": gated(made["m_ratio_mafc"], d.low, d.high)}


def _sensitivity(group: Choices, found: fit.Efficiency) -> Estimate:
    value, error, n = float(found.d[0]), float(found.se_d[0]), group.n
    method = f"{group.method}, {'Wilson' if len(group.m) == 1 else 'delta'}"
    if not math.isfinite(value):
        return unavailable(n, method, fit.REASONS[str(found.status[0])])
    if len(group.m) > 1:
        return Estimate(value, value - Z95 * error, value + Z95 * error, n, method, "ok", error)
    shares = np.array(wilson_interval(float(group.right.sum()) / n, n))
    low, high = type1.sensitivity(shares, int(group.m[0]))
    return Estimate(value, float(low), float(high), n, method, "ok", error)


def _bounded(around: intervals.Interval, n: int, method: str, reason: str) -> Estimate:
    """Return an estimate that has a value only with a finite interval and no reason against it."""
    low, high = _finite(around.low), _finite(around.high)
    if low is not None and high is not None:
        value = _finite(around.value) if reason == "ok" else None
        return Estimate(value, low, high, n, method, reason if value is None else "ok")
    why = "the interval is unbounded" if reason == "ok" else reason
    if low is not None or high is not None:
        why += f": at least {low:.3g}" if low is not None else f": at most {high:.3g}"
    return unavailable(n, method, why)


def _ideal(group: Choices, d: Estimate, reason: str) -> Estimate:
    """Return the AUROC2 of the ideal observer of ``d`` and of its limits."""
    method = "ideal observer of this accuracy and of its limits"
    weight = group.right.sum(axis=1) * group.wrong.sum(axis=1)
    if d.value is None or d.low is None or d.high is None:
        return unavailable(group.n, method, reason)
    if weight.sum() == 0:
        return unavailable(group.n, method, NO_STRATUM)
    areas = (table().auroc2(group.m, np.full(len(group.m), each)) for each in (d.value, d.low, d.high))
    value, low, high = (float((area * weight).sum() / weight.sum()) for area in areas)
    return Estimate(value, low, high, group.n, method)


def _clustered(made: dict[str, Estimate], group: Choices, draws: Floats) -> dict[str, Estimate]:
    """Return the values with percentile intervals of resampled items: runs of an item are not independent."""
    right, wrong = draws[..., 1], draws[..., 0]
    drawn = fit.fit(right, wrong, np.broadcast_to(group.m, right.shape[:2]))
    eta, ideal = _of_draws(right, wrong, group.m, drawn.d)
    resamples = f"bootstrap of {len(draws)} over items"
    values: dict[str, tuple[Floats, str, resampling.Kind]] = {
        "d_mafc": (drawn.d, group.method, "percentile"),
        "meta_d_mafc": (drawn.meta_d, group.method, "percentile"),
        "m_ratio_mafc": (drawn.m_ratio, group.method, "percentile"),
        "eta_mafc": (eta, "rating-matched ideal observer", "widened"),
        "auroc2_ideal": (ideal, "ideal observer of this accuracy", "widened"),
    }
    again = {}
    for name, (several, how, kind) in values.items():
        one, method = made[name], f"{how}, {resamples}"
        if one.value is None:
            again[name] = replace(one, low=None, high=None, method=method)
            continue
        ends = resampling.from_draws(one.value, several, one.n, method, kind=kind)
        again[name] = ends if ends.low is not None else unavailable(one.n, method, ends.status)
    return again


def _of_draws(right: Floats, wrong: Floats, m: Ints, d: Floats) -> tuple[Floats, Floats]:
    """Return eta and the area of the ideal observer of each resample ``(B, S, K)``; NaN where there is none."""
    weight = right.sum(axis=2) * wrong.sum(axis=2)
    known = np.isfinite(d)
    own = np.where(known, d, 1.0)
    area = table().auroc2(np.tile(m, len(own)), np.repeat(own, len(m))).reshape(weight.shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        ideal = np.where(known, (area * weight).sum(axis=1) / weight.sum(axis=1), np.nan)
        matched = intervals.ideal_auroc2(right, wrong, m, own) - 0.5
        eta = (intervals.auroc2(right, wrong) - 0.5) / np.where(known & (matched > 0), matched, np.nan)
    return eta, ideal


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
