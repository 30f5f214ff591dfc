"""What is compared: the tests of the paper, and the paired ones that shared items allow.

The item with all its runs is the unit of chance, except in the Bayesian families, which take trials as independent as the
paper does. Models that did not finish a condition of a task are not compared there, save in ``models_paired``, which rests
on the items both answered; measured and simulated models are never compared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from metacog_pipeline.benchmark.contract import Benchmark, Comparison, Contrast, Group, Question, lost_items
from metacog_pipeline.benchmark.groups import together
from metacog_pipeline.benchmarks.signaldetection import counts as counting
from metacog_pipeline.benchmarks.signaldetection.counts import UNANSWERED, Counts, Grid, counts_of, numbered
from metacog_pipeline.benchmarks.signaldetection.measures import (
    META_D,
    Fitted,
    fitted,
    meta_d_draws,
    no_confidence,
    no_type1,
    point_meta_d,
    rated,
    type1_draws,
)
from metacog_pipeline.stats import decisions, exact, resampling
from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats.bayes.population import population_efficiency
from metacog_pipeline.stats.estimate import OFTEN_UNDEFINED
from metacog_pipeline.stats.item_influences import QUANTITIES, ItemInfluences, item_influences
from metacog_pipeline.stats.resampling.products import Pair, Side, shared_draws

Bound = Benchmark[Any, Any, Any]
Wanted = Collection[tuple[str, str]]
RISKS = ("risk_s1", "risk_none", "risk_s2")  # from the lowest predicted criterion to the highest
#: Half widths of practical equivalence that give the verdicts of the paper, whose own are not in its text. It does not say
#: whether that of the M-ratio lies on the ratio or on its logarithm: both are shown.
ROPES = {"m_ratio": 0.05, "log_m_ratio": 0.05, "d": 0.1, "c": 0.1, "c_prime": 0.1}
OPTIMAL = "optimal (M-ratio 1)"
LEAST_MODELS = 3  # of a group fit: two models say nothing of a population


def _joined(*notes: str | None) -> str | None:
    return "; ".join(each for each in notes if each) or None


# --- criteria under risk ------------------------------------------------------------------------------------------------
def influences_of(counts: Counts, item: Ints, n_items: int) -> ItemInfluences:
    """Return the influences of the items of a group, no value where it has no d′; ``item`` numbers those of all groups."""
    table = np.zeros((n_items, counts.grid.places))
    table[item, counts.place] = counts.number
    found = item_influences(*counts.grid.outcomes(table))
    return found if _no_d(counts) is None else replace(found, value=np.full(3, np.nan))


def _no_d(counts: Counts) -> str | None:
    return no_type1(*map(float, counts.grid.outcomes(counts.totals)))


def criteria(benchmark: Bound, groups: Sequence[Group], *, paired: bool = False) -> Iterator[Comparison]:
    """Yield c, d′ and c′ of two risk conditions of a model and task: that of the higher predicted c minus the other.

    One family is every pair of all models and tasks of one data set and source, by Bonferroni. ``criterion_z`` takes the
    conditions as independent, as published; ``criterion_paired`` knows what they have in common item by item.
    """
    for own in together([each for each in groups if each.complete and each.condition in RISKS]):
        counts = [counts_of(group) for group in own]
        items, n_items = numbered(counts)
        moved = [influences_of(each, item, n_items) for each, item in zip(counts, items, strict=True)]
        subjects, conditions = [(g.task or "", g.model) for g in own], [g.condition for g in own]
        rows, differences, variances = [], [], []
        for i, j in np.column_stack(decisions.condition_pairs(subjects, conditions, RISKS)).tolist():
            one, two, note, why = moved[i], moved[j], None, _no_d(counts[i]) or _no_d(counts[j])
            n, variance = counts[i].n_readable + counts[j].n_readable, one.variance + two.variance
            if paired:
                common = (one.influence * two.influence).sum(axis=0)
                n, variance = int(one.answered @ two.answered), np.maximum(variance - 2 * common, 0.0)
                if n == 0 and why is None:
                    continue  # without a shared item there is nothing to pair
                r = float(common[0] / np.sqrt(one.variance[0] * two.variance[0]))
                if np.isfinite(r):
                    note = f"c of the two conditions correlates {r:.2f} over shared items"
            differences.append(two.value - one.value)
            variances.append(variance)
            rows.append(
                Comparison(
                    "criterion_paired" if paired else "criterion_z", "", own[j].condition, own[i].condition,
                    dataset=own[i].dataset, source=own[i].source, task=own[i].task, model=own[i].model, n=n, note=note,
                    status=why or "ok",
                )
            )  # fmt: skip
        if rows:
            yield from shifts(rows, np.array(differences), np.sqrt(variances))


def shifts(rows: Sequence[Comparison], difference: Floats, se: Floats) -> Iterator[Comparison]:
    """Yield ``rows`` with the test of each of `QUANTITIES`; difference and standard error are ``(rows, 3)``."""
    found: dict[str, decisions.Contrasts] = {}
    place = np.arange(len(rows))
    for name in ("d", "c", "c_prime"):  # d′ first: c′ is examined where d′ moved
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
            plain: dict[str, Any] = {
                n: float(x[k]) if np.isfinite(x[k]) else None for n, x in numbers.items()
            }
            status, verdict, note = str(own.status[k]), None, row.note
            if status == "ok":
                verdict = str(own.verdict[k])
                examined = "d′ moved too" if own.examined[k] else "d′ did not move: c says the same"
                note = _joined(note, examined if name == "c_prime" else None)
            status = row.status if row.status != "ok" else status
            yield replace(row, measure=name, **plain, status=status, verdict=verdict, note=note)


# --- posteriors ---------------------------------------------------------------------------------------------------------
def compared(
    family: str, names: tuple[str, str], a: Fitted, b: Fitted | None, seed: int, **held: Any
) -> Iterator[Comparison]:
    """Yield the M-ratio, its logarithm and d′ of a minus those of b; the M-ratio minus 1 where b is None.

    Two posteriors differ where the symmetric 95 % interval of the difference of their draws leaves out 0; the region of
    practical equivalence then says whether it matters. ``statistic`` is the probability that a is the larger.
    """
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


def optimality(fits: Sequence[Fitted], seed: int) -> Iterator[Comparison]:
    """Yield ``bayes_optimality``: the M-ratio of each model and task with 1."""
    for fit in fits:
        names, held = (fit.model, OPTIMAL), {"model": fit.model, "task": fit.task}
        yield from compared("bayes_optimality", names, fit, None, seed, **held)


def between_models(fits: Sequence[Fitted], seed: int, wanted: Wanted | None = None) -> Iterator[Comparison]:
    """Yield ``bayes_models``: the wanted pairs of the models of a task, or all of them."""
    for own in together(fits, "task"):
        named = {fit.model: fit for fit in own}
        for a, b in combinations(named, 2) if wanted is None else wanted:
            if a in named and b in named:
                yield from compared("bayes_models", (a, b), named[a], named[b], seed, task=own[0].task)


def between_tasks(fits: Sequence[Fitted], seed: int) -> Iterator[Comparison]:
    """Yield ``bayes_tasks``: the tasks of a model."""
    for own in together(fits, "model"):
        for a, b in combinations(own, 2):
            yield from compared("bayes_tasks", (a.task, b.task), a, b, seed, model=a.model)


def populations(fits: Sequence[Fitted], seed: int) -> Iterator[Comparison]:
    """Yield ``bayes_group``: the M-ratio, minus 1, of the population that the models of a task come from."""
    for own in together(fits, "task"):
        logs = [
            np.log(fit.draws["m_ratio"]) for fit in own if fit.why is None and fit.draws["m_ratio"].min() > 0
        ]
        if len(logs) >= LEAST_MODELS:
            value, low, high = population_efficiency([x.mean() for x in logs], [x.std(ddof=1) for x in logs])
            yield Comparison(
                "bayes_group", "m_ratio", "population of models", OPTIMAL, dataset=own[0].dataset, task=own[0].task,
                condition="confidence", source=own[0].source, n=len(logs), value=value - 1, low=low - 1, high=high - 1,
                note=f"M-ratio {value:.3f}, {low:.3f} to {high:.3f}",
            )  # fmt: skip


# --- two models on the items both answered ------------------------------------------------------------------------------
NO_SHARED, SAME = "no shared items", "the same in every resample"
_ROUNDING = 1e-12
Value = tuple[float, Floats, str | None]  # value, resamples, why there is none


def differences(benchmark: Bound, groups: Sequence[Group], wanted: Wanted) -> Iterator[Comparison]:
    """Yield ``models_paired``: d′ and c under every condition; meta-d′ and M-ratio where confidence is asked for.

    Every resample draws items once and takes each model's answers to them, so what makes an item easy for all models leaves
    their difference alone. p is that of 10,000 resamples. Meta-d′ and M-ratio are fitted again in 1,000 of them; there p is
    Wald's, the error being the width of the percentile interval over 3.92 (M-ratios have tails that a standard deviation
    would follow). Accuracy and AUROC2 are compared as in all benchmarks (family ``confidence_models``).
    """
    for own in together([group for group in groups if group.rows.height], "task", "condition"):
        place = {group.model: number for number, group in enumerate(own)}
        if pairs := [(place[a], place[b]) for a, b in wanted if a in place and b in place]:
            yield from _paired(benchmark, own, pairs)


def _paired(
    benchmark: Bound, groups: Sequence[Group], pairs: Sequence[tuple[int, int]]
) -> Iterator[Comparison]:
    """Yield the rows of the models of one source, data set, task and condition, complete or not."""
    counts, first = [counts_of(group) for group in groups], groups[0]
    grid, tables = counts[0].grid, tables_of(counts)
    draws = partial(
        shared_draws, wanted=pairs, n_draws=resampling.N_TESTED, answered=tables.any(axis=2),
        stream=benchmark.stream("paired", first.dataset, first.task, first.condition),
    )  # fmt: skip
    outcomes = np.stack(grid.outcomes(tables.astype(np.float64)), axis=2).astype(np.int64)
    families: list[tuple[Iterator[Pair], Callable[[Side], Mapping[str, Value]]]] = [(draws(outcomes), _type1)]
    # A fit costs a thousand times a rate, so it is made in the first resamples only.
    if rated(first.condition):
        families.append((draws(tables, kept=counting.N_BOOT), partial(_fits, grid)))
    for drawn, measured in families:
        for pair in drawn:
            a, b = groups[pair.first], groups[pair.second]
            lost = lost_items(pair.n_items + pair.lost[0], pair.n_items + pair.lost[1], pair.n_items)
            row = Comparison(
                "models_paired", "", a.model, b.model, dataset=a.dataset, task=a.task, condition=a.condition,
                source=a.source, n=pair.n_items, note=lost,
            )  # fmt: skip
            one, two = (side.once("measured", measured) for side in pair.sides)
            both = tables[:, [pair.first, pair.second]]
            for name in one:
                yield _exact(grid, both, _difference(replace(row, measure=name), one[name], two[name]))


def tables_of(counts: Sequence[Counts]) -> Ints:
    """Return the answers of several models, items × models × places: the same row is the same item."""
    numbers, n = numbered(counts)
    grid = counts[0].grid
    tables = np.zeros((n, len(counts), grid.places), dtype=np.int64)
    for model, (each, item) in enumerate(zip(counts, numbers, strict=True)):
        tables[item, model, each.place] = each.number  # an item is once at each place
    tables[:, :, grid.response == UNANSWERED] = 0
    return tables


def _type1(side: Side) -> Mapping[str, Value]:
    found = type1_draws(*side.sample.T)
    why = no_type1(*map(float, side.observed[0]))
    return {name: (float(found[name][0]), found[name][1:], why) for name in ("d", "c")}


def _fits(grid: Grid, side: Side) -> Mapping[str, Value]:
    why = no_confidence(grid.rated(side.observed))[1]
    if why is not None:
        return dict.fromkeys(META_D, (np.nan, side.drawn[:, 0], why))
    drawn = meta_d_draws(grid, side.drawn)
    # A fit may have no number though its resamples have: d′ of exactly 0 leaves none.
    return {
        name: (value, drawn[name], None if np.isfinite(value) else why)
        for name, (value, why) in point_meta_d(grid, side.observed[0]).items()
    }


def _difference(row: Comparison, one: Value, two: Value) -> Comparison:
    """Return ``row`` with the difference of two models."""
    why = (one[2] or two[2]) if row.n else NO_SHARED
    if why is not None:
        return replace(row, status=why)
    found = resampling.difference(
        one[0] - two[0], one[1] - two[1], "percentile", tolerance=_ROUNDING, wald=row.measure in META_D
    )
    if found.low is None:
        return replace(row, value=found.value, status=OFTEN_UNDEFINED)
    row = replace(
        row, value=found.value, se=found.se, low=found.low, high=found.high, statistic=found.statistic, p=found.p
    )  # fmt: skip
    if found.statistic is None:
        return replace(row, status=SAME) if found.p is None else replace(row, note=_joined(SAME, row.note))
    return replace(row, note=_joined(f"paired item bootstrap, {found.usable_note}", row.note))


def _exact(grid: Grid, both: Ints, row: Comparison) -> Comparison:
    """Return ``row`` with the p of all exchanges where there are few items: resamples of a few make it too small."""
    if row.statistic is None or row.n > exact.MOST_SWAPPED:
        return row

    def statistic(items: Floats) -> Floats:
        totals = items.sum(axis=1)
        found = meta_d_draws(grid, totals) if row.measure in META_D else type1_draws(*grid.outcomes(totals))
        return found[row.measure]

    answered = np.asarray(both.any(axis=2)).all(axis=1)
    shared = both[answered].astype(np.float64)
    p = exact.paired_p(shared[:, 0], shared[:, 1], statistic)
    return replace(row, p=p, note=_joined(exact.NOTE, row.note))


# --- declarations -------------------------------------------------------------------------------------------------------
def _of(family: Callable[..., Iterator[Comparison]]) -> Callable[..., Iterator[Comparison]]:
    """Return the contrast that gives ``family`` the posteriors of the groups that have one."""

    def compute(benchmark: Bound, groups: Sequence[Group], *wanted: Wanted) -> Iterator[Comparison]:
        fits = [fitted(benchmark, group) for group in groups if group.complete and rated(group.condition)]
        return family(fits, benchmark.context.seed, *wanted)

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
        "bayes_group", _of(populations), None, _TOGETHER, unit="models",
        words="M-ratio of the population of three or more models of a task with 1, from their posteriors.",
    ),
    Contrast(
        "criterion_z", criteria, None, _TOGETHER, paper="table S2",
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
    Question(
        "Does a model's confidence use all of what the model knows?", ("bayes_optimality", "m_ratio"), ("bayes_group",)
    ),
    Question(
        "Does a model's confidence use more of what the model knows in one task than in another?",
        ("bayes_tasks", "m_ratio"),
    ),
    Question("Does a stated risk move the criterion of a model?", ("criterion_paired", "c"), ("criterion_z",)),
)  # fmt: skip
