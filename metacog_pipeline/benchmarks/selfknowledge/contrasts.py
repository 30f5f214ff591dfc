"""Tests between models, and between languages of a model, on the questions that both sides answered."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Comparison, Contrast, Group, Question, lost_items
from metacog_pipeline.benchmark.groups import Counts, Floats, together
from metacog_pipeline.benchmarks.selfknowledge.measures import ABSTENTION, STUDY, d_or_c
from metacog_pipeline.benchmarks.selfknowledge.prompts import asked_once
from metacog_pipeline.scoring.paired_tests import NO_SHARED, Measured, differences, tables_of

TWICE = ("accuracy", "d_type2", "c_type2", "raw_alignment", "yes_ratio", "yfr", "nfr")
ONCE = ("idk_accuracy", "idk_alignment", "all_alignment", "abstain_d", "abstain_c")
# The columns that the measures rest on: the fewer cells, the less is drawn.
TESTED = ("correct", "yes", "all_aligned", "knew", "abstained")


def measured(counts: Counts, names: Sequence[str]) -> Measured:
    """Return the function from totals of the combinations of ``counts`` to measures ``(measures, B)``."""
    study, abstain = STUDY.weights(counts), ABSTENTION.weights(counts)
    hits, misses, alarms, rejections = study.T
    right, aligned = (
        (counts.where(correct=1), counts.known("correct")),
        (hits + rejections, study.sum(axis=1)),
    )
    shares = {
        "accuracy": right, "idk_accuracy": right, "raw_alignment": aligned, "idk_alignment": aligned,
        "yes_ratio": (counts.where(yes=1), counts.known("yes")),
        "yfr": (alarms, hits + alarms),
        "nfr": (misses, misses + rejections),
        "all_alignment": (counts.where(all_aligned=1), counts.known("all_aligned")),
    }  # fmt: skip

    def one(name: str, totals: Floats) -> Floats:
        if name in shares:
            top, bottom = (totals @ weights for weights in shares[name])
            return np.divide(top, bottom, out=np.full(len(totals), np.nan), where=bottom != 0)  # type: ignore[no-any-return]
        table = study if "type2" in name else abstain
        return d_or_c("c" if "c" in name.split("_") else "d", table.T @ totals.T)

    return lambda totals: np.array([one(name, totals) for name in names])


_Pair = tuple[Comparison, Group, Group]


def between_models(
    benchmark: Any, groups: Sequence[Group], wanted: Collection[tuple[str, str]]
) -> Iterator[Comparison]:
    """Yield the wanted pairs of models of each data set and condition."""
    for own in together((group for group in groups if group.rows.height), "condition"):
        named = {group.model: group for group in own}
        pairs = [(named[a], named[b]) for a, b in wanted if a in named and b in named]
        row = partial(Comparison, "models_paired", "", condition=own[0].condition)
        rows = [(row(a=a.model, b=b.model), a, b) for a, b in pairs]
        yield from _compared(benchmark, rows, ONCE if asked_once(own[0].condition) else TWICE)


def between_languages(benchmark: Any, groups: Sequence[Group]) -> Iterator[Comparison]:
    """Yield the pairs of languages of each data set and model."""
    dual = [group for group in groups if group.rows.height and not asked_once(group.condition)]
    for own in together(dual, "model"):
        row = partial(Comparison, "languages_paired", "", model=own[0].model)
        rows = [(row(a=a.condition, b=b.condition), a, b) for a, b in combinations(own, 2)]
        yield from _compared(benchmark, rows, TWICE)


def _compared(benchmark: Any, rows: Sequence[_Pair], measures: Sequence[str]) -> Iterator[Comparison]:
    """Yield a minus b per measure."""
    # What shares the same questions is drawn together, and alike on both sides: the item with its runs is the unit.
    alike: dict[frozenset[str], list[_Pair]] = {}
    for row, a, b in rows:
        first, second = frozenset(a.rows["item_id"]), frozenset(b.rows["item_id"])
        n = len(shared := first & second)
        note = lost_items(len(first), len(second), n)
        row = replace(row, dataset=a.dataset, source=a.source, n=n, note=note)
        alike.setdefault(shared, []).append((row, a, b))
    for shared, own in alike.items():
        if not shared:
            yield from (replace(row, measure=name, status=NO_SHARED) for row, *_ in own for name in measures)
            continue
        sides = list({id(group): group for _, *both in own for group in both}.values())
        place, here = {id(group): at for at, group in enumerate(sides)}, pl.col("item_id").is_in(list(shared))
        tables, counts = tables_of([group.rows.filter(here) for group in sides], TESTED)
        found, row = {(place[id(a)], place[id(b)]): row for row, a, b in own}, own[0][0]
        stream = benchmark.stream("shared items", row.dataset, row.family, row.condition)
        yield from differences(found, tables, measures, measured(counts, measures), stream)


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
)  # fmt: skip
QUESTIONS = (
    Question("Does one model know better than another what it knows?", ("models_paired", "d_type2"), verdict="knows"),
    Question("Does one model abstain better than another where it does not know?", ("models_paired", "abstain_d"),
             verdict="unanswerable"),
    Question("Does a model know better in one language than in another what it knows?", ("languages_paired", "d_type2")),
)  # fmt: skip
