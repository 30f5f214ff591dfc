"""Estimates from observations: every measure with its 95 % interval, or the reason it has none.

Failures: an item without an answer (transport error, cut before a word, not asked) makes a run incomplete: its numbers
are withheld, or, when incomplete runs are allowed, computed without those items and labelled; it is never scored as
wrong. A reply to the meta question that says neither yes nor no counts in accuracy and in ``invalid_share``, and in nothing
that needs a yes or a no.

The unit of chance is the item with all its runs; questions that are the same, or about the same event, are drawn together.
Measures: :mod:`measures`, and :mod:`graded` where log-probabilities were kept.

====================================  ==================================================================================
``*_strict``                          answers as whole words, the first word of the meta reply
``d_type2_reference``                 clipped d′ by the rules of the published numbers: an answer as any part of the
                                      reply, a yes anywhere in the meta reply
``idk_*``                             under ``idk``: accuracy, share of abstentions, right = not abstained, d′ of that
``all_alignment``                     right = yes under ``dual`` = not abstained under ``idk``, same question and run
====================================  ==================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from metacog_pipeline.benchmarks.selfknowledge.cells import N_BOOT, REFERENCE, STRICT, Cell, Floats, cells_of
from metacog_pipeline.benchmarks.selfknowledge.graded import graded_estimates
from metacog_pipeline.benchmarks.selfknowledge.items import BENCHMARK
from metacog_pipeline.benchmarks.selfknowledge.layout import ESTIMATE_SCHEMA
from metacog_pipeline.benchmarks.selfknowledge.measures import Found, accuracy, sensitivity, share, shares
from metacog_pipeline.benchmarks.selfknowledge.prompts import IDK
from metacog_pipeline.stats.estimate import Estimate, unavailable

__all__ = ["ESTIMATE_SCHEMA", "estimates_of", "pool", "score"]

INCLUSION = "inclusion"  # the matching rule of the published numbers


def score(
    observations: pl.DataFrame, *, seed: int, allow_incomplete: bool = False, n_boot: int = N_BOOT
) -> pl.DataFrame:
    """Return one row per dataset, condition, model, run and measure, in `ESTIMATE_SCHEMA`.

    Parameters
    ----------
    observations
        Rows of ``observe.OBSERVATION_SCHEMA``: every item of every run, also those not asked.
    seed
        Of the bootstrap; the same seed gives the same bytes.
    allow_incomplete
        Give numbers for incomplete runs too, over the answered items, status ``incomplete: …``.
    n_boot
        Resamples of items.
    """
    return _table(cells_of(observations, by_run=True), seed, allow_incomplete, n_boot)


def pool(
    observations: pl.DataFrame, *, seed: int, allow_incomplete: bool = False, n_boot: int = N_BOOT
) -> pl.DataFrame:
    """Return one row per dataset, condition, model and measure over all runs given; ``run`` is null.

    Parameters as in `score`. n counts items × runs.
    """
    return _table(cells_of(observations, by_run=False), seed, allow_incomplete, n_boot)


def estimates_of(cell: Cell, seed: int, n_boot: int = N_BOOT) -> Found:
    """Return every measure of a cell over its answered items."""
    draws = cell.resampled(n_boot, seed)
    return _idk(cell, draws) if cell.condition == IDK else _dual(cell, draws, seed)


def _dual(cell: Cell, draws: Floats, seed: int) -> Found:
    table = cell.table
    everything = table.known("correct")
    return {
        "accuracy": accuracy(cell),
        "accuracy_strict": accuracy(cell, "correct_strict"),
        "accuracy_answerable": accuracy(cell, only=table.where(answerable=1)),
        **shares(cell),
        "d_type2": sensitivity(cell, "d_type2", draws),
        "d_type2_clip": sensitivity(cell, "d_type2_clip", draws),
        "d_type2_strict": sensitivity(cell, "d_type2", draws, STRICT),
        "d_type2_reference": _reference(cell, draws),
        "rmi": sensitivity(cell, "rmi", draws),
        "invalid_share": share(cell, 1 - table.known("yes"), everything),
        "truncated_share": share(cell, table.where(truncated=1), table.known("truncated")),
        **graded_estimates(cell, draws, seed),
    }


def _idk(cell: Cell, draws: Floats) -> Found:
    table = cell.table
    found = shares(cell)
    return {
        "idk_accuracy": accuracy(cell),
        "idk_rate": share(cell, table.where(yes=0), table.known("yes")),
        "idk_alignment": found["raw_alignment"],
        "idk_d_type2": sensitivity(cell, "d_type2", draws),
        "idk_d_type2_clip": sensitivity(cell, "d_type2_clip", draws),
        "all_alignment": _all_alignment(cell),
    }


def _all_alignment(cell: Cell) -> Estimate:
    table = cell.table
    return share(cell, table.where(all_aligned=1), table.known("all_aligned"), "not asked under dual as well")


def _reference(cell: Cell, draws: Floats) -> Estimate:
    if cell.matching not in ((), (INCLUSION,)):
        why = f"answers were matched by {', '.join(cell.matching)}, the published ones by {INCLUSION}"
        return unavailable(0, "clip", why)
    return sensitivity(cell, "d_type2_clip", draws, REFERENCE)


def _table(cells: Sequence[Cell], seed: int, allow_incomplete: bool, n_boot: int) -> pl.DataFrame:
    rows = [row for cell in cells for row in _rows(cell, seed, allow_incomplete, n_boot)]
    return pl.DataFrame(rows, schema=ESTIMATE_SCHEMA, orient="row")


def _rows(cell: Cell, seed: int, allow_incomplete: bool, n_boot: int) -> Iterator[tuple[object, ...]]:
    whole = Estimate(cell.coverage, None, None, cell.asked, "readable / asked")
    yield _row(cell, "coverage", whole, None)
    for name, found in estimates_of(cell, seed, n_boot).items():
        missing = _missing(cell, name)
        if missing is not None and not allow_incomplete:
            found = unavailable(found.n, "withheld", missing)
        yield _row(cell, name, found, missing)


def _missing(cell: Cell, measure: str) -> str | None:
    """Return what a measure lacks; None where everything it rests on was answered."""
    if cell.incomplete is None and measure == "all_alignment" and cell.partner_failed:
        return f"incomplete: {cell.partner_failed} of {cell.asked} not answered under dual"
    return cell.incomplete


def _row(cell: Cell, name: str, found: Estimate, missing: str | None) -> tuple[object, ...]:
    dataset, condition, model = cell.key
    # A value of an incomplete run says so; one that cannot be formed says why.
    status = missing if missing is not None and found.value is not None else found.status
    return (
        BENCHMARK,
        *(dataset, condition, model, cell.run, name),
        *(found.value, found.low, found.high, found.sem),
        *(found.n, cell.n_failed, cell.n_unparsable, cell.coverage),
        *(found.method, status, cell.source),
    )
