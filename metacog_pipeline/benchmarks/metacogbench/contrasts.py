"""Tests between models and between formats, and how sure the ranks are.

The item is the unit of chance, with all its runs. Models that did not finish a tier are left out there, save of pairs of
models, which rest on the items both answered; simulated ones never meet measured ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from metacog_pipeline.benchmark.contract import Comparison, Contrast, Group
from metacog_pipeline.benchmarks.metacogbench.composites import TIER_MEASURES
from metacog_pipeline.benchmarks.metacogbench.judging.agreement import judge_shifts
from metacog_pipeline.benchmarks.metacogbench.measures import HEADLINES
from metacog_pipeline.benchmarks.metacogbench.model_pairs import (
    answered,
    common,
    headlines,
    of_tier,
    of_two,
    prepare,
    resampled,
    tested,
)
from metacog_pipeline.benchmarks.metacogbench.prompts import FREE, JSON, JSON_NOTES, TWO_TURN
from metacog_pipeline.benchmarks.metacogbench.run_estimates import RunEstimate
from metacog_pipeline.benchmarks.metacogbench.tier_groups import (
    Floats,
    TierGroup,
    all_tier_groups,
    tier_groups,
)
from metacog_pipeline.stats.paired import mcnemar_from_data
from metacog_pipeline.stats.robust import rank_distribution

#: The shares a format is compared by: their tiers and columns.
SHARES: Mapping[str, tuple[str, str]] = {
    "t2a": ("2a", "passed"),
    **{f"t2a_{rule}": ("2a", f"passed_{rule}") for rule in ("keywords", "keywords_v1")},
    "accuracy_1b": ("1b", "correct"),
    "t3": ("3", "passed"),
}
SATURATED = 0.95
STRICTER = {"t3": "t3_core_required"}


class World(NamedTuple):
    """The groups of one data set and source, by condition and model."""

    dataset: str
    source: str
    groups: Mapping[tuple[str, str], Group]

    def base(self, family: str, measure: str, **more: Any) -> Comparison:
        """Return an empty row of this world."""
        return Comparison(family, measure, dataset=self.dataset, source=self.source, **more)

    @property
    def free(self) -> dict[str, Group]:
        """The groups asked in free text, by model."""
        return {model: group for (condition, model), group in self.groups.items() if condition == FREE}

    def pairs(self, condition: str, name: str) -> Iterator[tuple[str, TierGroup, TierGroup]]:
        """Yield each model's finished tier, free and under ``condition``, over the items of both."""
        free = self.free
        for (given, model), group in self.groups.items():
            if given != condition or model not in free:
                continue
            plain, own = tier_groups(free[model]), tier_groups(group)
            if name in own and name in plain:
                first, second = common(plain[name], own[name])
                if first.n_items and not first.n_failed and not second.n_failed:
                    yield model, first, second


def _worlds(groups: Iterable[Group]) -> list[World]:
    """Return groups by data set and source."""
    found: dict[tuple[str, str], dict[tuple[str, str], Group]] = {}
    groups = list(groups)
    all_tier_groups(groups)  # at once
    for group in groups:
        found.setdefault((group.dataset, group.source), {})[group.condition, group.model] = group
    return [World(*key, own) for key, own in found.items()]


def _scored(group: Group) -> Mapping[str, RunEstimate]:
    """Return the headlines of the tiers of a group that lack no reply."""
    return headlines(group, {name: tier for name, tier in tier_groups(group).items() if not tier.n_failed})


def _between_models(
    benchmark: Any, groups: Sequence[Group], wanted: Collection[tuple[str, str]]
) -> Iterator[Comparison]:
    for world in _worlds(groups):
        free = world.free
        prepare(
            free[name] for name in dict.fromkeys(name for pair in wanted for name in pair) if name in free
        )
        for one, two in wanted:
            if one in free and two in free:
                base = partial(world.base, "models_paired", condition=FREE, a=one, b=two)
                yield from of_two(base, free[one], free[two])


def _formats(benchmark: Any, groups: Sequence[Group]) -> Iterator[Comparison]:
    for world, condition in itertools.product(_worlds(groups), (JSON, JSON_NOTES)):
        for model, free, other in world.pairs(condition, "1b"):
            base = world.base("format", "ece_pre", model=model, a=FREE, b=condition)
            yield of_tier(base, free, other, None)
        for name, (tier, column) in SHARES.items():
            for model, free, other in world.pairs(condition, tier):
                base = world.base("format", name, model=model, a=FREE, b=condition)
                read = common(answered(free), answered(other)) if column == "passed" else (free, other)
                yield of_tier(base, *(read if read[0].n_items else (free, other)), column)


