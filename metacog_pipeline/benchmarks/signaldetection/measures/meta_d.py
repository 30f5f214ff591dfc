"""meta-d′ of groups by maximum likelihood, with intervals from resampled items.

The headline stands on counts with 1/(2 K) added to each of the 4 K counts, in every group alike: small groups with empty
counts then have an estimate, and d′ and c of the fit are those of the log-linear correction. What the padding alone
would decide is not shown: groups with one response, and those whose counts as they are say nothing of meta-d′
(`stats.identifiability`), have a status instead. All groups are fitted in one batch, all resamples of a group in another.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.signaldetection.grid import Counts, Grid, Totals
from metacog_pipeline.benchmarks.signaldetection.measures.type1 import ONE_RESPONSE, percentile
from metacog_pipeline.stats import counts as stats_counts
from metacog_pipeline.stats import identifiability, resampling
from metacog_pipeline.stats.estimate import NO_ITEMS, OFTEN_UNDEFINED, Estimate, unavailable
from metacog_pipeline.stats.identifiability import gated
from metacog_pipeline.stats.metad import REASONS, Conditional, MetaD, conditional_fits, fit_metad
from metacog_pipeline.stats.proportions import sem_interval

Floats = NDArray[np.float64]
Untold = tuple[str | None, str | None]

META_D = ("meta_d", "m_ratio", "m_diff")
LOG_M_RATIO = "log_m_ratio"
SIDES = ("meta_d_rs1", "meta_d_rs2")
META_D_MEASURES = (*META_D, LOG_M_RATIO, *SIDES)
METHOD = "ml on counts + 1/(2K), item bootstrap"
METHOD_SIDES = "ml on counts + 1/(2K), 1.96 sd of an item bootstrap"
NOT_POSITIVE = "M-ratio not above 0: no logarithm"
LOW_NOT_POSITIVE = "the interval of M-ratio reaches 0: its logarithm has no lower end"
# Either response alone is a fit of its own, three times the work for two secondary measures: they get fewer resamples.
N_BOOT_SIDES = 200
_NOTHING_TOLD = (identifiability.ALL_CORRECT, identifiability.ALL_WRONG, identifiability.UNIDENTIFIED)
_BATCH = 20_000  # resamples fitted at once: bounds memory
_REMEMBERED = 2048  # groups, some 30 kB each: a run of 600 models pools what it has just fitted
_LAST: dict[tuple[int, bytes], dict[str, Floats]] = {}
_MOST_UNTOLD = 4096
_UNTOLD: dict[tuple[Grid, bytes], Untold] = {}  # measures, posteriors and pairs ask for the same groups


def no_confidence(counts: Counts | Totals) -> str | None:
    """Say why the confidence of a group tells nothing about being right, or None where it may."""
    return untold([counts])[0][0]


def no_meta_d(counts: Counts | Totals) -> str | None:
    """Say why the counts of a group tell nothing about meta-d′, or None where they do: decided without the padding."""
    return untold([counts])[0][1]


def untold(groups: Sequence[Counts | Totals]) -> list[Untold]:
    """Return `no_confidence` and `no_meta_d` of every group; those not seen before are looked at together."""
    keys = [(each.grid, each.totals.tobytes()) for each in groups]
    if any(key not in _UNTOLD for key in keys):
        if len(_UNTOLD) > _MOST_UNTOLD:
            _UNTOLD.clear()
        new = {key: each for key, each in zip(keys, groups, strict=True) if key not in _UNTOLD}
        totals = np.array([each.totals for each in new.values()])
        _UNTOLD.update(zip(new, _untold(stats_counts.Counts(*groups[0].grid.rated(totals))), strict=True))
    return [_UNTOLD[key] for key in keys]


def _untold(table: stats_counts.Counts) -> Iterator[Untold]:
    """Yield why the confidence of each cell tells nothing about being right, and its counts nothing about meta-d′."""
    right, wrong = table.by_confidence
    statuses = identifiability.statuses(right[:, None], wrong[:, None]).tolist()
    outcomes = np.stack([table.hits, table.misses, table.false_alarms, table.correct_rejections], axis=1)
    for own, status, reason in zip(
        outcomes.tolist(), statuses, identifiability.reasons_of(table), strict=True
    ):
        why = _no_confidence(own, status)
        yield why, why or reason or None


def _no_confidence(outcomes: Sequence[float], status: str) -> str | None:
    hits, misses, false_alarms, rejections = outcomes
    if hits + misses + false_alarms + rejections == 0:
        return NO_ITEMS
    if hits + misses == 0 or false_alarms + rejections == 0:
        return "no rated responses to one stimulus"
    if hits + false_alarms == 0 or misses + rejections == 0:
        return ONE_RESPONSE
    return identifiability.REASONS[status] if status in _NOTHING_TOLD else None


def meta_d_estimates(groups: Sequence[Counts]) -> list[dict[str, Estimate]]:
    """Return meta-d′, M-ratio, M-diff, log M-ratio and both response-conditional meta-d′ of every group."""
    why = [each for _, each in untold(groups)]
    told = [counts for counts, reason in zip(groups, why, strict=True) if reason is None]
    fitted = iter(_fitted(told) if told else ())
    return [
        next(fitted)
        if reason is None
        else {name: unavailable(counts.n_rated, METHOD, reason) for name in META_D_MEASURES}
        for counts, reason in zip(groups, why, strict=True)
    ]


def _fitted(groups: Sequence[Counts]) -> list[dict[str, Estimate]]:
    point = _fit(np.array([counts.totals for counts in groups]), groups[0].grid, sides=True)
    found = []
    for row, counts in enumerate(groups):
        drawn = _resampled(counts)
        own = {name: _estimate(point, name, row, drawn[name], counts.n_rated) for name in (*META_D, *SIDES)}
        d = drawn["meta_d"] - drawn["m_diff"]
        own["m_ratio"] = gated(own["m_ratio"], *resampling.interval(d[np.isfinite(d)]))
        own[LOG_M_RATIO] = _logarithm(own["m_ratio"])
        found.append({name: own[name] for name in META_D_MEASURES})
    return found


def point_meta_d(groups: Sequence[Counts | Totals]) -> tuple[dict[str, Floats], list[str | None]]:
    """Return meta-d′, M-ratio and M-diff of groups, each ``(groups,)``, and why a group's fit has no number."""
    found = _fit(np.array([counts.totals for counts in groups]), groups[0].grid, sides=False)
    known = np.isfinite(found.meta_da) & np.isfinite(found.m_ratio)
    statuses = zip(known, found.status.tolist(), strict=True)
    why = [None if there else REASONS.get(status) or status for there, status in statuses]
    return {name: _values(found, name) for name in META_D}, why


