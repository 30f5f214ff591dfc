"""Bayesian comparisons of metacognitive efficiency: with the optimum, between models, of a model between tasks.

From posteriors of meta-d′ with d′ estimated ("Measuring the metacognition of AI", arXiv 2603.29693; the model is HMeta-d's,
Fleming 2017). Two posteriors differ where the symmetric 95 % interval of the difference of their draws leaves out 0; a
region of practical equivalence then says whether the difference matters: ±0.05 for M-ratio, on the ratio itself
(``m_ratio``) and on its logarithm (``log_m_ratio``) because the source does not say which, ±0.1 for d′. Every posterior
has random numbers of its own, as the comparison requires.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Literal

from metacog_pipeline.benchmarks.signaldetection.groups import Group, derived_seed
from metacog_pipeline.benchmarks.signaldetection.measures.meta_d import no_meta_d, rated
from metacog_pipeline.benchmarks.signaldetection.measures.posteriors import DRAWS, Kept, posterior
from metacog_pipeline.benchmarks.signaldetection.prompts import CONFIDENCE
from metacog_pipeline.benchmarks.signaldetection.rows import Comparison
from metacog_pipeline.stats import decisions
from metacog_pipeline.stats.counts import Counts

ROPE_M_RATIO = 0.05
ROPE_D = 0.1
OPTIMAL = "optimal (M-ratio 1)"
MOST_PAIRED = 25  # with more models each is compared with the best one only
Scale = Literal["log_ratio", "difference"]
# Measure of the table -> parameter, region of practical equivalence and the scale it lies on.
_MEASURES: Mapping[str, tuple[str, float, Scale]] = {
    "m_ratio": ("m_ratio", ROPE_M_RATIO, "difference"),
    "log_m_ratio": ("m_ratio", ROPE_M_RATIO, "log_ratio"),
    "d": ("d1", ROPE_D, "difference"),
}


@dataclass(frozen=True, slots=True)
class Fitted:
    """One model on one task with its posterior, or the reason it has none.

    ``n`` is the number of rated answers; ``why`` is None where there are draws.
    """

    dataset: str
    source: str
    task: str
    model: str
    n: int
    kept: Kept | None
    why: str | None = None

    @property
    def m_ratio(self) -> float:
        """Posterior mean of M-ratio, -inf without one."""
        value = None if self.kept is None else self.kept.estimates["m_ratio"].value
        return -math.inf if value is None else value


def fitted(group: Group, seed: int, folder: Path) -> Fitted:
    """Return the posterior of a group, kept in ``folder``, or the reason its counts have none."""
    _, dataset, task, _, model = group.key
    why = no_meta_d(group)
    if why is not None:
        return Fitted(dataset, group.source, task, model, int(rated(group).n[0]), None, why)
    return fitted_counts(rated(group), dataset, group.source, task, model, seed, folder)


def fitted_counts(
    table: Counts,
    dataset: str,
    source: str,
    task: str,
    model: str,
    seed: int,
    folder: Path,
    keep: int = DRAWS,
) -> Fitted:
    """Return the posterior of raw counts of one group, ``keep`` draws of it kept in ``folder``."""
    label = "/".join((dataset, source, task, model))
    kept = posterior(table, seed=seed, label=label, folder=folder, keep=keep)
    why = None if kept.converged else f"posterior {kept.status}: {kept.reason}"
    return Fitted(dataset, source, task, model, int(table.n[0]), kept, why)


def bayes_rows(groups: Sequence[Group], seed: int, folder: Path) -> Iterator[Comparison]:
    """Yield the comparisons of complete groups of the condition that asks for confidence; see `efficiency_rows`."""
    chosen = [group for group in groups if group.condition == CONFIDENCE]
    yield from efficiency_rows([fitted(group, seed, folder) for group in chosen], seed)


def efficiency_rows(fits: Sequence[Fitted], seed: int) -> Iterator[Comparison]:
    """Yield families ``bayes_optimality``, ``bayes_models`` and ``bayes_tasks``.

    ``difference``, ``low`` and ``high`` are a - b on the scale of the measure, ``statistic`` the probability that a is
    the larger. With more than `MOST_PAIRED` models each is compared with the one of the largest M-ratio only.
    """
    on_task: dict[tuple[str, str, str], list[Fitted]] = {}
    of_model: dict[tuple[str, str, str], list[Fitted]] = {}
    for fit in fits:
        yield from _optimality(fit)
        on_task.setdefault((fit.source, fit.dataset, fit.task), []).append(fit)
        of_model.setdefault((fit.source, fit.dataset, fit.model), []).append(fit)
    for group in on_task.values():
        for a, b in _pairs(group):
            yield from _pair("bayes_models", a, b, seed)
    for group in of_model.values():
        for a, b in combinations(group, 2):
            yield from _pair("bayes_tasks", a, b, seed)


def _pairs(models: Sequence[Fitted]) -> list[tuple[Fitted, Fitted]]:
    if len(models) <= MOST_PAIRED:
        return list(combinations(models, 2))
    best = max(models, key=lambda fit: fit.m_ratio)
    return [(best, other) for other in models if other is not best]


def _optimality(fit: Fitted) -> Iterator[Comparison]:
    for measure in ("m_ratio", "log_m_ratio"):
        name, rope, scale = _MEASURES[measure]
        base = _base("bayes_optimality", fit, fit.task, fit.model, fit.model, OPTIMAL, fit.n)
        row = replace(base, measure=measure)
        if fit.kept is None or fit.why is not None:
            yield replace(row, status=fit.why or "")
        else:
            yield _with(row, decisions.against_optimality(fit.kept.draws[name], rope, scale=scale))


def _pair(family: str, a: Fitted, b: Fitted, seed: int) -> Iterator[Comparison]:
    if family == "bayes_models":
        base = _base(family, a, a.task, None, a.model, b.model, a.n + b.n)
    else:
        base = _base(family, a, None, a.model, a.task, b.task, a.n + b.n)
    for measure, (name, rope, scale) in _MEASURES.items():
        row = replace(base, measure=measure)
        if a.kept is None or b.kept is None or a.why is not None or b.why is not None:
            yield replace(row, status=a.why or b.why or "")
            continue
        order = derived_seed(seed, family, a.dataset, a.source, a.task, a.model, b.task, b.model, measure)
        yield _with(
            row, decisions.compare(a.kept.draws[name], b.kept.draws[name], rope, scale=scale, seed=order)
        )


def _base(family: str, of: Fitted, task: str | None, model: str | None, a: str, b: str, n: int) -> Comparison:
    return Comparison(of.dataset, of.source, task, CONFIDENCE, model, family, "", a, b, n=n)


def _with(row: Comparison, found: decisions.Comparison) -> Comparison:
    row = replace(row, statistic=found.probability, note=f"region of practical equivalence ±{found.rope:g}")
    if row.measure == "log_m_ratio":
        if found.log_ratio is None:
            return replace(row, note=None, status=found.status)
        return replace(
            row, difference=found.log_ratio, low=found.log_low, high=found.log_high, verdict=found.verdict
        )
    return replace(row, difference=found.difference, low=found.low, high=found.high, verdict=found.verdict)
