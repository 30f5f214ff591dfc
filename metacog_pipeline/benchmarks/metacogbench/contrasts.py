"""Tests between models and between ways of asking, how sure the ranks are, and the questions the tests answer.

The item is the unit of chance, with all its runs. Up to 12 items, those of all tiers of a composite together, p is that
of all exchanges between the two sides; above, that of the resamples, which both sides share. Models that did not finish
a tier are left out there, save of pairs of models, which rest on the items that both answered and that could be read;
simulated ones never meet measured ones. Both sides of a test are scored by one rule: free replies and JSON by the
choice that follows them, or by the paper's keywords in both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.benchmark.contract import Comparison, Contrast, Group, Question, lost_items
from metacog_pipeline.benchmarks.metacogbench.groups import (
    TIER_MEASURES,
    Floats,
    RunEstimate,
    TierGroup,
    balanced,
    calibration_error,
    composed,
    mean,
    rate,
    tier_groups,
    tiers_of,
)
from metacog_pipeline.benchmarks.metacogbench.measures import HEADLINES, points
from metacog_pipeline.benchmarks.metacogbench.prompts import (
    DELEGATE,
    FREE,
    JSON,
    JSON_NOTES,
    ONE_TURN,
    PARTNER,
)
from metacog_pipeline.stats import exact, resampling
from metacog_pipeline.stats.estimate import OFTEN_UNDEFINED
from metacog_pipeline.stats.robust import rank_distribution

RUNS_DIFFER = "no p: asked in different numbers of runs, so that items cannot be exchanged"
SAME = 1e-12  # resamples this close to 0 count on both sides
Pair = tuple[RunEstimate, RunEstimate]


# --- one test ---------------------------------------------------------------------------------------------------------
def tested(base: Comparison, name: str, sides: Mapping[str, Pair]) -> Comparison:
    """Return the row of measure ``name``, one of the ``sides`` or a composite of them: the first side minus the second.

    Resamples are too narrow where items are few, so their p is not below Student's, nor below the least p of all exchanges.
    An exchange of items that are alike on both sides changes nothing.
    """
    first, second = (_whole(name, {part: each[place] for part, each in sides.items()}) for place in (0, 1))
    sizes = [min(one.n, two.n) for one, two in sides.values()]
    row = replace(base, n=sum(sizes))
    if first.value is None or second.value is None:
        return replace(row, status="undefined in one of them")
    row = replace(row, value=(value := first.value - second.value))
    if first.draws is None or second.draws is None or sum(sizes) < 2:
        return replace(row, status="single item")
    draws = first.draws - second.draws
    (found,) = resampling.differences([value], draws[None], tolerance=SAME)
    if found.low is None or found.high is None:
        return replace(row, status=OFTEN_UNDEFINED)
    low, high = min(found.low, value), max(found.high, value)
    row = replace(row, se=found.se, low=low, high=high, statistic=found.statistic)
    items = sum(len(one.parts) for one, _ in sides.values())
    if items <= exact.MOST_SWAPPED:
        moved = _exchanged(name, sides, exact.exchanges(items))
        note = "; ".join(each for each in (RUNS_DIFFER if moved is None else exact.NOTE, base.note) if each)
        return replace(row, p=None if moved is None else exact.exchange_p(moved), note=note)
    p = resampling.p_value(draws, SAME) if found.p is None else found.p
    student = 0.0 if row.statistic is None else resampling.wald_p(row.statistic, max(min(sizes) - 1, 1))
    unlike = sum(_unlike(*pair) for pair in sides.values())
    return replace(row, p=max(p or 0.0, student, exact.least_p(unlike)))


def _whole(name: str, parts: Mapping[str, RunEstimate]) -> RunEstimate:
    return parts[name] if name in parts else composed(parts)[name]


def _unlike(one: RunEstimate, two: RunEstimate) -> int:
    """Return how many items are not alike on both sides."""
    first, second = (np.nan_to_num(each.parts).mean(axis=1) for each in (one, two))
    return int((np.abs(first - second) > SAME).any(axis=1).sum())


def _exchanged(name: str, sides: Mapping[str, Pair], swapped: NDArray[np.bool_]) -> Floats | None:
    """Return the difference for each of the ways to exchange items ``(ways, items)``; None where runs differ in number."""
    start, found = 0, dict[str, RunEstimate]()
    for part, (one, two) in sides.items():
        if one.made is None or one.parts.shape != two.parts.shape:
            return None
        own = swapped[:, start : start + len(one.parts)].astype(np.float64)
        start += len(one.parts)
        first, second = (each.parts.reshape(len(each.parts), -1) for each in (one, two))
        shape = (len(own), *one.parts.shape[1:])
        with np.errstate(invalid="ignore", divide="ignore"):
            moved: Floats = np.subtract(
                *(
                    one.made(((1 - a) @ first + a @ second).reshape(shape)).mean(axis=1)
                    for a in (own, 1 - own)
                )
            )
        found[part] = RunEstimate(moved[:1], moved, len(one.parts))
    return _whole(name, found).draws


# --- the groups -------------------------------------------------------------------------------------------------------
Asked = Mapping[str, Mapping[str, Mapping[str, TierGroup]]]  # by condition, model and tier
Row = Callable[..., Comparison]


def _worlds(groups: Iterable[Group]) -> Iterator[tuple[Row, Asked]]:
    """Yield of each data set and source an empty row, given its family and measure, and what was asked."""
    found: dict[tuple[str, str], dict[str, dict[str, Mapping[str, TierGroup]]]] = {}
    for group in groups:
        world = found.setdefault((group.dataset, group.source), {})
        world.setdefault(group.condition, {})[group.model] = tier_groups(group)
    for (dataset, source), asked in found.items():
        yield partial(Comparison, dataset=dataset, source=source), asked


def _pairs(asked: Asked, a: str, b: str, tier: str) -> Iterator[tuple[str, TierGroup, TierGroup]]:
    """Yield each model's finished tier under two conditions, over the items of both."""
    for model, tiers in asked.get(a, {}).items():
        other = asked.get(b, {}).get(model, {})
        if tier in tiers and tier in other:
            first, second = _common(tiers[tier], other[tier])
            if first.n_items and not first.n_failed and not second.n_failed:
                yield model, first, second


