"""How far the criterion moves away from what is punished, one number per model and task."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from metacog_pipeline.benchmark.contract import Benchmark, Group
from metacog_pipeline.benchmarks.signaldetection.grid import all_counts
from metacog_pipeline.benchmarks.signaldetection.measures.type1 import type1_estimates
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.stats.proportions import sem_interval

METHOD = "c(risk_s2) - c(risk_s1), conditions taken as independent"


def criterion_shifts(
    benchmark: Benchmark[Any, Any, Any], groups: Sequence[Group]
) -> list[Mapping[str, Estimate]]:
    """Return ``criterion_shift`` for the groups of ``risk_s2`` whose counterpart under ``risk_s1`` has a criterion."""
    c = [found["c"] for found in type1_estimates(all_counts(groups))]
    of = {_key(group): found for group, found in zip(groups, c, strict=True)}
    return [
        {} if group.condition != "risk_s2" else _shift(found, of.get((*_key(group)[:-1], "risk_s1")))
        for group, found in zip(groups, c, strict=True)
    ]


def _key(group: Group) -> tuple[str | None, ...]:
    return group.dataset, group.task, group.model, group.condition


def _shift(two: Estimate, one: Estimate | None) -> Mapping[str, Estimate]:
    if one is None or one.value is None or two.value is None:
        return {}
    value, n = two.value - one.value, one.n + two.n
    sem = math.sqrt((one.sem or 0.0) ** 2 + (two.sem or 0.0) ** 2)
    return {"criterion_shift": Estimate(value, *sem_interval(value, sem), n, METHOD, sem=sem)}
