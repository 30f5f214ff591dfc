"""Tests between models, between languages of a model, and between asking twice and once.

====================  ===============================================================================================
``models_paired``     two models on the items both answered under one condition; Holm over the pairs of a measure
``languages_paired``  two languages of one model on the same questions; Holm over the pairs of a model and measure
``dual_idk``          the two questions (``dual``) minus the one with leave to abstain (``idk``), same questions of one
                      model; under ``idk`` a yes is an answer that was not withheld; Holm over the models of a measure
``mcnemar``           accuracy in the pairs above, exact on the items that only one of the two got right; where items were
                      asked once and none hang together
====================  ===============================================================================================

The item is the unit of chance, with all its runs; what is drawn together is drawn alike on both sides. Models that did not
finish a condition are left out there, and simulated ones never meet measured ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import polars as pl

from metacog_pipeline.benchmarks.common.rows import table
from metacog_pipeline.benchmarks.selfknowledge.cells import DUAL, Cell, cells_of, in_groups
from metacog_pipeline.benchmarks.selfknowledge.items import BENCHMARK
from metacog_pipeline.benchmarks.selfknowledge.layout import COMPARISON_SCHEMA
from metacog_pipeline.benchmarks.selfknowledge.paired import (
    differences,
    graded_difference,
    mcnemar_row,
    pair_of,
)
from metacog_pipeline.benchmarks.selfknowledge.prompts import IDK
from metacog_pipeline.benchmarks.selfknowledge.rows import Row
from metacog_pipeline.stats.multiple import holm

__all__ = ["COMPARISON_SCHEMA", "compare"]

N_BOOT = 4_000
MEASURES = ("accuracy", "d_type2", "raw_alignment", "yes_ratio", "yfr", "nfr")
LEVEL = 0.05
LARGE = "d′ under idk is large because an abstention is hardly ever right"
#: Names under idk of what is computed alike under dual.
IDK_NAMES = {"accuracy": "idk_accuracy", "raw_alignment": "idk_alignment", "d_type2": "idk_d_type2"}


def compare(observations: pl.DataFrame, *, seed: int, n_boot: int = N_BOOT) -> pl.DataFrame:
    """Return one row per test in `COMPARISON_SCHEMA`.

    Parameters
    ----------
    observations
        Rows of ``observe.OBSERVATION_SCHEMA`` of all models, runs and conditions.
    seed
        Of the bootstrap.
    n_boot
        Resamples of items.

    Notes
    -----
    ``difference`` is a minus b; ``p`` that of difference / standard error over resamples, under a normal distribution
    (mid-p for McNemar). ``verdict`` is significant or not_significant at 0.05 after Holm's correction.
    """
    cells = [cell for cell in cells_of(observations, by_run=False) if not cell.n_failed and cell.rows.height]
    found: list[Row] = []
    for group in in_groups(cells, 0, 1).values():
        pairs = [
            (_base(a, b, "models_paired", condition=a.condition), a, b) for a, b in combinations(group, 2)
        ]
        found += _family(pairs, seed, n_boot)
    for group in in_groups(cells, 0, 2).values():
        spoken = [cell for cell in group if cell.condition != IDK]
        pairs = [(_base(a, b, "languages_paired", model=a.key[2]), a, b) for a, b in combinations(spoken, 2)]
        found += _family(pairs, seed, n_boot)
    for group in in_groups(cells, 0).values():
        by_key = {cell.key: cell for cell in group}
        pairs = [
            (_base(cell, idk, "dual_idk", model=cell.key[2]), cell, idk)
            for cell in group
            if cell.condition == DUAL and (idk := by_key.get((cell.key[0], IDK, cell.key[2]))) is not None
        ]
        found += _family(pairs, seed, n_boot)
    return table(BENCHMARK, found, COMPARISON_SCHEMA)


def _base(a: Cell, b: Cell, family: str, *, condition: str | None = None, model: str | None = None) -> Row:
    names = (a.key[2], b.key[2]) if model is None else (a.condition, b.condition)
    return Row(a.key[0], a.source, condition, model, family, "", *names)


def _family(pairs: Sequence[tuple[Row, Cell, Cell]], seed: int, n_boot: int) -> Iterator[Row]:
    """Yield the tests of several pairs, adjusted over the pairs of each measure."""
    by_measure: dict[tuple[str, str], list[Row]] = {}
    for base, a, b in pairs:
        for row in _pair(base, a, b, seed, n_boot):
            by_measure.setdefault((row.family, row.measure), []).append(row)
    for rows in by_measure.values():
        yield from _adjusted(rows)


def _pair(base: Row, a: Cell, b: Cell, seed: int, n_boot: int) -> Iterator[Row]:
    pair = pair_of(a, b)
    both_idk = a.condition == b.condition == IDK
    one_idk = a.condition != b.condition == IDK
    # An abstaining reply is hardly ever right: how often a no fails says nothing there.
    measures = (*MEASURES[:4], "all_alignment") if both_idk else MEASURES[:-1] if one_idk else MEASURES
    for row in differences(base, pair, measures, seed, n_boot):
        if one_idk and row.measure == "d_type2" and row.status == "ok":
            row = replace(row, note=f"{row.note}; {LARGE}")
        if both_idk and row.measure == "yes_ratio":
            continue  # the share of abstentions is 1 minus it
        yield replace(row, measure=IDK_NAMES.get(row.measure, row.measure)) if both_idk else row
    if (graded := graded_difference(base, pair)) is not None:
        yield graded
    if (exact := mcnemar_row(replace(base, family="mcnemar"), pair)) is not None:
        yield replace(exact, measure=IDK_NAMES["accuracy"]) if both_idk else exact


def _adjusted(rows: Iterable[Row]) -> Iterator[Row]:
    listed = list(rows)
    for row, p in zip(listed, holm([row.p for row in listed]), strict=True):
        verdict = None if p is None else "significant" if p < LEVEL else "not_significant"
        yield replace(row, p_adjusted=p, verdict=verdict)