def resampled_meta_d(draws: Floats, grid: Grid) -> dict[str, Floats]:
    """Return the same of resamples, each ``(B,)``; ``draws`` are totals ``(B, places)`` of one group."""
    parts = [_fit(draws[at : at + _BATCH], grid, sides=False) for at in range(0, len(draws), _BATCH)]
    return {name: np.concatenate([_values(part, name) for part in parts]) for name in META_D}


def _resampled(counts: Counts) -> dict[str, Floats]:
    """Return every measure of the resamples of a group.

    The last ones are remembered: the answers of a run, and of all runs of a model, are mostly the same.
    """
    key = counts.grid.ratings, hashlib.sha256(counts.draws.tobytes()).digest()
    found = _LAST.pop(key, None)
    if found is None:
        sides = conditional_fits(_padded(counts.draws[:N_BOOT_SIDES], counts.grid))
        found = resampled_meta_d(counts.draws, counts.grid)
        found |= {name: side.meta_da for name, side in zip(SIDES, sides, strict=True)}
    _LAST[key] = found
    if len(_LAST) > _REMEMBERED:
        del _LAST[next(iter(_LAST))]
    return found


def _fit(totals: Floats, grid: Grid, *, sides: bool) -> MetaD:
    return fit_metad(_padded(totals, grid), conditional=sides)


def _padded(totals: Floats, grid: Grid) -> stats_counts.Counts:
    return stats_counts.padded(stats_counts.Counts(*grid.rated(totals)))


def _values(found: MetaD, name: str) -> Floats:
    """Return one measure of every group: NaN without a number, the end of the range where the fit ran into it."""
    if name in SIDES:
        return _side(found, name).meta_da
    values: Floats = found.meta_da if name == "meta_d" else getattr(found, name)
    return values


def _side(found: MetaD, name: str) -> Conditional:
    side = found.rs1 if name == "meta_d_rs1" else found.rs2
    assert side is not None, "fitted with both sides"
    return side


def _estimate(found: MetaD, name: str, row: int, drawn: Floats, n: int) -> Estimate:
    status = str((_side(found, name) if name in SIDES else found).status[row])
    value = float(_values(found, name)[row])
    if status != "ok" or not math.isfinite(value):
        return unavailable(n, METHOD, REASONS.get(status) or status)
    return _within_two_errors(value, drawn, n) if name in SIDES else percentile(value, drawn, n, METHOD)


def _within_two_errors(value: float, drawn: Floats, n: int) -> Estimate:
    """Return ± 1.96 standard deviations of the resamples: few of them tell a spread better than its ends."""
    usable = resampling.usable(drawn)
    if usable is None or len(usable) < 2:
        return Estimate(value, None, None, n, METHOD_SIDES, OFTEN_UNDEFINED)
    sem = float(usable.std(ddof=1))
    return Estimate(value, *sem_interval(value, sem), n, METHOD_SIDES, sem=sem)


def _logarithm(m_ratio: Estimate) -> Estimate:
    """Return log M-ratio: percentiles keep their order under a logarithm, so its ends are those of the interval."""
    if m_ratio.value is None:
        return m_ratio
    if m_ratio.value <= 0:
        return unavailable(m_ratio.n, m_ratio.method, NOT_POSITIVE)
    value = math.log(m_ratio.value)
    if m_ratio.low is None or m_ratio.high is None or m_ratio.low <= 0:
        return Estimate(value, None, None, m_ratio.n, m_ratio.method, LOW_NOT_POSITIVE)
    ends = math.log(m_ratio.low), math.log(m_ratio.high)
    return Estimate(value, *ends, m_ratio.n, m_ratio.method, m_ratio.status)
