"""Bayesian comparisons of metacognitive efficiency: with the optimum, between models, of a model between tasks.

From posteriors of meta-d′ with d′ estimated ("Measuring the metacognition of AI", arXiv 2603.29693; the model is HMeta-d's,
Fleming 2017). Two posteriors differ where the symmetric 95 % interval of the difference of their draws leaves out 0; a
region of practical equivalence then says whether the difference matters: ±0.05 for M-ratio, on the ratio itself
(``m_ratio``) and on its logarithm (``log_m_ratio``) because the source does not say which, ±0.1 for d′. Every posterior
has random numbers of its own, as the comparison requires.

``value``, ``low`` and ``high`` are a - b on the scale of the measure, ``statistic`` the probability that a is the larger.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Literal

from metacog_pipeline.benchmark.contract import Benchmark, Comparison, Group
from metacog_pipeline.benchmarks.signaldetection.measures.bayes import Fitted, fitted
from metacog_pipeline.benchmarks.signaldetection.prompts import CONFIDENCE
from metacog_pipeline.stats import decisions, resampling

ROPE_M_RATIO = 0.05
ROPE_D = 0.1
OPTIMAL = "optimal (M-ratio 1)"
Scale = Literal["log_ratio", "difference"]
# Measure of the table -> parameter, region of practical equivalence and the scale it lies on.
_MEASURES: Mapping[str, tuple[str, float, Scale]] = {
    "m_ratio": ("m_ratio", ROPE_M_RATIO, "difference"),
    "log_m_ratio": ("m_ratio", ROPE_M_RATIO, "log_ratio"),
    "d": ("d1", ROPE_D, "difference"),
}
Family = Callable[[Sequence[Fitted], int], Iterator[Comparison]]


def over_posteriors(
    family: Family,
) -> Callable[[Benchmark[Any, Any, Any], Sequence[Group]], Iterator[Comparison]]:
    """Return the contrast that runs ``family`` over the posteriors of complete groups that were asked for confidence."""

    def compute(benchmark: Benchmark[Any, Any, Any], groups: Sequence[Group]) -> Iterator[Comparison]:
        chosen = [group for group in groups if group.complete and group.condition == CONFIDENCE]
        return family(fitted(benchmark, chosen), benchmark.context.seed)

    return compute


def optimality(fits: Sequence[Fitted], seed: int) -> Iterator[Comparison]:
    """Yield family ``bayes_optimality``: the M-ratio of each model and task with 1."""
    for fit in fits:
        for measure in ("m_ratio", "log_m_ratio"):
            name, rope, scale = _MEASURES[measure]
            row = _base(
                "bayes_optimality", fit, measure, fit.model, OPTIMAL, fit.n, task=fit.task, model=fit.model
            )
            if fit.kept is None or fit.why is not None:
                yield replace(row, status=fit.why or "")
            else:
                yield _with(row, decisions.against_optimality(fit.kept.draws[name], rope, scale=scale))


def of_models(
    benchmark: Benchmark[Any, Any, Any], groups: Sequence[Group], wanted: Collection[tuple[str, str]]
) -> Iterator[Comparison]:
    """Yield family ``bayes_models`` of the wanted pairs of models."""
    named = {name for pair in wanted for name in pair}
    family = over_posteriors(lambda fits, seed: between_models(fits, seed, wanted))
    return family(benchmark, [group for group in groups if group.model in named])


def between_models(
    fits: Sequence[Fitted], seed: int, wanted: Collection[tuple[str, str]] | None = None
) -> Iterator[Comparison]:
    """Yield family ``bayes_models``: the wanted pairs of the models of a task, or all of them."""
    for group in _groups(fits, "task").values():
        named = {fit.model: fit for fit in group}
        for a, b in combinations(named, 2) if wanted is None else wanted:
            if a in named and b in named:
                yield from _pair("bayes_models", named[a], named[b], seed)


def between_tasks(fits: Sequence[Fitted], seed: int) -> Iterator[Comparison]:
    """Yield family ``bayes_tasks``: the tasks of a model."""
    for group in _groups(fits, "model").values():
        for a, b in combinations(group, 2):
            yield from _pair("bayes_tasks", a, b, seed)


def _groups(fits: Sequence[Fitted], held: str) -> dict[tuple[str, ...], list[Fitted]]:
    found: dict[tuple[str, ...], list[Fitted]] = {}
    for fit in fits:
        found.setdefault((fit.source, fit.dataset, getattr(fit, held)), []).append(fit)
    return found


def _pair(family: str, a: Fitted, b: Fitted, seed: int) -> Iterator[Comparison]:
    models = family == "bayes_models"
    names, held = ((a.model, b.model), {"task": a.task}) if models else ((a.task, b.task), {"model": a.model})
    for measure, (name, rope, scale) in _MEASURES.items():
        row = _base(family, a, measure, *names, a.n + b.n, **held)
        if a.kept is None or b.kept is None or a.why is not None or b.why is not None:
            yield replace(row, status=a.why or b.why or "")
            continue
        order = resampling.stream(
            "signaldetection", seed, family, a.dataset, a.source, a.task, a.model, b.task, b.model, measure
        )
        yield _with(
            row, decisions.compare(a.kept.draws[name], b.kept.draws[name], rope, scale=scale, seed=order)
        )


def _base(
    family: str,
    of: Fitted,
    measure: str,
    a: str,
    b: str,
    n: int,
    task: str | None = None,
    model: str | None = None,
) -> Comparison:
    return Comparison(
        family,
        measure,
        a,
        b,
        dataset=of.dataset,
        task=task,
        condition=CONFIDENCE,
        model=model,
        source=of.source,
        n=n,
    )


def _with(row: Comparison, found: decisions.Comparison) -> Comparison:
    row = replace(row, statistic=found.probability, note=f"region of practical equivalence ±{found.rope:g}")
    if row.measure == "log_m_ratio":
        if found.log_ratio is None:
            return replace(row, note=None, status=found.status)
        return replace(
            row, value=found.log_ratio, low=found.log_low, high=found.log_high, verdict=found.verdict
        )
    return replace(row, value=found.difference, low=found.low, high=found.high, verdict=found.verdict)
