"""Tests between models and between ways of asking, and the questions the tests answer.

The item is the unit of chance, with all its runs; both sides of a test share the resamples. Pairs of models rest on the
items that both answered and that could be read; of ways of asking only finished tiers are compared. Simulated models never
meet measured ones. Both sides of a test are scored by one rule: free replies and JSON by the choice that follows them, or
by the paper's keywords in both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from metacog_pipeline.benchmark.contract import Comparison, Contrast, Group, Question, lost_items
from metacog_pipeline.benchmarks.metacogbench import groups, prompts
from metacog_pipeline.benchmarks.metacogbench.groups import RunEstimate, TierGroup, mean, rate
from metacog_pipeline.benchmarks.metacogbench.measures import HEADLINES, points
from metacog_pipeline.benchmarks.metacogbench.prompts import DELEGATE, FREE, JSON, JSON_NOTES
from metacog_pipeline.stats import exact, resampling
from metacog_pipeline.stats.estimate import OFTEN_UNDEFINED

# resamples this close to 0 count on both sides
SAME = 1e-12
Pair = tuple[RunEstimate, RunEstimate]


# --- one test ---------------------------------------------------------------------------------------------------------
def tested(base: Comparison, name: str, sides: Mapping[str, Pair]) -> Comparison:
    """Return the row of measure ``name``, one of the ``sides`` or a composite of them: the first side minus the second."""
    parts = ({part: each[place] for part, each in sides.items()} for place in (0, 1))
    first, second = ({**own, **groups.composites(own, groups.mean_of_parts)}[name] for own in parts)
    sizes = [min(one.n, two.n) for one, two in sides.values()]
    row = replace(base, n=sum(sizes))
    if first.value is None or second.value is None:
        return replace(row, status="undefined in one of them")
    row = replace(row, value=(value := first.value - second.value))
    if first.draws is None or second.draws is None or sum(sizes) < 2:
        return replace(row, status="single item")
    draws = first.draws - second.draws
    found = resampling.difference(value, draws, tolerance=SAME)
    if found.low is None:
        return replace(row, status=OFTEN_UNDEFINED)
    p = resampling.p_value(draws, SAME) if found.p is None else found.p
    # Resamples are too narrow where items are few: their p is not below Student's, nor below the least p of all exchanges
    # of items between the two sides, where those that are alike on both change nothing.
    student = 0.0 if found.statistic is None else resampling.wald_p(found.statistic, max(min(sizes) - 1, 1))
    least = exact.least_p(sum(_unlike(*pair) for pair in sides.values()))
    numbers = {name: getattr(found, name) for name in ("se", "low", "high", "statistic")}
    return replace(row, **numbers, p=max(p or 0.0, student, least))


def _unlike(one: RunEstimate, two: RunEstimate) -> int:
    """Return how many items are not alike on both sides."""
    first, second = (np.nan_to_num(each.parts).mean(axis=1) for each in (one, two))
    return int((np.abs(first - second) > SAME).any(axis=1).sum())


# --- the groups -------------------------------------------------------------------------------------------------------
Tiers = Mapping[str, TierGroup]
# by condition and model
Asked = Mapping[tuple[str, str], Tiers]


def _worlds(given: Iterable[Group]) -> Iterator[tuple[Callable[..., Comparison], Asked]]:
    """Yield of each data set and source an empty row, given its family and measure, and what was asked."""
    found: dict[tuple[str, str], dict[tuple[str, str], Tiers]] = {}
    for group in given:
        world = found.setdefault((group.dataset, group.source), {})
        world[group.condition, group.model] = groups.tier_groups(group)
    for (dataset, source), asked in found.items():
        yield partial(Comparison, dataset=dataset, source=source), asked


def _common(first: TierGroup, second: TierGroup) -> tuple[TierGroup, TierGroup]:
    both = sorted(set(first.item_ids) & set(second.item_ids))
    return first.of(both), second.of(both)


# --- between models ---------------------------------------------------------------------------------------------------
def _between_models(
    benchmark: Any, groups: Sequence[Group], wanted: Collection[tuple[str, str]]
) -> Iterator[Comparison]:
    for row, asked in _worlds(groups):
        for one, two in wanted:
            if (FREE, one) in asked and (FREE, two) in asked:
                base = partial(row, "models_paired", condition=FREE, a=one, b=two)
                yield from _of_two(base, asked[FREE, one], asked[FREE, two])


def _of_two(base: Callable[..., Comparison], first: Tiers, second: Tiers) -> Iterator[Comparison]:
    """Yield a row of ``first`` minus ``second`` per tier both were asked, and per composite."""
    shared, sides = dict[str, tuple[int, int, int]](), dict[str, Pair]()
    for tier in first.keys() & second.keys():
        a, b = first[tier].answered, second[tier].answered
        one, two = _common(a, b)
        shared[tier] = a.n_items, b.n_items, one.n_items
        if one.n_items:
            sides[tier] = one.headline, two.headline
    for name in HEADLINES:
        if (tiers := groups.tiers_of(name)) and shared.keys() >= {*tiers}:
            row = base(name, note=lost_items(*map(sum, zip(*(shared[tier] for tier in tiers), strict=True))))
            if sides.keys() >= {*tiers}:
                yield tested(row, name, {groups.TIER_MEASURES[tier]: sides[tier] for tier in tiers})
            else:
                yield replace(row, status="no shared items")


# --- between ways of asking -------------------------------------------------------------------------------------------
def _error_before(tier: TierGroup) -> RunEstimate:
    return groups.calibration_error(tier, tier.column("pre"), tier.column("correct"))


#: What ways of asking are compared by: the tier, its estimate, and the condition that JSON is held against.
_BY: Mapping[str, tuple[str, Callable[[TierGroup], RunEstimate], str]] = {
    "ece_pre": ("1b", _error_before, prompts.ONE_TURN),
    "accuracy_1b": ("1b", lambda tier: rate(tier, "correct"), prompts.ONE_TURN),
    "t2a": ("2a", lambda tier: groups.balanced(tier, "passed"), FREE),
    "t2a_keywords": ("2a", lambda tier: rate(tier, "passed_keywords"), FREE),
    "t2a_keywords_v1": ("2a", lambda tier: rate(tier, "passed_keywords_v1"), FREE),
    "t3": ("3", lambda tier: rate(tier, "passed"), FREE),
}
#: Measures and the two conditions they are compared under. Under JSON both parts of 1b are asked at once, as in one turn.
_FORMATS = [(name, other, json) for json in (JSON, JSON_NOTES) for name, (_, _, other) in _BY.items()]
_PROTOCOLS = [(name, FREE, prompts.ONE_TURN) for name in ("ece_pre", "accuracy_1b")]


def _both(asked: Asked, a: str, b: str, tier: str) -> Iterator[tuple[str, TierGroup, TierGroup]]:
    """Yield each model's finished tier under two conditions, over the items of both."""
    for (condition, model), tiers in asked.items():
        other = asked.get((b, model), {})
        if condition == a and tier in tiers and tier in other:
            first, second = _common(tiers[tier], other[tier])
            if first.n_items and not first.n_failed and not second.n_failed:
                yield model, first, second


