"""Tests between models, between languages of a model, and between asking twice and once.

====================  ===============================================================================================
``models_paired``     two models on the items both answered under one condition; Holm over the pairs of a measure
``languages_paired``  two languages of one model on the same questions; Holm over the pairs of a model and measure
``dual_idk``          the two questions (``dual``) minus the one with leave to abstain (``idk``), same questions of one
                      model; under ``idk`` a yes is an answer that was not withheld; Holm over the models of a measure
``mcnemar``           accuracy in the pairs above, mid-p on the items that only one of the two got right; where items
                      were asked once and none hang together
====================  ===============================================================================================

The item is the unit of chance, with all its runs; what is drawn together is drawn alike on both sides. Up to 12 of them,
p is that of all exchanges between the two. Two models are
compared on what both answered; elsewhere models that did not finish a condition are left out there. Simulated ones never
meet measured ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, combinations
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Comparison, Contrast, Group, lost_items
from metacog_pipeline.benchmark.groups import Counts, Floats, Ints, counted
from metacog_pipeline.benchmarks.selfknowledge.measures import log_linear, outcomes
from metacog_pipeline.benchmarks.selfknowledge.prompts import IDK, gives_leave
from metacog_pipeline.stats import exact, intervals, resampling
from metacog_pipeline.stats.auroc import auroc_statistic
from metacog_pipeline.stats.estimate import OFTEN_UNDEFINED
from metacog_pipeline.stats.paired import mcnemar
from metacog_pipeline.stats.resampling.products import Side as SharedSide
from metacog_pipeline.stats.resampling.products import shared_draws
from metacog_pipeline.stats.roc import MovedArea, area_difference, moved_area

DUAL = "dual"
N_DRAWS = resampling.N_TESTED
MEASURES = ("accuracy", "d_type2", "raw_alignment", "yes_ratio", "yfr", "nfr")
LARGE = "d′ under idk is large because an abstention is hardly ever right"
#: Names under idk of what is computed the same way under dual.
IDK_NAMES = {"accuracy": "idk_accuracy", "raw_alignment": "idk_alignment", "d_type2": "idk_d_type2"}
NO_SHARED = "no shared items"
UNDEFINED = "undefined in one of them"
SAME = "the same in every resample"
TIE = 1e-12  # differences below this are rounding
#: From totals ``(B, combinations)`` to measures of them ``(measures, B)``.
Measured = Callable[[Floats], Floats]
#: What a row is about: values of fields of `Comparison`, or what was found of it.
Fields = dict[str, Any]
Pairs = Iterable[tuple[Fields, Group, Group]]
#: The differences of measures between two groups ``(measures,)``, and those of every resample ``(measures, B)``.
Drawn = tuple[Floats, Floats]


# --- which pairs ------------------------------------------------------------------------------------------------------
def _together(groups: Sequence[Group], *fields: str, whole: bool = True) -> Iterable[list[Group]]:
    found: dict[tuple[str, ...], list[Group]] = {}
    for group in groups:
        if group.complete or (not whole and group.rows.height):
            found.setdefault((group.source, *(getattr(group, each) for each in fields)), []).append(group)
    return found.values()


def _base(family: str, a: Group, b: Group, **held: Any) -> Fields:
    first, second = (a.condition, b.condition) if "model" in held else (a.model, b.model)
    return {"family": family, "a": first, "b": second, "dataset": a.dataset, "source": a.source, **held}


def between_models(groups: Sequence[Group], wanted: Collection[tuple[str, str]]) -> Iterator[Pairs]:
    """Yield the wanted pairs of models of each data set and condition."""
    for own in _together(groups, "dataset", "condition", whole=False):
        named = {group.model: group for group in own}
        both = [(named[a], named[b]) for a, b in wanted if a in named and b in named]
        yield [(_base("models_paired", a, b, condition=a.condition), a, b) for a, b in both]


def between_languages(groups: Sequence[Group]) -> Iterator[Pairs]:
    """Yield the pairs of languages of each data set and model."""
    for own in _together(groups, "dataset", "model"):
        spoken = [group for group in own if not gives_leave(group.condition)]
        yield [(_base("languages_paired", a, b, model=a.model), a, b) for a, b in combinations(spoken, 2)]


def twice_or_once(groups: Sequence[Group]) -> Iterator[Pairs]:
    """Yield dual beside idk of each model of a data set."""
    for own in _together(groups, "dataset"):
        idk = {group.model: group for group in own if group.condition == IDK}
        yield [
            (_base("dual_idk", group, idk[group.model], model=group.model), group, idk[group.model])
            for group in own
            if group.condition == DUAL and group.model in idk
        ]


def _contrast(family: str, pairs: Callable[..., Iterator[Pairs]], words: str) -> Contrast:
    models = family == "models_paired"

    def compute(benchmark: Any, groups: Sequence[Group], *wanted: Any) -> Iterator[Comparison]:
        for own in pairs(groups, *wanted):
            for base, a, b, shared in _together_drawn(benchmark, list(own)) if models else _apart(own):
                yield from compared(base, a, b, shared)

    # Of one family are the tests of one measure in one data set and condition, or of one model.
    held = ("dataset", "source", "condition") if family == "models_paired" else ("dataset", "source")
    within = (
        (*held, "model", "family", "measure")
        if family == "languages_paired"
        else (*held, "family", "measure")
    )
    return Contrast(
        family, compute, "holm", within, words=words, between_models=models, pairs=models, by_model=not models,
        version="4",
    )  # fmt: skip


def _apart(pairs: Pairs) -> Iterator[tuple[Fields, Group, Group, None]]:
    yield from ((base, a, b, None) for base, a, b in pairs)


# --- one pair ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Side:
    """The answers of one group that are compared, with the number of the cluster of each; what every test of them needs is
    made once."""

    rows: pl.DataFrame
    clusters: Ints

    @cached_property
    def n_items(self) -> int:
        """How many items were answered."""
        return self.rows["item_id"].n_unique()

    @cached_property
    def repeated(self) -> bool:
        """Whether any cluster holds more than one answer."""
        return int(np.bincount(self.clusters).max(initial=0)) > 1

    @cached_property
    def area(self) -> MovedArea | None:
        """The area under the type-2 ROC; None where there is no graded yes."""
        return None if self.graded is None else moved_area(*self.graded)

    @cached_property
    def share(self) -> float | None:
        """The share of right answers; None where there is none."""
        return float(self.correct.mean()) if len(self.correct) else None

    @cached_property
    def graded(self) -> tuple[Floats, Ints, Ints] | None:
        """Confidence, correctness and cluster of each graded yes; None where there is none."""
        confidence = self.rows["confidence"].to_numpy()
        kept = ~np.isnan(confidence)
        if not kept.any():
            return None
        correct = self.rows["correct"].filter(pl.Series(kept)).cast(pl.Int64)
        return confidence[kept], correct.to_numpy(), self.clusters[kept]

    @cached_property
    def correct(self) -> Ints:
        """Whether each answer is right."""
        return self.rows["correct"].cast(pl.Int64).to_numpy()


_WHOLE: WeakKeyDictionary[Group, Side] = WeakKeyDictionary()  # a model is compared with all others


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two groups restricted to the items of both; the numbers of clusters are alike in both: they are drawn together.
    ``lost`` says how many items of either were left out, where there are any."""

    sides: tuple[Side, Side]
    lost: str | None = None

    @property
    def n_items(self) -> int:
        """How many items both answered."""
        return self.sides[0].n_items


