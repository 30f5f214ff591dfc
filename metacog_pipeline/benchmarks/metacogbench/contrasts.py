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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.benchmark.contract import Comparison, Contrast, Group, Question, lost_items
from metacog_pipeline.benchmarks.metacogbench.groups import (
    COMPOSITES,
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

NO_SHARED = "no shared items"
RUNS_DIFFER = "no p: asked in different numbers of runs, so that items cannot be exchanged"
SAME = 1e-12  # resamples this close to 0 count on both sides
Pair = tuple[RunEstimate, RunEstimate]
Estimator = Callable[[TierGroup], RunEstimate]
#: From (ways, items), whether an item is exchanged, to the difference of each way; None where items cannot be exchanged.
Exchanged = Callable[[NDArray[np.bool_]], Floats | None]


# --- one test ---------------------------------------------------------------------------------------------------------
def tested(
    base: Comparison, sides: Sequence[Pair], value: float | None, draws: Floats | None, moved: Exchanged
) -> Comparison:
    """Return the row of a difference that rests on ``sides``, tier by tier.

    Resamples are too narrow where items are few, so their p is not below Student's, nor below the least p of all exchanges.
    An exchange of items that are alike on both sides changes nothing.
    """
    sizes = [min(one.n, two.n) for one, two in sides]
    row = replace(base, value=value, n=sum(sizes))
    if value is None:
        return replace(row, status="undefined in one of them")
    if draws is None or sum(sizes) < 2:
        return replace(row, status="single item")
    (found,) = resampling.differences([value], draws[None], tolerance=SAME)
    if found.low is None or found.high is None:
        return replace(row, status=OFTEN_UNDEFINED)
    row = replace(
        row, se=found.se, low=min(found.low, value), high=max(found.high, value), statistic=found.statistic
    )
    items = sum(len(one.parts) for one, _ in sides)
    if items <= exact.MOST_SWAPPED:
        ways = moved(exact.exchanges(items))
        note = "; ".join(each for each in (RUNS_DIFFER if ways is None else exact.NOTE, base.note) if each)
        return replace(row, p=None if ways is None else exact.exchange_p(ways), note=note)
    p = resampling.p_value(draws, SAME) if found.p is None else found.p
    student = 0.0 if row.statistic is None else resampling.wald_p(row.statistic, max(min(sizes) - 1, 1))
    unlike = sum(_unlike(one, two) for one, two in sides)
    return replace(row, p=max(p or 0.0, student, exact.least_p(unlike)))


def _unlike(one: RunEstimate, two: RunEstimate) -> int:
    """Return how many items are not alike on both sides."""
    first, second = (np.nan_to_num(each.parts).mean(axis=1) for each in (one, two))
    return int((np.abs(first - second) > SAME).any(axis=1).sum())


def _exchange(one: RunEstimate, two: RunEstimate, swapped: NDArray[np.bool_]) -> Floats | None:
    """Return the difference for each way to exchange items; None where runs differ in number."""
    if one.made is None or one.parts.shape != two.parts.shape:
        return None
    first, second = (each.parts.reshape(len(each.parts), -1) for each in (one, two))
    own, shape = swapped.astype(np.float64), (len(swapped), *one.parts.shape[1:])
    with np.errstate(invalid="ignore", divide="ignore"):
        sides = (one.made(((1 - a) @ first + a @ second).reshape(shape)).mean(axis=1) for a in (own, 1 - own))
        moved: Floats = np.subtract(*sides)
    return moved


def _difference(base: Comparison, one: RunEstimate, two: RunEstimate) -> Comparison:
    """Return the row of one measure of a tier minus the same of the same items."""
    value = None if one.value is None or two.value is None else one.value - two.value
    draws = None if one.draws is None or two.draws is None else one.draws - two.draws
    return tested(base, [(one, two)], value, draws, partial(_exchange, one, two))


def _composite(base: Comparison, name: str, sides: Mapping[str, Pair]) -> Comparison:
    """Return the row of a composite: that of differences is the difference of composites."""
    first, second = (composed({tier: each[place] for tier, each in sides.items()})[name] for place in (0, 1))
    value = None if first.value is None or second.value is None else first.value - second.value
    draws = None if first.draws is None or second.draws is None else first.draws - second.draws

    def moved(swapped: NDArray[np.bool_]) -> Floats | None:
        start, found = 0, dict[str, RunEstimate]()
        for tier, (one, two) in sides.items():
            size = len(one.parts)
            own = _exchange(one, two, swapped[:, start : start + size])
            start += size
            if own is None:
                return None
            found[tier] = RunEstimate(own[:1], own, size)
        return composed(found)[name].draws

    return tested(base, [*sides.values()], value, draws, moved)


# --- the groups -------------------------------------------------------------------------------------------------------
class World(NamedTuple):
    """The groups of one data set and source, by condition and model."""

    dataset: str
    source: str
    groups: Mapping[tuple[str, str], Group]

    def base(self, family: str, measure: str, **more: Any) -> Comparison:
        """Return an empty row of this world."""
        return Comparison(family, measure, dataset=self.dataset, source=self.source, **more)

    def under(self, condition: str) -> dict[str, Group]:
        """Return the groups asked under a condition, by model."""
        return {model: group for (name, model), group in self.groups.items() if name == condition}

    def pairs(self, a: str, b: str, tier: str) -> Iterator[tuple[str, TierGroup, TierGroup]]:
        """Yield each model's finished tier under two conditions, over the items of both."""
        other = self.under(b)
        for model, group in self.under(a).items():
            sides = [tier_groups(each).get(tier) for each in (group, other.get(model)) if each is not None]
            if len(sides) == 2 and sides[0] is not None and sides[1] is not None:
                first, second = _common(sides[0], sides[1])
                if first.n_items and not first.n_failed and not second.n_failed:
                    yield model, first, second


def _worlds(groups: Iterable[Group]) -> list[World]:
    found: dict[tuple[str, str], dict[tuple[str, str], Group]] = {}
    for group in groups:
        found.setdefault((group.dataset, group.source), {})[group.condition, group.model] = group
    return [World(*key, own) for key, own in found.items()]


def _common(first: TierGroup, second: TierGroup) -> tuple[TierGroup, TierGroup]:
    both = sorted(set(first.item_ids) & set(second.item_ids))
    return first.of(both), second.of(both)


# --- between models ---------------------------------------------------------------------------------------------------
def _between_models(
    benchmark: Any, groups: Sequence[Group], wanted: Collection[tuple[str, str]]
) -> Iterator[Comparison]:
    for world in _worlds(groups):
        free = world.under(FREE)
        for one, two in wanted:
            if one in free and two in free:
                base = partial(world.base, "models_paired", condition=FREE, a=one, b=two)
                yield from _of_two(base, tier_groups(free[one]), tier_groups(free[two]))


def _of_two(
    base: Callable[..., Comparison], first: Mapping[str, TierGroup], second: Mapping[str, TierGroup]
) -> Iterator[Comparison]:
    """Yield a row of ``first`` minus ``second`` per tier both were asked, and per composite."""
    shared, sides = dict[str, tuple[int, int, int]](), dict[str, Pair]()
    for tier in first.keys() & second.keys():
        a, b = first[tier].answered, second[tier].answered
        one, two = _common(a, b)
        shared[tier] = a.n_items, b.n_items, one.n_items
        if one.n_items:
            sides[TIER_MEASURES[tier]] = one.headline, two.headline
    rest_on: dict[str, tuple[str, ...]] = {
        TIER_MEASURES[tier]: (tier,) for tier in TIER_MEASURES if tier in shared
    }
    rest_on |= {name: of for name in COMPOSITES if set(of := tiers_of(name)) <= shared.keys()}
    for name, tiers in rest_on.items():
        row = base(name, note=lost_items(*map(sum, zip(*(shared[tier] for tier in tiers), strict=True))))
        own = {measure: sides[measure] for tier in tiers if (measure := TIER_MEASURES[tier]) in sides}
        if len(own) < len(tiers):
            yield replace(row, status=NO_SHARED)
        elif name in own:
            yield _difference(row, *own[name])
        else:
            yield _composite(row, name, own)


def _ranks(benchmark: Any, groups: Sequence[Group]) -> Iterator[Comparison]:
    for world in _worlds(groups):
        scored = {}
        for model, group in world.under(FREE).items():
            whole = {tier: each for tier, each in tier_groups(group).items() if not each.n_failed}
            heads = {TIER_MEASURES[tier]: each.headline for tier, each in whole.items()}
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
                yield world.base(
                    "rank", name, condition=FREE, model=model, value=value, low=low, high=high, n=n,
                    note=f"of {len(found)}",
                )  # fmt: skip


# --- between ways of asking -------------------------------------------------------------------------------------------
def _predicted(tier: TierGroup) -> RunEstimate:
    return calibration_error(tier, tier.column("pre"), tier.column("correct"))


#: What a format is compared by: its tier, and the condition it is compared with.
_FORMATS: Mapping[str, tuple[str, str, Estimator]] = {
    "ece_pre": ("1b", ONE_TURN, _predicted),
    "accuracy_1b": ("1b", ONE_TURN, lambda tier: rate(tier, "correct")),
    "t2a": ("2a", FREE, lambda tier: balanced(tier, "passed")),
    "t2a_keywords": ("2a", FREE, lambda tier: rate(tier, "passed_keywords")),
    "t2a_keywords_v1": ("2a", FREE, lambda tier: rate(tier, "passed_keywords_v1")),
    "t3": ("3", FREE, lambda tier: rate(tier, "passed")),
}


def _formats(benchmark: Any, groups: Sequence[Group]) -> Iterator[Comparison]:
    for world in _worlds(groups):
        for condition in (JSON, JSON_NOTES):
            for name, (tier, other, made) in _FORMATS.items():
                for model, first, second in world.pairs(other, condition, tier):
                    base = world.base("format", name, model=model, a=other, b=condition)
                    read = _common(first.answered, second.answered) if tier == "2a" else (first, second)
                    yield _difference(base, *map(made, read if read[0].n_items else (first, second)))


def _protocols(benchmark: Any, groups: Sequence[Group]) -> Iterator[Comparison]:
    for world in _worlds(groups):
        for name in ("ece_pre", "accuracy_1b"):
            for model, first, second in world.pairs(FREE, ONE_TURN, "1b"):
                base = world.base("protocol", name, model=model, a=FREE, b=ONE_TURN)
                yield _difference(base, *map(_FORMATS[name][2], (first, second)))


def _delegation(benchmark: Any, groups: Sequence[Group]) -> Iterator[Comparison]:
    """What leaving questions to a partner gains over leaving all of them to it, and over answering all of them."""
    for world in _worlds(groups):
        for model, first, second in world.pairs(DELEGATE, FREE, "1a"):
            own, alone = points(first), np.nan_to_num(second.column("correct"))
            partner = np.full(own.shape, PARTNER / 100)
            for name, other, side in (("always", partner, first), ("never", alone, second)):
                base = world.base("delegation", "delegate_points", model=model, a=DELEGATE, b=name)
                yield _difference(base, mean(first, own), mean(side, other))


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
        compares=tuple((name, where) for name, (_, other, _) in _FORMATS.items() for where in (other, JSON, JSON_NOTES)),
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
        "Does one model separate valid from invalid challenges better than another?",
        ("models_paired", "t2b"),
        verdict="judgement",
    ),
    Question("Does a form to fill in change how well a model sees what is left out?", ("format", "t2a")),
    Question(
        "Does a prediction made beforehand change how well predictions are calibrated?",
        ("protocol", "ece_pre"),
    ),
    Question(
        "Does a model gain by leaving to a partner what it does not know?", ("delegation", "delegate_points")
    ),
)
