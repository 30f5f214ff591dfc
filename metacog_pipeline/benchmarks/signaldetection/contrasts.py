"""What is compared: the tests of the paper, and the paired ones that shared items allow.

The item with all its runs is the unit of chance, except in the Bayesian families, which take trials as independent as the
paper does. Models that did not finish a condition of a task are not compared there, save in ``models_paired``, which rests
on the items both answered; measured and simulated models are never compared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from metacog_pipeline.benchmark.contract import Benchmark, Comparison, Contrast, Group, Question, lost_items
from metacog_pipeline.benchmark.groups import together
from metacog_pipeline.benchmarks.signaldetection import measures
from metacog_pipeline.scoring.paired_tests import differences as paired_differences
from metacog_pipeline.scoring.paired_tests import joined, tables_of
from metacog_pipeline.stats import decisions, resampling
from metacog_pipeline.stats._arrays import Floats
from metacog_pipeline.stats.item_influences import QUANTITIES, item_influences

Bound = Benchmark[Any, Any, Any]
Wanted = Collection[tuple[str, str]]
# from the lowest predicted criterion to the highest
RISKS = ("risk_s1", "risk_none", "risk_s2")
#: Half widths of practical equivalence that give the verdicts of the paper, whose own are not in its text. It does not say
#: whether that of the M-ratio lies on the ratio or on its logarithm: both are shown.
ROPES = {"m_ratio": 0.05, "log_m_ratio": 0.05, "d": 0.1, "c": 0.1, "c_prime": 0.1}
OPTIMAL = "optimal (M-ratio 1)"


# --- criteria under risk ------------------------------------------------------------------------------------------------
def criteria(benchmark: Bound, groups: Sequence[Group], *, paired: bool = False) -> Iterator[Comparison]:
    """Yield c, d′ and c′ of two risk conditions of a model and task: that of the higher predicted c minus the other."""
    # One family is every pair of all models and tasks of one data set and source, by Bonferroni. ``criterion_z`` takes the
    # conditions as independent, as published; ``criterion_paired`` knows what they have in common item by item.
    for own in together([each for each in groups if each.complete and each.condition in RISKS]):
        found = [each for subject in together(own, "task", "model") for each in _moved(subject, paired)]
        if found:
            rows, differences, variances = zip(*found, strict=True)
            yield from shifts(rows, np.array(differences), np.sqrt(variances))


def _moved(groups: Sequence[Group], paired: bool) -> Iterator[tuple[Comparison, Floats, Floats]]:
    """Yield an empty row, the differences of `QUANTITIES` and their variances for the pairs of a model's conditions."""
    tables, counts = tables_of([group.rows for group in groups], measures.CODED)
    outcomes = tables @ measures.TRIALS.weights(counts)
    moved = [item_influences(*outcomes[:, at].T) for at in range(len(groups))]
    totals, conditions = outcomes.sum(axis=0).tolist(), [group.condition for group in groups]
    for i, j in np.column_stack(decisions.condition_pairs([0] * len(groups), conditions, RISKS)).tolist():
        one, two, note = moved[i], moved[j], None
        why = measures.no_type1(*totals[i]) or measures.no_type1(*totals[j])
        n, variance = int(sum(totals[i]) + sum(totals[j])), one.variance + two.variance
        if paired:
            common = (one.influence * two.influence).sum(axis=0)
            n, variance = int(one.answered @ two.answered), np.maximum(variance - 2 * common, 0.0)
            if n == 0 and why is None:
                # without a shared item there is nothing to pair
                continue
            r = float(common[0] / np.sqrt(one.variance[0] * two.variance[0]))
            note = f"c of the two conditions correlates {r:.2f} over shared items" if np.isfinite(r) else None
        held = {name: getattr(groups[i], name) for name in ("dataset", "source", "task", "model")}
        family = "criterion_paired" if paired else "criterion_z"
        row = Comparison(family, "", conditions[j], conditions[i], n=n, note=note, status=why or "ok", **held)
        yield row, two.value - one.value if why is None else np.full(3, np.nan), variance