def _whole(group: Group) -> Side:
    if group not in _WHOLE:
        _WHOLE[group] = Side(group.rows, group.clusters)
    return _WHOLE[group]


def pair_of(first: Group, second: Group) -> Pair:
    """Return what the two share."""
    a, b = first.rows, second.rows
    same = a["item_id"].equals(b["item_id"])
    if same and a["cluster"].equals(b["cluster"]):
        return Pair((_whole(first), _whole(second)))
    lost = None
    if not same:
        one, two = set(a["item_id"]), set(b["item_id"])
        lost = lost_items(len(one), len(two), len(one & two))
        a, b = (
            one.join(other, on="item_id", how="semi", maintain_order="left")
            for one, other in ((a, b), (b, a))
        )
    names = pl.concat([a["cluster"], b["cluster"]]).rank("dense").cast(pl.Int64).to_numpy() - 1
    return Pair((Side(a, names[: a.height]), Side(b, names[a.height :])), lost)


def compared(base: Fields, a: Group, b: Group, shared: Drawn | None = None) -> Iterator[Comparison]:
    """Yield a row of a minus b per measure, without a correction for several tests; ``shared`` are differences drawn with
    those of other pairs."""
    pair = pair_of(a, b)
    both_idk = a.condition == b.condition and gives_leave(a.condition)
    one_idk = a.condition != b.condition == IDK
    measures = _measures(a.condition, b.condition)
    rows: list[Fields] = []
    for name, found in _differences(base, a.benchmark, pair, measures, shared):
        if one_idk and name == "d_type2" and "status" not in found:
            found["note"] = f"{found['note']}; {LARGE}"
        rows.append({"measure": IDK_NAMES.get(name, name) if both_idk else name, **found})
    if (graded := _graded_difference(pair)) is not None:
        rows.append(graded)
    if (discordant := _mcnemar(pair)) is not None:
        rows.append({**discordant, "measure": IDK_NAMES["accuracy"] if both_idk else "accuracy"})
    for row in rows:
        if pair.lost is not None:
            row["note"] = "; ".join(each for each in (row.get("note"), pair.lost) if each)
        yield Comparison(**{**base, **row})


