"""Metacognitive efficiency of answers that are right or wrong, among as many alternatives as each item had.

What is compared is how well confidence tells right from wrong answers with how well an ideal observer of the same
accuracy would (`stats.mafc`). Items of different numbers of alternatives are strata; items whose answers were not chosen
among alternatives take no part. An M-ratio is a number only where its denominator is one: with fewer than five right or
wrong answers, or an accuracy not clearly above chance, the row has its interval and the reason.

The same answers have the same numbers and intervals wherever they are asked for (`of_answers`): there is one stream of
resamples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.scoring.confidence_grid import CELLS, GRID, cells_of
from metacog_pipeline.scoring.harmonised_measures import OF_CHOICES
from metacog_pipeline.stats import resampling
from metacog_pipeline.stats.estimate import NO_ITEMS, Estimate, unavailable
from metacog_pipeline.stats.identifiability import FEW_ERRORS
from metacog_pipeline.stats.mafc import accuracy as type1
from metacog_pipeline.stats.mafc import companions, fit, intervals
from metacog_pipeline.stats.mafc.refit import refit
from metacog_pipeline.stats.mafc.table import table
from metacog_pipeline.stats.proportions import wilson_interval
from metacog_pipeline.stats.resampling.intervals import Z95

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
NO_ALTERNATIVES = "no answers chosen among 2 to 10 alternatives"
NEAR_CHANCE = "accuracy not clearly above chance"
#: Resamples of clustered items. Of 2,000 an end of the interval varies by 1.5 % of its width with the seed, of 400 by
#: 3.5 %; a fit costs some 40 µs.
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


def estimates(groups: Sequence[Choices]) -> list[dict[str, Estimate]]:
    """Return the measures `harmonised_measures.OF_CHOICES` of every group."""
    return [_of(group) for group in groups]


def of_answers(chosen: pl.DataFrame, seed: int) -> dict[str, Estimate]:
    """Return `harmonised_measures.OF_CHOICES` of harmonised answers that are all `harmonised_measures.CHOSEN`."""
    return estimates([_of_harmonised(chosen, seed)])[0]


def _of_harmonised(chosen: pl.DataFrame, seed: int) -> Choices:
    """Return harmonised answers as counts."""
    cells, clusters = cells_of(chosen), chosen["cluster"].to_numpy()
    table = np.bincount(cells, minlength=CELLS).reshape(GRID, 2).astype(float)
    rating = _ratings(table[:, 1], table[:, 0])
    several = chosen.height > chosen["cluster"].n_unique()
    return choices(
        rating[cells // 2],
        cells % 2,
        chosen["n_alternatives"].to_numpy().astype(np.int64),
        clusters,
        resampling.stream("calibration", seed, "items") if several else None,
        int(rating.max(initial=0)) + 1,
    )


def _ratings(right: Floats, wrong: Floats) -> Ints:
    """Return the rating of each confidence: all that are used, for eta takes their shares, or groups of a finer scale."""
    used = np.flatnonzero(right + wrong)
    if len(used) > fit.MOST_RATINGS:
        return fit.groups(right, wrong)
    return np.searchsorted(used, np.arange(len(right)), side="right").clip(1) - 1


def choices(
    level: Ints,
    correct: Ints,
    m: Ints,
    clusters: NDArray[np.generic],
    seed: int | None,
    n_levels: int,
    n_draws: int = N_REFITTED,
) -> Choices:
    """Return answers as counts.

    Parameters
    ----------
    level, correct, m, clusters
        One entry per answer: confidence 0 .. ``n_levels`` - 1, 0 or 1, its item's alternatives, its item.
    seed, n_draws
        Of the resamples where a cluster has several answers; None where there are to be none.
    """
    strata = np.unique(m)
    place = np.searchsorted(strata, m)
    cells = (place * n_levels + level) * 2 + correct
    size = len(strata) * n_levels * 2
    counts = np.bincount(cells, minlength=size).reshape(len(strata), n_levels, 2).astype(float)
    draws = None
    if seed is not None and len(cells):
        patterns = resampling.patterns_of(clusters, cells, size)
        if patterns.n_items > 1:
            draws = resampling.patterns(patterns, n_draws, seed).reshape(-1, *counts.shape)
    return Choices(counts[..., 1], counts[..., 0], strata, draws)


def _of(group: Choices) -> dict[str, Estimate]:
    n = int(group.right.sum() + group.wrong.sum())
    method = _method(group)
    if n == 0:
        return dict.fromkeys(
            OF_CHOICES, unavailable(0, method, NO_ALTERNATIVES if not len(group.m) else NO_ITEMS)
        )
    cell = intervals.Cell(group.right, group.wrong, group.m)
    found = cell.found
    status = str(found.status[0])
    reason = fit.REASONS[status] or "ok"
    d = _sensitivity(group, found, n, method)
    ratio = _ratio(cell, n, method)
    meta = _bounded(cell.meta_d_interval(), n, method, _few(found) if reason == "ok" else reason)
    made = {"d_mafc": d, "meta_d_mafc": meta, "m_ratio_mafc": ratio, **_without_fit(group, found, n, d)}
    return made if group.draws is None else _clustered(made, group, found)


def _method(group: Choices) -> str:
    named = ", ".join(str(each) for each in group.m) or "none"
    return f"ml, m {named}, profile likelihood"


def _sensitivity(group: Choices, found: fit.Efficiency, n: int, method: str) -> Estimate:
    value, error = float(found.d[0]), float(found.se_d[0])
    method = method.replace("profile likelihood", "Wilson" if len(group.m) == 1 else "delta")
    if not math.isfinite(value):
        return unavailable(n, method, fit.REASONS[str(found.status[0])])
    if len(group.m) > 1:
        return Estimate(value, value - Z95 * error, value + Z95 * error, n, method, "ok", error)
    low, high = wilson_interval(float(group.right.sum()) / n, n)
    ends = type1.sensitivity(np.array([low, high]), int(group.m[0]))
    return Estimate(value, float(ends[0]), float(ends[1]), n, method, "ok", error)


def _ratio(cell: intervals.Cell, n: int, method: str) -> Estimate:
    found, status = cell.found, cell.status
    around = cell.m_ratio_interval()
    reason = fit.REASONS[status] or _few(found)
    if reason == "ok" and found.weak_sensitivity[0]:
        reason = NEAR_CHANCE
    made = _bounded(around, n, method, reason)
    return made if made.value is None else replace(made, sem=_finite(float(found.se_m_ratio[0])))


def _few(found: fit.Efficiency) -> str:
    return fit.REASONS[FEW_ERRORS] if found.few_errors[0] else "ok"


def _bounded(around: companions.Interval, n: int, method: str, reason: str) -> Estimate:
    """Return an estimate that has a value only with a finite interval and no reason against it."""
    low, high = _finite(around.low), _finite(around.high)
    if low is not None and high is not None:
        value = _finite(around.value) if reason == "ok" else None
        return Estimate(value, low, high, n, method, reason if value is None else "ok")
    if low is None and high is None:
        return unavailable(n, method, "the interval is unbounded" if reason == "ok" else reason)
    side = f"at least {low:.3g}" if low is not None else f"at most {high:.3g}"
    lead = "the interval is unbounded" if reason == "ok" else reason
    return unavailable(n, method, f"{lead}: {side}")


def _without_fit(group: Choices, found: fit.Efficiency, n: int, sensitivity: Estimate) -> dict[str, Estimate]:
    reason = fit.REASONS[str(found.status[0])] or "ok"
    if str(found.status[0]).startswith("boundary"):
        reason = "ok"  # eta needs no finite meta-d'
    share = companions.eta(group.right, group.wrong, group.m)
    eta = _bounded(share, n, "rating-matched ideal observer, MOVER", reason)
    method = "ideal observer of this accuracy and of its limits"
    if sensitivity.value is None or sensitivity.low is None or sensitivity.high is None:
        return {"eta_mafc": eta, "auroc2_ideal": unavailable(n, method, reason)}
    weight = group.right.sum(axis=1) * group.wrong.sum(axis=1)
    if weight.sum() == 0:
        apart = "right and wrong answers in no stratum together"
        return {"eta_mafc": eta, "auroc2_ideal": unavailable(n, method, apart)}

    def area(d: float) -> float:
        return float((table().auroc2(group.m, np.full(len(group.m), d)) * weight).sum() / weight.sum())

    ends = area(sensitivity.value), area(sensitivity.low), area(sensitivity.high)
    return {"eta_mafc": eta, "auroc2_ideal": Estimate(*ends, n, method)}


def _clustered(made: dict[str, Estimate], group: Choices, found: fit.Efficiency) -> dict[str, Estimate]:
    """Return the values with percentile intervals of resampled items: runs of an item are not independent."""
    assert group.draws is not None
    right, wrong = group.draws[..., 1], group.draws[..., 0]
    drawn = refit(right, wrong, group.m, found, (group.right, group.wrong))
    eta, ideal = _of_draws(right, wrong, group.m, drawn.d)
    resamples = f"bootstrap of {len(group.draws)} over items"
    fitted = f"ml, m {', '.join(str(each) for each in group.m)}, {resamples}"
    values = {
        "d_mafc": (drawn.d, fitted),
        "meta_d_mafc": (drawn.meta_d, fitted),
        "m_ratio_mafc": (drawn.m_ratio, fitted),
        "eta_mafc": (eta, f"rating-matched ideal observer, {resamples}"),
        "auroc2_ideal": (ideal, f"ideal observer of this accuracy, {resamples}"),
    }
    again = dict(made)
    for name, (several, method) in values.items():
        one = made[name]
        if one.value is None:
            again[name] = replace(one, low=None, high=None, method=method)
            continue
        kind: resampling.Kind = "widened" if name in ("eta_mafc", "auroc2_ideal") else "percentile"
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
        matched = companions.ideal_auroc2(right, wrong, m, own) - 0.5
        eta = (companions.auroc2(right, wrong) - 0.5) / np.where(known & (matched > 0), matched, np.nan)
    return eta, ideal


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