def shifts(rows: Sequence[Comparison], difference: Floats, se: Floats) -> Iterator[Comparison]:
    """Yield ``rows`` with the test of each of `QUANTITIES`; difference and standard error are ``(rows, 3)``."""
    found: dict[str, decisions.Contrasts] = {}
    place = np.arange(len(rows))
    # d′ first: c′ is examined where d′ moved
    for name in ("d", "c", "c_prime"):
        at = QUANTITIES.index(name)
        moved = found["d"].test.significant if name == "c_prime" else None
        found[name] = decisions.contrasts(
            name, place, place, difference[:, at], se[:, at], rope=ROPES[name], examined=moved
        )
    for name in QUANTITIES:
        own, test = found[name], found[name].test
        numbers = {
            "value": own.difference, "se": own.se, "low": test.low, "high": test.high, "low_adjusted": test.low_adjusted,
            "high_adjusted": test.high_adjusted, "statistic": test.z, "p": test.p, "p_adjusted": test.p_adjusted,
        }  # fmt: skip
        for k, row in enumerate(rows):
            mine = {n: float(x[k]) for n, x in numbers.items()}
            plain: dict[str, Any] = {n: x if np.isfinite(x) else None for n, x in mine.items()}
            status, verdict, note = str(own.status[k]), None, row.note
            if status == "ok":
                verdict = str(own.verdict[k])
                examined = "d′ moved too" if own.examined[k] else "d′ did not move: c says the same"
                note = joined(note, examined if name == "c_prime" else None)
            status = row.status if row.status != "ok" else status
            yield replace(row, measure=name, **plain, status=status, verdict=verdict, note=note)


# --- posteriors ---------------------------------------------------------------------------------------------------------
def compared(
    family: str, names: tuple[str, str], a: measures.Fitted, b: measures.Fitted | None, seed: int, **held: Any
) -> Iterator[Comparison]:
    """Yield the M-ratio, its logarithm and d′ of a minus those of b; the M-ratio minus 1 where b is None."""
    # Two posteriors differ where the symmetric 95 % interval of the difference of their draws leaves out 0; the region of
    # practical equivalence then says whether it matters. ``statistic`` is the probability that a is the larger.
    why, n = a.why or (b.why if b else None), a.n + (b.n if b else 0)
    for measure in ("m_ratio", "log_m_ratio") if b is None else ("m_ratio", "log_m_ratio", "d"):
        row = Comparison(
            family, measure, *names, dataset=a.dataset, condition="confidence", source=a.source, n=n, **held
        )
        if why is not None:
            yield replace(row, status=why)
            continue
        parameter, rope = "d1" if measure == "d" else "m_ratio", ROPES[measure]
        scale: decisions.Scale = "log_ratio" if measure == "log_m_ratio" else "difference"
        if b is None:
            found = decisions.against_optimality(a.draws[parameter], rope, scale=scale)
        else:
            own = (family, a.dataset, a.source, a.task, a.model, b.task, b.model, measure)
            stream = resampling.stream("signaldetection", seed, *own)
            found = decisions.compare(a.draws[parameter], b.draws[parameter], rope, scale=scale, seed=stream)
        row = replace(row, statistic=found.probability, verdict=found.verdict)
        row = replace(row, note=f"region of practical equivalence ±{rope:g}")
        if scale == "difference":
            yield replace(row, value=found.difference, low=found.low, high=found.high)
        elif found.log_ratio is None:
            yield replace(row, status=found.status, verdict=None, note=None)
        else:
            yield replace(row, value=found.log_ratio, low=found.log_low, high=found.log_high)


def optimality(fits: Sequence[measures.Fitted], seed: int) -> Iterator[Comparison]:
    """Yield ``bayes_optimality``: the M-ratio of each model and task with 1."""
    for fit in fits:
        names, held = (fit.model, OPTIMAL), {"model": fit.model, "task": fit.task}
        yield from compared("bayes_optimality", names, fit, None, seed, **held)


def between_models(
    fits: Sequence[measures.Fitted], seed: int, wanted: Wanted | None = None
) -> Iterator[Comparison]:
    """Yield ``bayes_models``: the wanted pairs of the models of a task, or all of them."""
    for own in together(fits, "task"):
        named = {fit.model: fit for fit in own}
        for a, b in combinations(named, 2) if wanted is None else wanted:
            if a in named and b in named:
                yield from compared("bayes_models", (a, b), named[a], named[b], seed, task=own[0].task)


def between_tasks(fits: Sequence[measures.Fitted], seed: int) -> Iterator[Comparison]:
    """Yield ``bayes_tasks``: the tasks of a model."""
    for own in together(fits, "model"):
        for a, b in combinations(own, 2):
            yield from compared("bayes_tasks", (a.task, b.task), a, b, seed, model=a.model)


