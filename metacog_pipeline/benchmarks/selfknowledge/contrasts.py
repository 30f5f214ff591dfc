"""Tests between models, and between languages of a model.

Each test is on the questions that both sides answered, and says how many it leaves out. The item is the unit of chance,
with all its runs; what is drawn together is drawn alike on both sides. Up to 12 items, p is that of all exchanges.
Accuracy and AUROC2 of two models are compared as in all benchmarks (family ``confidence_models``). Simulated models never
meet measured ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
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
#: The columns that the measures rest on: the fewer cells, the less is drawn.
TESTED = ("correct", "yes", "all_aligned", "knew", "abstained")


def measured(counts: Counts, names: Sequence[str]) -> Measured:
    """Return the function from totals of the combinations of ``counts`` to measures ``(measures, B)``."""
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
def _answered(groups: Sequence[Group], *fields: str) -> Iterator[list[Group]]:
    return together((group for group in groups if group.rows.height), *fields)


def between_models(
    benchmark: Any, groups: Sequence[Group], wanted: Collection[tuple[str, str]]
) -> Iterator[Comparison]:
    """Yield the wanted pairs of models of each data set and condition."""
    for own in _answered(groups, "condition"):
        named, held = {group.model: group for group in own}, {"condition": own[0].condition}
        pairs = [(named[a], named[b]) for a, b in wanted if a in named and b in named]
        measures = ONCE if asked_once(own[0].condition) else TWICE
        yield from _compared(benchmark, "models_paired", pairs, measures, held)


def between_languages(benchmark: Any, groups: Sequence[Group]) -> Iterator[Comparison]:
    """Yield the pairs of languages of each data set and model."""
    for own in _answered([group for group in groups if not asked_once(group.condition)], "model"):
        pairs = list(combinations(own, 2))
        yield from _compared(benchmark, "languages_paired", pairs, TWICE, {"model": own[0].model})


def _compared(
    benchmark: Any,
    family: str,
    pairs: Sequence[tuple[Group, Group]],
    measures: Sequence[str],
    held: Mapping[str, Any],
) -> Iterator[Comparison]:
    """Yield a minus b per measure; pairs that share the same questions are drawn together."""
    alike: dict[frozenset[str], list[tuple[Comparison, Group, Group]]] = {}
    for a, b in pairs:
        names = (a.condition, b.condition) if "model" in held else (a.model, b.model)
        first, second = frozenset(a.rows["item_id"]), frozenset(b.rows["item_id"])
        shared = first & second
        note = lost_items(len(first), len(second), len(shared))
        of: Any = {"dataset": a.dataset, "source": a.source, "n": len(shared), "note": note, **held}
        alike.setdefault(shared, []).append((Comparison(family, "", *names, **of), a, b))
    for shared, own in alike.items():
        if not shared:
            yield from (replace(row, measure=name, status=NO_SHARED) for row, *_ in own for name in measures)
            continue
        sides = list({id(group): group for _, *both in own for group in both}.values())
        place, here = {id(group): at for at, group in enumerate(sides)}, pl.col("item_id").is_in(list(shared))
        tables, counts = tables_of([group.rows.filter(here) for group in sides], TESTED)
        rows, first_row = {(place[id(a)], place[id(b)]): row for row, a, b in own}, own[0][0]
        stream = benchmark.stream("shared items", first_row.dataset, family, first_row.condition)
        yield from differences(rows, tables, measures, measured(counts, measures), stream)


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
)  # fmt: skip
QUESTIONS = (
    Question("Does one model know better than another what it knows?", ("models_paired", "d_type2"), verdict="knows"),
    Question("Does one model abstain better than another where it does not know?", ("models_paired", "abstain_d"),
             verdict="unanswerable"),
    Question("Does a model know better in one language than in another what it knows?", ("languages_paired", "d_type2")),
)  # fmt: skip