def _common(first: TierGroup, second: TierGroup) -> tuple[TierGroup, TierGroup]:
    both = sorted(set(first.item_ids) & set(second.item_ids))
    return first.of(both), second.of(both)


# --- between models ---------------------------------------------------------------------------------------------------
def _between_models(
    benchmark: Any, groups: Sequence[Group], wanted: Collection[tuple[str, str]]
) -> Iterator[Comparison]:
    for row, asked in _worlds(groups):
        free = asked.get(FREE, {})
        for one, two in wanted:
            if one in free and two in free:
                base = partial(row, "models_paired", condition=FREE, a=one, b=two)
                yield from _of_two(base, free[one], free[two])


def _of_two(
    base: Row, first: Mapping[str, TierGroup], second: Mapping[str, TierGroup]
) -> Iterator[Comparison]:
    """Yield a row of ``first`` minus ``second`` per tier both were asked, and per composite."""
    shared, sides = dict[str, tuple[int, int, int]](), dict[str, Pair]()
    for tier in first.keys() & second.keys():
        a, b = first[tier].answered, second[tier].answered
        one, two = _common(a, b)
        shared[tier] = a.n_items, b.n_items, one.n_items
        if one.n_items:
            sides[tier] = one.headline, two.headline
    for name in HEADLINES:
        if (tiers := tiers_of(name)) and shared.keys() >= {*tiers}:
            row = base(name, note=lost_items(*map(sum, zip(*(shared[tier] for tier in tiers), strict=True))))
            if sides.keys() >= {*tiers}:
                yield tested(row, name, {TIER_MEASURES[tier]: sides[tier] for tier in tiers})
            else:
                yield replace(row, status="no shared items")


def _ranks(benchmark: Any, groups: Sequence[Group]) -> Iterator[Comparison]:
    for row, asked in _worlds(groups):
        scored = {}
        for model, tiers in asked.get(FREE, {}).items():
            heads = {TIER_MEASURES[tier]: each.headline for tier, each in tiers.items() if not each.n_failed}
            scored[model] = heads | composed(heads)
        for name in HEADLINES:
            found = [
                (model, made.value, made.draws, made.n)
                for model, own in scored.items()
                if (made := own.get(name)) is not None and made.value is not None and made.draws is not None
            ]
            if len(found) < 2:
                continue
            # Equal rates may differ in the last digits: they are one rank.
            values = [value for _, value, _, _ in found]
            ranks = rank_distribution(values, np.array([draws for _, _, draws, _ in found]).T, digits=12)
            for place, (model, _, _, n) in enumerate(found):
                value, low, high = (float(each[place]) for each in (ranks.observed, ranks.low, ranks.high))
                one = row("rank", name, condition=FREE, model=model, note=f"of {len(found)}")
                yield replace(one, value=value, low=low, high=high, n=n)


