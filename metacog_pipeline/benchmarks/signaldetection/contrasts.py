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
from pathlib import Path
from typing import Any

import numpy as np

from metacog_pipeline.benchmark.contract import Benchmark, Comparison, Contrast, Group, Question, lost_items
from metacog_pipeline.benchmarks.signaldetection import counts as counting
from metacog_pipeline.benchmarks.signaldetection.counts import Counts, Grid, counts_of, numbered
from metacog_pipeline.benchmarks.signaldetection.measures import (
    Fitted,
    fitted,
    kept,
    meta_d_draws,
    no_confidence,
    no_type1,
    point_meta_d,
    rated,
    type1_draws,
)
from metacog_pipeline.files import sha256_hex
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

    def on(stimulus: int, response: int) -> Floats:
        weights = counts.number * counts.grid.where(stimulus, response)[counts.place]
        found: Floats = np.bincount(item, weights=weights, minlength=n_items).astype(np.float64)
        return found

    found = item_influences(*(on(*each) for each in ((1, 1), (1, 0), (0, 1), (0, 0))))
    return found if no_type1(counts) is None else replace(found, value=np.full(3, np.nan))


def criteria(benchmark: Bound, groups: Sequence[Group], *, paired: bool = False) -> Iterator[Comparison]:
    """Yield c, d′ and c′ of two risk conditions of a model and task: that of the higher predicted c minus the other.

    One family is every pair of all models and tasks of one data set and source, by Bonferroni. ``criterion_z`` takes the
    conditions as independent, as published; ``criterion_paired`` knows what they have in common item by item.
    """
    families: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        if group.complete and group.condition in RISKS:
            families.setdefault((group.source, group.dataset), []).append(group)
    for own in families.values():
        yield from _criteria(own, paired)


def _criteria(groups: Sequence[Group], paired: bool) -> Iterator[Comparison]:
    counts = [counts_of(group) for group in groups]
    items, n_items = numbered(counts)
    moved = [influences_of(each, item, n_items) for each, item in zip(counts, items, strict=True)]
    why = [no_type1(each) for each in counts]
    subjects = [(group.task or "", group.model) for group in groups]
    first, second = decisions.condition_pairs(subjects, [group.condition for group in groups], RISKS)
    rows, kept_pairs, spreads = [], [], []
    for pair, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        one, two, note = moved[i], moved[j], None
        n, variance = counts[i].n_readable + counts[j].n_readable, one.variance + two.variance
        if paired:
            common = (one.influence * two.influence).sum(axis=0)
            n, variance = int(one.answered @ two.answered), np.maximum(variance - 2 * common, 0.0)
            if n == 0 and not (why[i] or why[j]):
                continue  # without a shared item there is nothing to pair
            r = float(common[0] / np.sqrt(one.variance[0] * two.variance[0]))
            note = f"c of the two conditions correlates {r:.2f} over shared items" if np.isfinite(r) else None
        kept_pairs.append(pair)
        spreads.append(np.sqrt(variance))
        rows.append(
            Comparison(
                "criterion_paired" if paired else "criterion_z", "", groups[j].condition, groups[i].condition,
                dataset=groups[i].dataset, source=groups[i].source, task=groups[i].task, model=groups[i].model, n=n,
                note=note, status=why[i] or why[j] or "ok",
            )
        )  # fmt: skip
    if rows:
        first, second = first[kept_pairs], second[kept_pairs]
        values = np.array([each.value for each in moved])
        yield from shifts(rows, first, second, values[second] - values[first], np.array(spreads))


