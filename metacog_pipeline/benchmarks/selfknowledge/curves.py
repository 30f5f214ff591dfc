"""Curves for figures: the type-2 ROC of the graded yes, its point for the spoken yes, densities of confidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Group, Table
from metacog_pipeline.benchmarks.selfknowledge.measures import counts_of_group
from metacog_pipeline.benchmarks.selfknowledge.prompts import gives_leave
from metacog_pipeline.stats.roc import confidence_densities, roc_curve, thinned

POINTS = 200  # of a ROC curve: more cannot be seen
_Point = tuple[object, ...]


@dataclass(slots=True)
class Curve:
    """One point of a curve.

    ``roc``: x false alarms, y hits, at confidences of ``threshold`` and more; ``said``: the one point of the spoken yes;
    ``correct``, ``wrong``: x the lower edge of a bin of confidence, y the density, n the items.
    """

    benchmark: str
    dataset: str
    condition: str
    model: str
    source: str
    curve: str
    position: Annotated[int, pl.Int32]
    x: float
    y: float
    threshold: float | None
    n: int


def of_group(benchmark: Any, group: Group) -> Iterator[tuple[object, ...]]:
    """Yield the points of the curves of a group; none under ``idk`` and of an incomplete one."""
    if not group.n_failed and not gives_leave(group.condition):
        where = (benchmark.name, group.dataset, group.condition, group.model, group.source)
        yield from ((*where, *point) for point in _points(group))


def _points(group: Group) -> Iterator[_Point]:
    hits, alarms, right, wrong = counts_of_group(group)
    if right and wrong:
        yield "said", 0, alarms / wrong, hits / right, None, round(right + wrong)
    confidence, correct, _ = group.graded()
    curve = thinned(roc_curve(confidence, correct), POINTS)
    for place, (x, y, at) in enumerate(zip(curve.false_alarms, curve.hits, curve.threshold, strict=True)):
        yield "roc", place, float(x), float(y), float(at) if np.isfinite(at) else None, len(confidence)
    if not len(confidence):
        return
    made = confidence_densities(confidence, correct)
    for name, density, number in (
        ("correct", made.correct, made.n_correct),
        ("wrong", made.wrong, made.n_wrong),
    ):
        for place, edge in enumerate(made.edges[:-1]):
            yield name, place, float(edge), float(density[place]), None, int(number[place])


CURVES = Table(
    "curves", Curve, None, "Points of the type-2 ROC and densities of confidence.", of_group=of_group
)