# --- between ways of asking -------------------------------------------------------------------------------------------
#: What a way of asking is compared by: its tier, and its estimate.
_BY: Mapping[str, tuple[str, Callable[[TierGroup], RunEstimate]]] = {
    "ece_pre": ("1b", lambda tier: calibration_error(tier, tier.column("pre"), tier.column("correct"))),
    "accuracy_1b": ("1b", lambda tier: rate(tier, "correct")),
    "t2a": ("2a", lambda tier: balanced(tier, "passed")),
    "t2a_keywords": ("2a", lambda tier: rate(tier, "passed_keywords")),
    "t2a_keywords_v1": ("2a", lambda tier: rate(tier, "passed_keywords_v1")),
    "t3": ("3", lambda tier: rate(tier, "passed")),
}
#: Under JSON both parts of 1b are asked at once, so it is held against one turn.
_FORMATS = {name: ONE_TURN if tier == "1b" else FREE for name, (tier, _) in _BY.items()}


def _ways(groups: Sequence[Group], family: str, name: str, a: str, b: str) -> Iterator[Comparison]:
    """Yield what ``name`` is under condition ``a`` minus the same under ``b``, of each model asked in both ways."""
    tier, made = _BY[name]
    for row, asked in _worlds(groups):
        for model, first, second in _pairs(asked, a, b, tier):
            if tier == "2a":  # a choice that was not read leaves out the task on both sides
                one, two = _common(first.answered, second.answered)
                first, second = (one, two) if one.n_items else (first, second)
            base = row(family, name, model=model, a=a, b=b)
            yield tested(base, name, {name: (made(first), made(second))})


def _formats(benchmark: Any, groups: Sequence[Group]) -> Iterator[Comparison]:
    for condition in (JSON, JSON_NOTES):
        for name, other in _FORMATS.items():
            yield from _ways(groups, "format", name, other, condition)


def _protocols(benchmark: Any, groups: Sequence[Group]) -> Iterator[Comparison]:
    for name in ("ece_pre", "accuracy_1b"):
        yield from _ways(groups, "protocol", name, FREE, ONE_TURN)


def _delegation(benchmark: Any, groups: Sequence[Group]) -> Iterator[Comparison]:
    """What leaving questions to a partner gains over leaving all of them to it, and over answering all of them."""
    for row, asked in _worlds(groups):
        for model, first, second in _pairs(asked, DELEGATE, FREE, "1a"):
            own, alone = points(first), np.nan_to_num(second.column("correct"))
            partner = np.full(own.shape, PARTNER / 100)
            for name, other, side in (("always", partner, first), ("never", alone, second)):
                base = row("delegation", "delegate_points", model=model, a=DELEGATE, b=name)
                yield tested(base, "points", {"points": (mean(first, own), mean(side, other))})


_WHERE = ("dataset", "source", "family", "measure")
CONTRASTS = (
    Contrast(
        "models_paired", _between_models, within=_WHERE, between_models=True, under=(FREE,), pairs=True, version="4",
        words="Two models on the items both were asked: tiers and composites.",
    ),
    Contrast(
        "format", _formats, within=(*_WHERE, "b"), by_model=True, version="3",
        words="A tier in free text minus the same in JSON, same items and scorer; 1b, asked in one turn, by calibration "
        "error and share right.",
        compares=tuple((name, where) for name, other in _FORMATS.items() for where in (other, JSON, JSON_NOTES)),
    ),
    Contrast(
        "protocol", _protocols, within=_WHERE, by_model=True, version="3",
        words="1b with the prediction asked beforehand minus 1b in one reply, same items.",
    ),
    Contrast(
        "delegation", _delegation, within=(*_WHERE, "b"), by_model=True,
        words="Points with a partner who can answer instead, minus those of always and of never leaving questions to it.",
    ),
    Contrast(
        "rank", _ranks, correction=None, version="2",
        words="Rank of a model by a tier or composite, with the central 95 % of its ranks over resampled items.",
    ),
)  # fmt: skip
QUESTIONS = (
    Question("Does one model monitor and hold back better than another?", ("models_paired", "overall")),
    Question(
        "Does one model separate valid from invalid challenges better than another?", ("models_paired", "t2b"),
        verdict="judgement",
    ),
    Question("Does a form to fill in change how well a model sees what is left out?", ("format", "t2a")),
    Question("Does a prediction made beforehand change how well predictions are calibrated?", ("protocol", "ece_pre")),
    Question("Does a model gain by leaving to a partner what it does not know?", ("delegation", "delegate_points")),
)  # fmt: skip