def _measures(*conditions: str) -> tuple[str, ...]:
    """Return what two groups under these conditions are compared in.

    An abstaining reply is hardly ever right: how often a no fails says nothing there. The share of abstentions is 1 minus
    that of a yes.
    """
    first, second = conditions
    if first == second and gives_leave(first):
        return (*MEASURES[:3], "all_alignment")
    return MEASURES[:-1] if first != second == IDK else MEASURES


def _differences(
    base: Fields, benchmark: Any, pair: Pair, measures: Sequence[str], shared: Drawn | None = None
) -> Iterator[tuple[str, Fields]]:
    """Yield each measure with what is found of its difference."""
    if not pair.n_items:
        yield from ((name, {"status": NO_SHARED}) for name in measures)
        return
    n = int(max(each.clusters.max() for each in pair.sides)) + 1
    difference, drawn = _alone(base, benchmark, pair, measures, n) if shared is None else shared
    values = difference.tolist()
    told = resampling.differences(values, drawn, tolerance=TIE)
    for name, value, each in zip(measures, values, told, strict=True):
        found = {"n": pair.n_items, **_tested(value, each, pair.n_items)}
        if "p" in found and n <= exact.MOST_SWAPPED:
            found |= {"p": _exact_p(benchmark, pair, name, n), "note": exact.NOTE}
        yield name, found


def _alone(base: Fields, benchmark: Any, pair: Pair, measures: Sequence[str], n: int) -> Drawn:
    """Return the differences of two sides over resamples of their own."""
    made = [counted(side.rows, benchmark.coded, side.clusters, n) for side in pair.sides]
    stream = benchmark.stream(
        *(base.get(name) for name in ("dataset", "family", "condition", "model", "a", "b"))
    )
    drawn = resampling.joint([matrix for matrix, _ in made], N_DRAWS, stream)
    (one, drawn_one), (two, drawn_two) = (
        (of(matrix.sum(axis=0, dtype=np.float64)[None]), of(draws))
        for (matrix, codes), draws in zip(made, drawn, strict=True)
        for of in [measured(codes, measures)]
    )
    return (one - two)[:, 0], drawn_one - drawn_two


def _together_drawn(
    benchmark: Any, pairs: Sequence[tuple[Fields, Group, Group]]
) -> Iterator[tuple[Fields, Group, Group, Drawn | None]]:
    """Yield pairs of models with their differences over the resamples that all models of an item set share; with None where
    the two did not answer the same items."""
    groups = {id(group): group for _, a, b in pairs for group in (a, b)}
    asked = _asked(groups)
    alike: dict[tuple[str, ...], list[tuple[Fields, Group, Group]]] = {}
    for base, a, b in pairs:
        if asked[id(a)] == asked[id(b)] and asked[id(a)]:
            alike.setdefault(asked[id(a)], []).append((base, a, b))
        else:
            yield base, a, b, None
    for own in alike.values():
        codes, tables, place = _counted_together([each for _, a, b in own for each in (a, b)])
        rows = {(place[id(a)], place[id(b)]): (base, a, b) for base, a, b in own}
        first = own[0][0]
        of = measured(codes, _measures(first["condition"], first["condition"]))
        often = Counter(chain.from_iterable(rows))
        stream = benchmark.stream(
            "shared items", *(first[name] for name in ("dataset", "family", "condition"))
        )
        for pair in shared_draws(tables, rows, N_DRAWS, stream, answered=tables.sum(axis=2) > 0):
            # What one pair alone needs is not kept: memory that was just used is the fastest.
            (one, drawn_one), (two, drawn_two) = (
                side.once("measures", partial(_of_side, of)) if often[k] > 1 else _of_side(of, side)
                for k, side in zip((pair.first, pair.second), pair.sides, strict=True)
            )
            yield *rows[pair.first, pair.second], (one - two, drawn_one - drawn_two)


