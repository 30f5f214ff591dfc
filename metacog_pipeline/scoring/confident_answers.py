"""Ready measures and tests for a benchmark of right and wrong answers with a confidence.

They rest on the benchmark's `harmonise`: right or wrong, a confidence from 0 to 1, and among how many alternatives.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Comparison, Contrast, Estimate, Group, MeasureSet, lost_items
from metacog_pipeline.scoring import calibration, model_pairs
from metacog_pipeline.scoring.harmonised import harmonised
from metacog_pipeline.scoring.harmonised_measures import DECLARED

NO_CONFIDENCE = "no answer has a confidence"


def measures(conditions: Any) -> MeasureSet:
    """Return every measure of stated confidence under ``conditions(name)``: ECE, AUROC2, AURC, meta-d′ and the others."""
    every = {
        each.name: replace(each, conditions=conditions, headline=each.name == "auroc2")
        for each in DECLARED
        if each.name != "accuracy"
    }

    def of_group(benchmark: Any, group: Group) -> dict[str, Estimate]:
        if not conditions(group.condition):
            return {}
        stated = harmonised(benchmark, group.rows).filter(pl.col("confidence").is_not_null())
        if not stated.height:
            return dict.fromkeys(every, Estimate(None, None, None, 0, "confidence", NO_CONFIDENCE))
        found = calibration.of_answers(stated, benchmark.context.seed)
        return {name: each for name, each in found.items() if name in every}

    return MeasureSet((*every.values(),), lambda benchmark, groups: [of_group(benchmark, g) for g in groups])


def between_models(family: str = "models_paired") -> Contrast:
    """Return the contrast of two models on the items that both answered under one condition."""

    def compute(
        benchmark: Any, groups: Sequence[Group], pairs: Collection[tuple[str, str]]
    ) -> Iterator[Comparison]:
        return _paired(family, benchmark, groups, ("condition", "model"), pairs)

    within = ("dataset", "source", "task", "condition", "family", "measure")
    words = "Two models on the items both answered."
    return Contrast(
        family, compute, "holm", within, words=words, between_models=True, pairs=True, version="4"
    )


def between_conditions(family: str, words: str) -> Contrast:
    """Return the contrast of two conditions of one model on the items it answered under both."""

    def compute(benchmark: Any, groups: Sequence[Group]) -> Iterator[Comparison]:
        return _paired(family, benchmark, groups, ("model", "condition"))

    within = ("dataset", "source", "task", "model", "family", "measure")
    return Contrast(family, compute, "holm", within, words=words, by_model=True, version="3")


def _paired(
    family: str,
    benchmark: Any,
    groups: Sequence[Group],
    fields: tuple[str, str],
    pairs: Collection[tuple[str, str]] | None = None,
) -> Iterator[Comparison]:
    """Yield the comparisons of groups that differ in the second of ``fields`` alone, of all pairs where none are given."""
    held, differs = fields
    found: dict[tuple[Any, ...], dict[str, Group]] = {}
    for group in groups:
        if group.rows.height:
            place = (group.source, group.dataset, group.task, getattr(group, held))
            found.setdefault(place, {})[getattr(group, differs)] = group
    for own in found.values():
        sides = {
            name: model_pairs.Model.of(harmonised(benchmark, group.rows), benchmark.context.seed)
            for name, group in own.items()
        }
        first = next(iter(own.values()))
        for a, b in combinations(own, 2) if pairs is None else pairs:
            if a in sides and b in sides:
                both = {a: sides[a], b: sides[b]}
                yield from _compared(family, first, both, **{held: getattr(first, held)})


def _compared(
    family: str, group: Group, sides: Mapping[str, model_pairs.Model], **held: Any
) -> Iterator[Comparison]:
    (a, one), (b, two) = sides.items()
    place: Any = {"dataset": group.dataset, "task": group.task, "source": group.source, **held}
    first, second = (frozenset(each.every.items) for each in (one, two))
    lost = lost_items(len(first), len(second), len(first & second))
    for row in model_pairs.differences(one, two):
        made: Any = {name: row[name] for name in ("measure", "low", "high", "p", "status")}
        n = row.get("n_items") or 0
        yield Comparison(family, a=a, b=b, value=row["difference"], n=n, note=lost, **made, **place)