def _ways(
    family: str, wanted: Sequence[tuple[str, str, str]], benchmark: Any, groups: Sequence[Group]
) -> Iterator[Comparison]:
    """Yield what a measure is under one condition minus the same under another, of each model asked in both ways."""
    for name, a, b in wanted:
        tier, made, _ = _BY[name]
        for row, asked in _worlds(groups):
            for model, first, second in _both(asked, a, b, tier):
                # a choice that was not read leaves out the task on both sides
                if tier == "2a":
                    one, two = _common(first.answered, second.answered)
                    first, second = (one, two) if one.n_items else (first, second)
                base = row(family, name, model=model, a=a, b=b)
                yield tested(base, name, {name: (made(first), made(second))})


def _delegation(benchmark: Any, groups: Sequence[Group]) -> Iterator[Comparison]:
    """What leaving questions to a partner gains over leaving all of them to it, and over answering all of them."""
    for row, asked in _worlds(groups):
        for model, first, second in _both(asked, DELEGATE, FREE, "1a"):
            own, alone = points(first), np.nan_to_num(second.column("correct"))
            partner = np.full(own.shape, prompts.PARTNER / 100)
            for name, other, side in (("always", partner, first), ("never", alone, second)):
                base = row("delegation", "delegate_points", model=model, a=DELEGATE, b=name)
                yield tested(base, "points", {"points": (mean(first, own), mean(side, other))})


_WHERE = ("dataset", "source", "family", "measure")
CONTRASTS = (
    Contrast(
        "models_paired", _between_models, within=_WHERE, between_models=True, under=(FREE,), pairs=True, version="5",
        words="Two models on the items both were asked: tiers and composites.",
    ),
    Contrast(
        "format", partial(_ways, "format", _FORMATS), within=(*_WHERE, "b"), by_model=True, version="4",
        words="A tier in free text minus the same in JSON, same items and scorer; 1b, asked in one turn, by calibration "
        "error and share right.",
        compares=tuple((name, where) for name, (_, _, other) in _BY.items() for where in (other, JSON, JSON_NOTES)),
    ),
    Contrast(
        "protocol", partial(_ways, "protocol", _PROTOCOLS), within=_WHERE, by_model=True, version="4",
        words="1b with the prediction asked beforehand minus 1b in one reply, same items.",
    ),
    Contrast(
        "delegation", _delegation, within=(*_WHERE, "b"), by_model=True, version="2",
        words="Points with a partner who can answer instead, minus those of always and of never leaving questions to it.",
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
