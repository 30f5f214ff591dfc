"""Tests between models, between languages of a model, and between asking twice and once.

====================  ===============================================================================================
``models_paired``     two models under one condition; Holm over the pairs of a measure
``languages_paired``  two languages of one model; Holm over the pairs of a model and measure
``dual_idk``          the two questions (``dual``) minus the one with leave to abstain (``idk``) of one model; Holm over
                      the models of a measure
====================  ===============================================================================================

Each test is on the questions that both sides answered, and says how many it leaves out. The item is the unit of chance,
with all its runs; what is drawn together is drawn alike on both sides. Up to 12 items, p is that of all exchanges.
Accuracy and AUROC2 of two models are compared as in all benchmarks (family ``confidence_models``). Simulated models never
meet measured ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Comparison, Contrast, Group, Question, lost_items
from metacog_pipeline.benchmark.groups import Counts, Floats, Ints, counted, together
from metacog_pipeline.benchmarks.selfknowledge.items import DUAL, IDK
from metacog_pipeline.benchmarks.selfknowledge.measures import ABSTENTION, STUDY, d_or_c
from metacog_pipeline.benchmarks.selfknowledge.prompts import asked_once
from metacog_pipeline.stats import exact, resampling
from metacog_pipeline.stats.estimate import OFTEN_UNDEFINED
from metacog_pipeline.stats.resampling.products import shared_draws

N_DRAWS = resampling.N_TESTED
TWICE = ("accuracy", "d_type2", "c_type2", "raw_alignment", "yes_ratio", "yfr", "nfr")
ONCE = ("idk_accuracy", "idk_alignment", "all_alignment", "abstain_d", "abstain_c")
#: Of asking twice minus asking once: an abstaining reply is hardly ever right, so noes and d′ say nothing there.
BOTH = ("accuracy", "raw_alignment", "yes_ratio", "yfr")
NO_SHARED = "no shared items"
UNDEFINED = "undefined in one of them"
SAME = "the same in every resample"
TIE = 1e-12  # differences below this are rounding
#: The columns that the measures rest on: the fewer cells, the less is drawn.
TESTED = ("correct", "yes", "all_aligned", "knew", "abstained")
Measured = Callable[[Floats], Floats]  # totals of combinations (B, combinations) → measures (measures, B)
Pair = tuple[Comparison, pl.DataFrame, pl.DataFrame]


def measured(codes: Mapping[str, Ints], names: Sequence[str]) -> Measured:
    """Return the function from totals of combinations with these ``codes`` to measures, NaN where undefined."""
    # Weights depend on the codes alone: the counts themselves may be empty.
    size = len(next(iter(codes.values())))
    counts = Counts(resampling.Patterns(np.zeros((1, size), np.int64), np.ones(1, np.int64)), codes)
    tables = {"type2": STUDY.weights(counts), "abstain": ABSTENTION.weights(counts)}
    hits, misses, alarms, rejections = tables["type2"].T
    shares = {
        "accuracy": (counts.where(correct=1), counts.known("correct")),
        "yes_ratio": (counts.where(yes=1), counts.known("yes")),
        "raw_alignment": (hits + rejections, hits + misses + alarms + rejections),
        "yfr": (alarms, hits + alarms),
        "nfr": (misses, misses + rejections),
        "all_alignment": (counts.where(all_aligned=1), counts.known("all_aligned")),
    }
    shares |= {"idk_accuracy": shares["accuracy"], "idk_alignment": shares["raw_alignment"]}

    def one(name: str, totals: Floats) -> Floats:
        if name in shares:
            top, bottom = (totals @ weights for weights in shares[name])
            return np.divide(top, bottom, out=np.full(len(totals), np.nan), where=bottom != 0)  # type: ignore[no-any-return]
        table = tables["type2" if "type2" in name else "abstain"]
        return d_or_c("c" if "c" in name.split("_") else "d", table.T @ totals.T)

    return lambda totals: np.array([one(name, totals) for name in names])


# --- which pairs --------------------------------------------------------------------------------------------------------
def _answered(groups: Sequence[Group]) -> list[Group]:
    return [group for group in groups if group.rows.height]


def between_models(
    benchmark: Any, groups: Sequence[Group], wanted: Collection[tuple[str, str]]
) -> Iterator[Comparison]:
    """Yield the wanted pairs of models of each data set and condition."""
    for own in together(_answered(groups), "condition"):
        named = {group.model: group for group in own}
        pairs = [(named[a], named[b]) for a, b in wanted if a in named and b in named]
        measures, held = ONCE if asked_once(own[0].condition) else TWICE, {"condition": own[0].condition}
        yield from _compared(benchmark, "models_paired", pairs, measures, held)


def between_languages(benchmark: Any, groups: Sequence[Group]) -> Iterator[Comparison]:
    """Yield the pairs of languages of each data set and model."""
    for own in together((group for group in _answered(groups) if not asked_once(group.condition)), "model"):
        pairs = list(combinations(own, 2))
        yield from _compared(benchmark, "languages_paired", pairs, TWICE, {"model": own[0].model})


def twice_or_once(benchmark: Any, groups: Sequence[Group]) -> Iterator[Comparison]:
    """Yield dual minus idk of each model of a data set."""
    for own in together(_answered(groups), "model"):
        named = {group.condition: group for group in own}
        if DUAL in named and IDK in named:
            pairs = [(named[DUAL], named[IDK])]
            yield from _compared(benchmark, "dual_idk", pairs, BOTH, {"model": own[0].model})


# --- resamples ----------------------------------------------------------------------------------------------------------
def _compared(
    benchmark: Any,
    family: str,
    pairs: Sequence[tuple[Group, Group]],
    measures: Sequence[str],
    held: Mapping[str, Any],
) -> Iterator[Comparison]:
    """Yield a minus b per measure; pairs in which all answered the same questions are drawn together."""
    alike: dict[frozenset[str], list[Pair]] = {}
    for a, b in pairs:
        names = (a.condition, b.condition) if "model" in held else (a.model, b.model)
        first, second = frozenset(a.rows["item_id"]), frozenset(b.rows["item_id"])
        shared = first & second
        row = Comparison(
            family, "", *names, dataset=a.dataset, source=a.source, n=len(shared), **held,
            note=lost_items(len(first), len(second), len(shared)),
        )  # fmt: skip
        if not shared:
            yield from (replace(row, measure=name, status=NO_SHARED) for name in measures)
        elif first == second:
            alike.setdefault(shared, []).append((row, a.rows, b.rows))
        else:
            here = pl.col("item_id").is_in(list(shared))
            yield from _on_shared_draws(
                benchmark, [(row, a.rows.filter(here), b.rows.filter(here))], measures
            )
    for these in alike.values():
        yield from _on_shared_draws(benchmark, these, measures)


def _on_shared_draws(benchmark: Any, pairs: Sequence[Pair], measures: Sequence[str]) -> Iterator[Comparison]:
    """Yield pairs that answered the same questions; every side is drawn and measured once for all of them."""
    frames = list({id(frame): frame for _, *both in pairs for frame in both}.values())
    place = {id(frame): number for number, frame in enumerate(frames)}
    every = pl.concat([frame.select("cluster", *TESTED) for frame in frames])
    cluster = every["cluster"].rank("dense").cast(pl.Int64).to_numpy() - 1
    n, side = int(cluster.max()) + 1, np.repeat(np.arange(len(frames)), [frame.height for frame in frames])
    matrix, codes = counted(every, TESTED, side * n + cluster, n * len(frames))
    tables = matrix.reshape(len(frames), n, -1).transpose(1, 0, 2)
    of, first = measured(codes, measures), pairs[0][0]
    rows = {(place[id(a)], place[id(b)]): row for row, a, b in pairs}
    stream = benchmark.stream("shared items", first.dataset, first.family, first.condition)
    for pair in shared_draws(tables, rows, N_DRAWS, stream, answered=tables.sum(axis=2) > 0):
        (one, drawn_one), (two, drawn_two) = (
            each.once("measures", lambda own: (of(own.observed)[:, 0], of(own.drawn))) for each in pair.sides
        )
        row = rows[pair.first, pair.second]
        mine, theirs = (tables[:, at].astype(np.float64) for at in (pair.first, pair.second))
        for each in _tested(row, measures, one - two, drawn_one - drawn_two):
            if each.statistic is None or n > exact.MOST_SWAPPED:
                yield each
            else:  # resamples of a few questions make p too small: that of all exchanges
                p = exact.paired_p(mine, theirs, partial(_of_items, measured(codes, [each.measure])))
                yield replace(each, p=p, note=_said(exact.NOTE, row.note))


def _of_items(of: Measured, items: Floats) -> Floats:
    return of(items.sum(axis=1))[0]  # type: ignore[no-any-return]


def _tested(row: Comparison, measures: Sequence[str], values: Floats, draws: Floats) -> Iterator[Comparison]:
    """Yield a row per measure."""
    found = resampling.differences(values.tolist(), draws, tolerance=TIE)
    for name, value, each in zip(measures, values.tolist(), found, strict=True):
        own = replace(row, measure=name)
        # A number without an interval says why; one that is the same in every resample has no test but is no error.
        if not np.isfinite(value):
            yield replace(own, status=UNDEFINED)
        elif row.n < 2 or each.low is None or each.high is None:
            yield replace(own, value=value, status="single item" if row.n < 2 else OFTEN_UNDEFINED)
        else:
            own = replace(own, value=value, se=each.se, low=min(each.low, value), high=max(each.high, value))
            if each.se is None or each.se <= TIE:
                same = abs(value) <= TIE
                yield replace(own, p=1.0, note=_said(SAME, row.note)) if same else replace(own, status=SAME)
            else:
                note = _said(f"paired item bootstrap, {each.usable_note}", row.note)
                yield replace(own, statistic=each.statistic, p=each.p, note=note)


def _said(*notes: str | None) -> str:
    return "; ".join(each for each in notes if each)


# --- declarations -------------------------------------------------------------------------------------------------------
_HELD = ("dataset", "source", "family", "measure")
CONTRASTS = (
    Contrast(
        "models_paired", between_models, within=(*_HELD, "condition"), between_models=True, pairs=True, version="6",
        words="Two models on the items both answered.",
    ),
    Contrast(
        "languages_paired", between_languages, within=(*_HELD, "model"), by_model=True, version="6",
        words="Two languages of one model on the same questions.",
    ),
    Contrast(
        "dual_idk", twice_or_once, within=_HELD, by_model=True, version="6",
        words="Asking twice minus asking once with leave to abstain.",
    ),
)  # fmt: skip
QUESTIONS = (
    Question("Does one model know better than another what it knows?", ("models_paired", "d_type2"), verdict="knows"),
    Question("Does one model abstain better than another where it does not know?", ("models_paired", "abstain_d"),
             verdict="unanswerable"),
    Question("Does a model know better in one language than in another what it knows?", ("languages_paired", "d_type2")),
    Question("Does asking twice whether a model knows say more than leave to abstain?", ("dual_idk", "raw_alignment")),
)  # fmt: skip