def shifts(
    rows: Sequence[Comparison], first: Ints, second: Ints, difference: Floats, se: Floats
) -> Iterator[Comparison]:
    """Yield ``rows`` with the test of each of `QUANTITIES`; difference and standard error are ``(rows, 3)``."""
    found: dict[str, decisions.Contrasts] = {}
    for name in ("d", "c", "c_prime"):  # d′ first: c′ is examined where d′ moved
        at = QUANTITIES.index(name)
        moved = found["d"].test.significant if name == "c_prime" else None
        found[name] = decisions.contrasts(
            name, first, second, difference[:, at], se[:, at], rope=ROPES[name], examined=moved
        )
    for name in QUANTITIES:
        own, test = found[name], found[name].test
        numbers = {
            "value": own.difference, "se": own.se, "low": test.low, "high": test.high, "low_adjusted": test.low_adjusted,
            "high_adjusted": test.high_adjusted, "statistic": test.z, "p": test.p, "p_adjusted": test.p_adjusted,
        }  # fmt: skip
        for k, row in enumerate(rows):
            plain: dict[str, Any] = {
                each: float(x[k]) if np.isfinite(x[k]) else None for each, x in numbers.items()
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
        row = replace(row, statistic=found.probability)
        if measure != "log_m_ratio":
            ends: tuple[float | None, ...] = (found.difference, found.low, found.high)
        elif found.log_ratio is None:
            yield replace(row, status=found.status)
            continue
        else:
            ends = found.log_ratio, found.log_low, found.log_high
        note = f"region of practical equivalence ±{rope:g}"
        yield replace(row, value=ends[0], low=ends[1], high=ends[2], verdict=found.verdict, note=note)


def optimality(fits: Sequence[Fitted], seed: int) -> Iterator[Comparison]:
    """Yield ``bayes_optimality``: the M-ratio of each model and task with 1."""
    for fit in fits:
        yield from compared(
            "bayes_optimality", (fit.model, OPTIMAL), fit, None, seed, model=fit.model, task=fit.task
        )


def between_models(fits: Sequence[Fitted], seed: int, wanted: Wanted | None = None) -> Iterator[Comparison]:
    """Yield ``bayes_models``: the wanted pairs of the models of a task, or all of them."""
    for (*_, task), own in _by(fits, "task").items():
        named = {fit.model: fit for fit in own}
        for a, b in combinations(named, 2) if wanted is None else wanted:
            if a in named and b in named:
                yield from compared("bayes_models", (a, b), named[a], named[b], seed, task=task)


def between_tasks(fits: Sequence[Fitted], seed: int) -> Iterator[Comparison]:
    """Yield ``bayes_tasks``: the tasks of a model."""
    for (*_, model), own in _by(fits, "model").items():
        for a, b in combinations(own, 2):
            yield from compared("bayes_tasks", (a.task, b.task), a, b, seed, model=model)


def _by(fits: Sequence[Fitted], held: str) -> dict[tuple[str, ...], list[Fitted]]:
    found: dict[tuple[str, ...], list[Fitted]] = {}
    for fit in fits:
        found.setdefault((fit.source, fit.dataset, getattr(fit, held)), []).append(fit)
    return found


def populations(fits: Sequence[Fitted], seed: int) -> Iterator[Comparison]:
    """Yield ``bayes_group``: the M-ratio, minus 1, of the population that the models of a task come from."""
    for (*_, task), own in _by(fits, "task").items():
        logs = [
            np.log(fit.draws["m_ratio"]) for fit in own if fit.why is None and fit.draws["m_ratio"].min() > 0
        ]
        if len(logs) < LEAST_MODELS:
            continue
        value, low, high = population_efficiency([x.mean() for x in logs], [x.std(ddof=1) for x in logs])
        yield Comparison(
            "bayes_group", "m_ratio", "population of models", OPTIMAL, dataset=own[0].dataset, task=task,
            condition="confidence", source=own[0].source, n=len(logs), value=value - 1, low=low - 1, high=high - 1,
            note=f"M-ratio {value:.3f}, {low:.3f} to {high:.3f}",
        )  # fmt: skip


# --- two models on the items both answered ------------------------------------------------------------------------------
FITTED = ("meta_d", "m_ratio")
NO_SHARED, SAME = "no shared items", "the same in every resample"
_ROUNDING = 1e-12
Values = Mapping[str, tuple[float, Floats, str | None]]  # value, resamples, why there is none


def differences(benchmark: Bound, groups: Sequence[Group], wanted: Wanted) -> Iterator[Comparison]:
    """Yield ``models_paired``: d′ and c under every condition; meta-d′ and M-ratio where confidence is asked for.

    Every resample draws items once and takes each model's answers to them, so what makes an item easy for all models leaves
    their difference alone. p is that of 10,000 resamples. Meta-d′ and M-ratio are fitted again in 1,000 of them; there p is
    Wald's, the error being the width of the percentile interval over 3.92 (M-ratios have tails that a standard deviation
    would follow). Up to 12 shared items p is that of all exchanges between the two. Accuracy and AUROC2 are compared as in
    all benchmarks (family ``confidence_models``).
    """
    together: dict[tuple[str | None, ...], list[Group]] = {}
    for group in groups:
        if group.rows.height:
            key = (group.source, group.dataset, group.task, group.condition)
            together.setdefault(key, []).append(group)
    for own in together.values():
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
    families: list[tuple[Iterator[Pair], tuple[str, ...], Callable[[Side], Values]]]
    families = [(draws(outcomes), ("d", "c"), _type1)]
    if rated(first.condition):
        fits = partial(_fits, grid, benchmark.context.cache("fits"))
        families.append((draws(tables, kept=counting.N_BOOT), FITTED, fits))
    for drawn, names, measured in families:
        for pair in drawn:
            a, b = groups[pair.first], groups[pair.second]
            lost = lost_items(pair.n_items + pair.lost[0], pair.n_items + pair.lost[1], pair.n_items)
            row = Comparison(
                "models_paired", "", a.model, b.model, dataset=a.dataset, task=a.task, condition=a.condition,
                source=a.source, n=pair.n_items, note=lost,
            )  # fmt: skip
            one, two = (side.once("measured", measured) for side in pair.sides)
            both = tables[:, [pair.first, pair.second]]
            for name in names:
                yield _difference(replace(row, measure=name), one[name], two[name], grid, both)


def tables_of(counts: Sequence[Counts]) -> Ints:
    """Return the answers of several models, items × models × places: the same row is the same item."""
    numbers, n = numbered(counts)
    grid = counts[0].grid
    tables = np.zeros((n, len(counts), grid.places), dtype=np.int64)
    for model, (each, item) in enumerate(zip(counts, numbers, strict=True)):
        tables[item, model, each.place] = each.number  # an item is once at each place
    tables[:, :, grid.answered() == 0] = 0
    return tables


def _type1(side: Side) -> Values:
    found = type1_draws(*side.sample.T)
    why = no_type1(side.observed[0])
    return {name: (float(found[name][0]), found[name][1:], why) for name in ("d", "c")}


def _fits(grid: Grid, folder: Path, side: Side) -> Values:
    """Return meta-d′ and M-ratio, kept in ``folder``: a thousand fits, which every pair of a model needs."""
    why = no_confidence(grid.rated(side.observed))[1]
    if why is not None:
        return dict.fromkeys(FITTED, (np.nan, side.drawn[:, 0], why))
    key = sha256_hex(f"2 {grid.ratings} {side.drawn.shape}".encode() + side.sample.tobytes())
    drawn = kept(folder / f"{key}.npz", lambda: meta_d_draws(grid, side.drawn))
    point = point_meta_d(grid, side.observed[0])
    # A fit may have no number though its resamples have: d′ of exactly 0 leaves none.
    return {
        name: (value, drawn[name], None if np.isfinite(value) else why)
        for name, (value, why) in point.items()
        if name in FITTED
    }


def _difference(
    row: Comparison,
    one: tuple[float, Floats, str | None],
    two: tuple[float, Floats, str | None],
    grid: Grid,
    both: Ints,
) -> Comparison:
    """Return ``row`` with the difference of two models; ``both`` are their answers, items × 2 × places."""
    why = (one[2] or two[2]) if row.n else NO_SHARED
    if why is not None:
        return replace(row, status=why)
    fitted_again = row.measure in FITTED
    found = resampling.difference(
        one[0] - two[0], one[1] - two[1], "percentile", tolerance=_ROUNDING, wald=fitted_again
    )
    if found.low is None:
        return replace(row, value=found.value, status=OFTEN_UNDEFINED)
    row = replace(
        row,
        value=found.value,
        se=found.se,
        low=found.low,
        high=found.high,
        statistic=found.statistic,
        p=found.p,
    )
    if found.statistic is None:
        return replace(row, status=SAME) if found.p is None else replace(row, note=_joined(SAME, row.note))
    if row.n > exact.MOST_SWAPPED:
        return replace(row, note=_joined(f"paired item bootstrap, {found.usable_note}", row.note))

    def statistic(items: Floats) -> Floats:
        totals = items.sum(axis=1)
        return (meta_d_draws(grid, totals) if fitted_again else type1_draws(*grid.outcomes(totals)))[
            row.measure
        ]

    answered = np.asarray(both.any(axis=2)).all(axis=1)
    shared = both[answered].astype(np.float64)
    p = exact.paired_p(shared[:, 0], shared[:, 1], statistic)
    return replace(row, p=p, note=_joined(exact.NOTE, row.note))


# --- declarations -------------------------------------------------------------------------------------------------------
def _posteriors(benchmark: Bound, groups: Sequence[Group]) -> list[Fitted]:
    return [fitted(benchmark, group) for group in groups if group.complete and rated(group.condition)]


def _of_models(benchmark: Bound, groups: Sequence[Group], wanted: Wanted) -> Iterator[Comparison]:
    named = {name for pair in wanted for name in pair}
    fits = _posteriors(benchmark, [group for group in groups if group.model in named])
    return between_models(fits, benchmark.context.seed, wanted)


def _of_each(
    family: Callable[[Sequence[Fitted], int], Iterator[Comparison]],
) -> Callable[..., Iterator[Comparison]]:
    return lambda benchmark, groups: family(_posteriors(benchmark, groups), benchmark.context.seed)


_TOGETHER = ("dataset", "source", "family", "measure")
CONTRASTS = (
    Contrast(
        "bayes_optimality", _of_each(optimality), None, _TOGETHER, by_model=True,
        words="M-ratio of each model and task with 1, by its posterior.",
    ),
    Contrast("bayes_models", _of_models, None, _TOGETHER, pairs=True, words="Posteriors of two models on one task."),
    Contrast(
        "bayes_tasks", _of_each(between_tasks), None, _TOGETHER, by_model=True,
        words="Posteriors of one model on two tasks.",
    ),
    Contrast(
        "bayes_group", _of_each(populations), None, _TOGETHER, unit="models",
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