def _of_side(of: Measured, side: SharedSide) -> Drawn:
    return of(side.observed)[:, 0], of(side.drawn)


def _asked(groups: Mapping[int, Group]) -> dict[int, tuple[str, ...]]:
    """Return the names of the items of each group, sorted once for groups that hold them in the same order."""
    found: dict[int, tuple[str, ...]] = {}
    before, names = pl.Series(dtype=pl.String), tuple[str, ...]()
    for place, group in groups.items():
        items = group.rows["item_id"]
        if not items.equals(before):
            before, names = items, tuple(items.unique().sort())
        found[place] = names
    return found


def _counted_together(groups: Iterable[Group]) -> tuple[Mapping[str, Ints], Ints, dict[int, int]]:
    """Return what the cells are, clusters × groups × cells, and the place of each group."""
    own = list({id(group): group for group in groups}.values())
    rows = pl.concat([group.rows.select("cluster", *TESTED) for group in own])
    cluster = rows["cluster"].rank("dense").cast(pl.Int64).to_numpy() - 1
    n = int(cluster.max()) + 1
    of = np.repeat(np.arange(len(own)), [group.rows.height for group in own])
    matrix, codes = counted(rows, TESTED, of * n + cluster, n * len(own))
    for group, clusters in zip(own, np.split(cluster, np.flatnonzero(np.diff(of)) + 1), strict=True):
        if group not in _WHOLE and np.bincount(clusters, minlength=n).all():  # then they are the group's own
            _WHOLE[group] = Side(group.rows, clusters)
    tables = matrix.reshape(len(own), n, -1).transpose(1, 0, 2)
    return codes, tables, {id(group): place for place, group in enumerate(own)}


def _exact_p(benchmark: Any, pair: Pair, name: str, n: int) -> float | None:
    """Return the p of all exchanges of ``n`` clusters between the two."""
    rows = pl.concat([side.rows.select(benchmark.coded) for side in pair.sides])
    clusters = np.concatenate([pair.sides[0].clusters, pair.sides[1].clusters + n])
    matrix, codes = counted(rows, benchmark.coded, clusters, 2 * n)
    own, of = matrix.astype(np.float64), measured(codes, [name])
    return exact.paired_p(own[:n], own[n:], lambda each: of(each.sum(axis=1))[0])


def _tested(value: float, found: resampling.Difference, n_items: int) -> dict[str, Any]:
    """Return what a row says of a difference."""
    if not np.isfinite(value):
        return {"status": UNDEFINED}
    if n_items < 2 or found.low is None or found.high is None:
        return {"value": value, "status": "single item" if n_items < 2 else OFTEN_UNDEFINED}
    known = {"value": value, "se": found.se, "low": min(found.low, value), "high": max(found.high, value)}
    if found.se is None or found.se <= TIE:
        return {**known, **({"p": 1.0, "note": SAME} if abs(value) <= TIE else {"status": SAME})}
    note = f"paired item bootstrap, {found.usable_note}"
    return {**known, "statistic": found.statistic, "p": found.p, "note": note}


def _graded_difference(pair: Pair) -> Fields | None:
    """Return the difference of the areas under the type-2 ROC; None where a side has no graded yes."""
    first, second = (side.graded for side in pair.sides)
    one, two = (side.area for side in pair.sides)
    if first is None or second is None or one is None or two is None:
        return None
    found = area_difference(one, two)
    row: Fields = {"measure": "auroc2", "n": pair.n_items, "note": found.method, "value": found.value}
    if found.value is None or found.sem is None or found.low is None or found.high is None:
        return {**row, "status": found.status}
    if found.n <= exact.MOST_SWAPPED:
        names, cluster = np.unique(np.concatenate([first[2], second[2]]), return_inverse=True)
        p, of = _exact_area_p((first, second), cluster, len(names)), exact.NOTE
    else:
        p, of = intervals.p_of(found.value, found.low, found.high, found.n), "p of the interval"
    known = {"se": found.sem, "low": found.low, "high": found.high, "statistic": found.value / found.sem}
    return {**row, **known, "p": p, "note": f"{found.method}; {of}"}