# --- two models on the items both answered ------------------------------------------------------------------------------
def differences(benchmark: Bound, groups: Sequence[Group], wanted: Wanted) -> Iterator[Comparison]:
    """Yield ``models_paired``: d′ and c under every condition; meta-d′ and M-ratio where confidence is asked for."""
    # Every resample draws items once and takes each model's answers to them, so what makes an item easy for all models
    # leaves their difference alone. Accuracy and AUROC2 are compared as in all benchmarks (family ``confidence_models``).
    for own in together([group for group in groups if group.rows.height], "task", "condition"):
        place, first = {group.model: at for at, group in enumerate(own)}, own[0]
        tables, counts = tables_of([group.rows for group in own], measures.CODED)
        held = {name: getattr(first, name) for name in ("dataset", "task", "condition", "source")}
        rows, here = {}, tables.sum(axis=2) > 0
        for i, j in ((place[a], place[b]) for a, b in wanted if a in place and b in place):
            n = int((here[:, i] & here[:, j]).sum())
            note = lost_items(int(here[:, i].sum()), int(here[:, j].sum()), n)
            rows[i, j] = Comparison("models_paired", "", own[i].model, own[j].model, n=n, note=note, **held)
        stream = benchmark.stream("paired", first.dataset, first.task, first.condition)
        trials = replace(measures.trials_of(first), counts=counts)

        def type1(totals: Floats, trials: measures.Trials = trials) -> Floats:
            made = measures.type1_draws(*trials.outcomes(totals))
            return np.stack([made[name] for name in measures.TYPE1[:2]])

        def type2(totals: Floats, trials: measures.Trials = trials) -> Floats:
            made = measures.meta_d_draws(trials.rated(totals))
            return np.stack([made[name] for name in measures.META_D])

        def lacking(name: str, totals: Floats, trials: measures.Trials = trials) -> str | None:
            if name in measures.META_D:
                return measures.no_meta_d(trials.rated(totals[None]))
            return measures.no_type1(*map(float, trials.outcomes(totals)))

        yield from paired_differences(rows, tables, measures.TYPE1[:2], type1, stream, undefined=lacking)
        if measures.rated(first.condition):
            # A fit costs a thousand times a rate: 1,000 resamples, and Wald's p from the interval, because M-ratios have
            # tails that a standard deviation would follow.
            yield from paired_differences(
                rows, tables, measures.META_D, type2, stream, undefined=lacking, kept=measures.N_BOOT
            )


# --- declarations -------------------------------------------------------------------------------------------------------
def _of(family: Callable[..., Iterator[Comparison]]) -> Callable[..., Iterator[Comparison]]:
    """Return the contrast that gives ``family`` the posteriors of the groups that have one."""

    def compute(benchmark: Bound, groups: Sequence[Group], *wanted: Wanted) -> Iterator[Comparison]:
        rated = (group for group in groups if group.complete and measures.rated(group.condition))
        return family([measures.fitted(benchmark, group) for group in rated], benchmark.seed, *wanted)

    return compute


_TOGETHER = ("dataset", "source", "family", "measure")
CONTRASTS = (
    Contrast(
        "bayes_optimality", _of(optimality), None, _TOGETHER, by_model=True,
        words="M-ratio of each model and task with 1, by its posterior.",
    ),
    Contrast(
        "bayes_models", _of(between_models), None, _TOGETHER, pairs=True, words="Posteriors of two models on one task.",
    ),
    Contrast(
        "bayes_tasks", _of(between_tasks), None, _TOGETHER, by_model=True,
        words="Posteriors of one model on two tasks.",
    ),
    Contrast(
        "criterion_z", criteria, None, _TOGETHER,
        words="c, d′, c′ of two risk conditions, conditions taken as independent.",
    ),
    Contrast(
        "criterion_paired", partial(criteria, paired=True), None, _TOGETHER,
        words="The same with what the conditions share item by item.",
    ),
    Contrast(
        "models_paired", differences, within=(*_TOGETHER, "task", "condition"), between_models=True, pairs=True,
        rope={name: ROPES[name] for name in ("m_ratio", "d", "c")}, version="4",
        words="Two models on the items both answered: meta-d′, M-ratio, d′, c.",
    ),
)  # fmt: skip
QUESTIONS = (
    Question(
        "Does one model's confidence use more of what the model knows than another's?",
        ("models_paired", "m_ratio"), ("bayes_models",), verdict="knows",
    ),
    Question("Does a model's confidence use all of what the model knows?", ("bayes_optimality", "m_ratio")),
    Question(
        "Does a model's confidence use more of what the model knows in one task than in another?",
        ("bayes_tasks", "m_ratio"),
    ),
    Question("Does a stated risk move the criterion of a model?", ("criterion_paired", "c"), ("criterion_z",)),
)  # fmt: skip
