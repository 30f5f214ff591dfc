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
from functools import partial
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
_AT_ONCE = 100  # pairs
_NEEDED = tuple(dict.fromkeys(name for name, _, _ in _MEASURES.values()))


def over_posteriors(
    family: Family,
) -> Callable[[Benchmark[Any, Any, Any], Sequence[Group]], Iterator[Comparison]]:
    """Return the contrast that runs ``family`` over the posteriors of complete groups that were asked for confidence."""

    def compute(benchmark: Benchmark[Any, Any, Any], groups: Sequence[Group]) -> Iterator[Comparison]:
        chosen = [group for group in groups if group.complete and group.condition == CONFIDENCE]
        return family(fitted(benchmark, chosen, _NEEDED), benchmark.context.seed)

    return compute


def optimality(fits: Sequence[Fitted], seed: int) -> Iterator[Comparison]:
    """Yield family ``bayes_optimality``: the M-ratio of each model and task with 1."""
    for fit in fits:
        for measure in ("m_ratio", "log_m_ratio"):
            name, rope, scale = _MEASURES[measure]
            row = _row(
                "bayes_optimality", fit, measure, (fit.model, OPTIMAL), fit.n, model=fit.model, task=fit.task
            )
            if fit.has_draws:
                found = decisions.against_optimality(fit.drawn(name), rope, scale=scale)
                yield row(**_found(measure, found))
            else:
                yield row(status=fit.why or "")


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
        pairs = combinations(named, 2) if wanted is None else wanted
        yield from _pairs(
            "bayes_models", [(named[a], named[b]) for a, b in pairs if a in named and b in named], seed
        )


def between_tasks(fits: Sequence[Fitted], seed: int) -> Iterator[Comparison]:
    """Yield family ``bayes_tasks``: the tasks of a model."""
    for group in _groups(fits, "model").values():
        yield from _pairs("bayes_tasks", list(combinations(group, 2)), seed)


def _groups(fits: Sequence[Fitted], held: str) -> dict[tuple[str, ...], list[Fitted]]:
    found: dict[tuple[str, ...], list[Fitted]] = {}
    for fit in fits:
        found.setdefault((fit.source, fit.dataset, getattr(fit, held)), []).append(fit)
    return found


def _pairs(family: str, pairs: Sequence[tuple[Fitted, Fitted]], seed: int) -> Iterator[Comparison]:
    """Yield the rows of pairs, some at a time: their draws are held at once."""
    for start in range(0, len(pairs), _AT_ONCE):
        some = pairs[start : start + _AT_ONCE]
        by_measure = [_of_measure(family, some, measure, seed) for measure in _MEASURES]
        for rows in zip(*by_measure, strict=True):
            yield from rows


def _of_measure(
    family: str, pairs: Sequence[tuple[Fitted, Fitted]], measure: str, seed: int
) -> Iterator[Comparison]:
    """Yield the row of each pair in one measure."""
    name, rope, scale = _MEASURES[measure]
    drawn = [(a, b) for a, b in pairs if a.has_draws and b.has_draws]
    seeds = [
        resampling.stream(
            "signaldetection", seed, family, a.dataset, a.source, a.task, a.model, b.task, b.model, measure
        )
        for a, b in drawn
    ]
    compared = iter(
        decisions.compare(a.drawn(name), b.drawn(name), rope, scale=scale, seed=own)
        for (a, b), own in zip(drawn, seeds, strict=True)
    )
    for a, b in pairs:
        if family == "bayes_models":
            row = _row(family, a, measure, (a.model, b.model), a.n + b.n, task=a.task)
        else:
            row = _row(family, a, measure, (a.task, b.task), a.n + b.n, model=a.model)
        if a.has_draws and b.has_draws:
            yield row(**_found(measure, next(compared)))
        else:
            yield row(status=a.why or b.why or "")


def _row(
    family: str, of: Fitted, measure: str, names: tuple[str, str], n: int, **held: Any
) -> Callable[..., Comparison]:
    """Return what makes a row of its numbers."""
    return partial(
        Comparison, family, measure, *names, dataset=of.dataset, condition=CONFIDENCE, source=of.source, n=n, **held
    )  # fmt: skip


def _found(measure: str, found: decisions.Comparison) -> dict[str, Any]:
    """Return the columns of a comparison."""
    own: dict[str, Any] = {"statistic": found.probability}
    if measure != "log_m_ratio":
        own |= {"value": found.difference, "low": found.low, "high": found.high}
    elif found.log_ratio is None:
        return {**own, "status": found.status}
    else:
        own |= {"value": found.log_ratio, "low": found.log_low, "high": found.log_high}
    return {**own, "verdict": found.verdict, "note": f"region of practical equivalence ±{found.rope:g}"}