def _exact_area_p(graded: Sequence[tuple[Floats, Ints, Ints]], cluster: Ints, n: int) -> float | None:
    """Return the p of all exchanges of ``n`` clusters between two sides; ``cluster`` is that of each of their answers."""
    levels, level = np.unique(np.concatenate([each[0] for each in graded]), return_inverse=True)
    cell = 2 * level + np.concatenate([each[1] for each in graded])
    side = np.repeat([0, 1], [len(each[0]) for each in graded])
    sides = np.zeros((2, n, 2 * len(levels)))
    np.add.at(sides, (side, cluster, cell), 1.0)
    moved = exact.exchanges(n) @ (sides[1] - sides[0])
    whole = sides.sum(axis=1)
    return exact.exchange_p(auroc_statistic(whole[0] + moved) - auroc_statistic(whole[1] - moved))


def _mcnemar(pair: Pair) -> Fields | None:
    """Return McNemar's mid-p test of accuracy; None where items were asked more than once or hang together."""
    one, two = pair.sides
    if one.repeated or two.repeated:
        return None
    if not one.rows["item_id"].equals(two.rows["item_id"]):
        one, two = (Side(side.rows.sort("item_id"), side.clusters) for side in pair.sides)
    test = mcnemar(
        int((one.correct > two.correct).sum()), int((two.correct > one.correct).sum()), pair.n_items
    )
    return {
        "family": "mcnemar",
        "value": None if one.share is None or two.share is None else one.share - two.share,
        "statistic": float(test.chi2) if test.chi2 is not None and np.isfinite(test.chi2) else None,
        "p": test.p_mid,
        "n": test.n,
        "note": f"only a right {test.first_only}, only b right {test.second_only}; mid-p",
        "status": test.status if test.n else NO_SHARED,
    }


#: What a measure is a share of: outcomes above and below the line, as of `outcomes`, or the column it is the share of.
SHARES: Mapping[str, str | tuple[tuple[int, ...], tuple[int, ...]]] = {
    "accuracy": "correct",
    "yes_ratio": "yes",
    "raw_alignment": ((0, 3), (0, 1, 2, 3)),
    "yfr": ((2,), (0, 2)),
    "nfr": ((1,), (1, 3)),
    "all_alignment": "all_aligned",
}


def measured(codes: Mapping[str, Ints], names: Sequence[str]) -> Measured:
    """Return the function from totals of combinations with these ``codes`` to measures, NaN where undefined: `SHARES`, and
    d′ where ``names`` hold ``d_type2``. All sums, of whole numbers, are made in one product."""
    size = len(next(iter(codes.values())))
    counts = Counts(resampling.Patterns(np.zeros((1, size), np.int64), np.ones(1, np.int64)), codes)
    told = outcomes(counts)
    weights = [*told.T]  # yes and right, no and right, yes and wrong, no and wrong
    for name in names:
        share = SHARES.get(name, ((), ()))
        if isinstance(share, str):
            known = counts.known(share)
            weights += [counts.where(**{share: 1}) * known, known]
        else:
            weights += [told[:, list(each)].sum(axis=1) for each in share]
    stacked = np.array(weights)

    def of(totals: Floats) -> Floats:
        sums = stacked @ totals.T
        hits, misses, alarms, rejections = sums[:4]
        found = np.full((len(names), len(totals)), np.nan)
        for name, own, top, bottom in zip(names, found, sums[4::2], sums[5::2], strict=True):
            if name in SHARES:
                np.divide(top, bottom, out=own, where=bottom != 0)
            else:
                own[:] = log_linear(hits, alarms, hits + misses, alarms + rejections)
        return found

    return of


#: The columns they rest on: the fewer cells, the less is drawn.
TESTED = ("correct", "yes", "all_aligned")
CONTRASTS = (
    _contrast("models_paired", between_models, "Two models on the items both answered."),
    _contrast("languages_paired", between_languages, "Two languages of one model on the same questions."),
    _contrast("dual_idk", twice_or_once, "Asking twice minus asking once with leave to abstain."),
)
