"""Ready measures, and tests between conditions, for a benchmark of right and wrong answers with a confidence.

They rest on the benchmark's `harmonise`: right or wrong, a confidence from 0 to 1, and among how many alternatives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Comparison, Contrast, Estimate, Group, MeasureSet
from metacog_pipeline.scoring import calibration, model_pairs
from metacog_pipeline.scoring.harmonised import DECLARED, harmonised

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
        found = calibration.of_answers(stated, benchmark.seed)
        return {name: each for name, each in found.items() if name in every}

    return MeasureSet((*every.values(),), lambda benchmark, groups: [of_group(benchmark, g) for g in groups])


def between_conditions(family: str, words: str) -> Contrast:
    """Return the contrast of two conditions of one model on the items it answered under both."""
    within = ("dataset", "source", "task", "model", "family", "measure")

    def compute(benchmark: Any, groups: Sequence[Group]) -> Iterator[Comparison]:
        found: dict[tuple[Any, ...], dict[str, Group]] = {}
        for group in groups:
            if group.rows.height:
                place = (group.source, group.dataset, group.task, group.model)
                found.setdefault(place, {})[group.condition] = group
        for place, own in found.items():
            where: Any = dict(zip(("source", "dataset", "task", "model"), place, strict=True))
            sides = {
                name: model_pairs.Model.of(harmonised(benchmark, group.rows), benchmark.seed)
                for name, group in own.items()
            }
            for a, b in combinations(sides, 2):
                row = Comparison(family, "", a=a, b=b, **where)
                yield from model_pairs.differences(sides[a], sides[b], row)

    return Contrast(family, compute, "holm", within, words=words, by_model=True, version="3")