def _mcnemar(benchmark: Any, groups: Sequence[Group]) -> Iterator[Comparison]:
    for world, condition in itertools.product(_worlds(groups), (JSON, JSON_NOTES)):
        for name, (tier, column) in SHARES.items():
            for model, free, other in world.pairs(condition, tier):
                runs = zip(free.column(column).T, other.column(column).T, strict=False)
                for run, (first, second) in enumerate(runs, 1):
                    base = world.base("mcnemar", name, model=model, a=FREE, b=condition, note=f"run {run}")
                    yield _exact(base, first, second)


def _exact(base: Comparison, first: Floats, second: Floats) -> Comparison:
    both = ~np.isnan(first) & ~np.isnan(second)
    a, b = first[both].astype(np.int64), second[both].astype(np.int64)
    found = mcnemar_from_data(a, b)
    value = float(a.mean() - b.mean()) if len(a) else None
    return replace(base, value=value, p=found.p_exact, n=found.n, status=found.status)


def _protocols(benchmark: Any, groups: Sequence[Group]) -> Iterator[Comparison]:
    measures = {"ece_pre": None, "accuracy_1b": "correct"}
    for world, (name, column) in itertools.product(_worlds(groups), measures.items()):
        for model, free, other in world.pairs(TWO_TURN, "1b"):
            base = world.base("protocol", name, model=model, a=TWO_TURN, b=FREE)
            yield of_tier(base, other, free, column)


def _ranks(benchmark: Any, groups: Sequence[Group]) -> Iterator[Comparison]:
    for world in _worlds(groups):
        prepare(world.free.values())
        scored = {model: _scored(group) for model, group in world.free.items()}
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


def _saturated(benchmark: Any, groups: Sequence[Group]) -> Iterator[Comparison]:
    for world in _worlds(groups):
        scored = [_scored(group) for group in world.free.values()]
        for name in TIER_MEASURES.values():
            values = [made.value for found in scored if (made := found.get(name)) and made.value is not None]
            if name != "t1b" and values and min(values) >= SATURATED:
                note = f"read {STRICTER[name]} first" if name in STRICTER else None
                base = world.base("saturated", name, condition=FREE, n=len(values), note=note)
                yield replace(base, value=min(values), verdict="saturated")


def _judges(benchmark: Any, groups: Sequence[Group]) -> Iterator[Comparison]:
    return judge_shifts(groups, _of_sums)


def _of_sums(row: Comparison, value: float, draws: Floats, moved: Floats) -> Comparison:
    """Return the row of a difference that is the sum of what it is on each item, ``moved``."""
    n, differ = len(moved), int(np.count_nonzero(moved))
    (found,) = resampled([value], draws[None])
    found |= {"value": value, "n": n, "note": row.note}
    return replace(row, **tested(found, [n], differ, lambda swapped: (1 - 2.0 * swapped) @ moved))


_WHERE = ("dataset", "source", "family", "measure")
CONTRASTS = (
    Contrast(
        "models_paired", _between_models, within=_WHERE, between_models=True, under=(FREE,), pairs=True, version="3",
        words="Two models on the items both were asked: tiers and composites.",
    ),
    Contrast(
        "format", _formats, within=(*_WHERE, "b"), by_model=True, version="2",
        words="A tier in free text minus the same in JSON, same items and scorer; 1b by calibration error and share right.",
    ),
    Contrast(
        "mcnemar", _mcnemar, within=(*_WHERE, "b"), by_model=True,
        words="The same contrast in one run: exact test of the items that only one format passes.",
    ),
    Contrast(
        "protocol", _protocols, within=_WHERE, by_model=True, version="2",
        words="1b with the prediction asked beforehand minus 1b in one reply, same items.",
    ),
    Contrast(
        "rank", _ranks, correction=None,
        words="Rank of a model by a tier or composite, with the central 95 % of its ranks over resampled items.",
    ),
    Contrast(
        "saturated", _saturated, correction=None,
        words="A tier at which every model is at 95 % or above; of tier 3 the stricter rule separates better.",
    ),
    Contrast(
        "judge", _judges, within=(*_WHERE, "condition", "a"), by_model=True, version="2",
        words="Share passed by a judge minus share passed by the headline rule, over the same tasks of a model.",
    ),
)  # fmt: skip
