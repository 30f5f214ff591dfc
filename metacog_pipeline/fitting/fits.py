"""Fit any table of counts or trials: the analysis of the pipeline for data collected elsewhere.

Every number leaves as one row with its interval and n, or with the reason it has none. Intervals of d', c, c' and ln beta
are those of the delta method, of AUROC2 DeLong's, of meta-d' and its relatives those of the two-stage delta method or,
on demand, percentiles of resampled trials; those of a choice among m alternatives are told in `scoring.efficiency`.
Nothing is padded unless asked for, and the method says when it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.errors import StudyError
from metacog_pipeline.fitting.tables import (
    Columns,
    CountTable,
    cells_from_counts,
    cells_from_trials,
    has_counts,
    read_table,
)
from metacog_pipeline.scoring import efficiency
from metacog_pipeline.stats import resampling
from metacog_pipeline.stats.bayes.single import METHOD as BAYES_METHOD
from metacog_pipeline.stats.bayes.single import bayes_metad
from metacog_pipeline.stats.counts import Counts, padded
from metacog_pipeline.stats.estimate import MOSTLY_UNDEFINED, NO_ITEMS, OK, Estimate, unavailable
from metacog_pipeline.stats.metad import MetaD, fit_metad
from metacog_pipeline.stats.metad.types import REASONS
from metacog_pipeline.stats.proportions import wilson_interval
from metacog_pipeline.stats.resampling.intervals import Z95
from metacog_pipeline.stats.type1 import type1, zroc_slope
from metacog_pipeline.stats.type2 import auroc2

Floats = NDArray[np.float64]
NOT_BINARY = "no Bayesian model of answers known as right or wrong only"
OUTPUT = ("measure", "value", "low", "high", "sem", "n", "dropped", "method", "status")
# Resampled tables fitted together: bounds memory.
_BATCH = 20_000


@dataclass(frozen=True, slots=True)
class Options:
    """How to fit.

    Attributes
    ----------
    padding
        Added to each of the 4 K counts; ``"auto"`` is 1 / (2 K); None adds nothing.
    s
        sd(S1) / sd(S2), or ``"zroc"`` for the slope of each cell's zROC.
    conditional
        Whether to fit either response alone as well.
    n_boot, seed
        Resamples for percentile intervals of meta-d' and its relatives, 0 for the delta method; and the seed of these and
        of the posterior.
    bayes
        Whether to add the posterior of the single-subject model, d' estimated.
    """

    padding: float | Literal["auto"] | None = None
    s: float | Literal["zroc"] = 1.0
    conditional: bool = False
    n_boot: int = 0
    seed: int = 0
    bayes: bool = False


@dataclass(frozen=True, slots=True)
class Fitted:
    """Rows of ``columns``: id columns, then ``OUTPUT``; and what was done, for people."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...]


def fit_file(path: Path, columns: Columns | None, options: Options) -> Fitted:
    """Fit a file of counts, or of trials where ``columns`` are given.

    Raises StudyError for a file, column, value or combination of options that cannot be fitted: what to do, in one line.
    """
    frame = read_table(path)
    if columns is None:
        if not has_counts(frame):
            raise StudyError(
                f"{path}: no columns nR_S1 and nR_S2 of counts; for trials give --confidence with --stimulus or --correct"
            )
        batches = cells_from_counts(path, frame)
    else:
        batches = [cells_from_trials(path, frame, columns)]
    if any(batch.choices is not None for batch in batches) and (
        options.s != 1 or options.conditional or options.padding or options.n_boot
    ):
        raise StudyError(
            f"{path}: --s, --conditional, --padding and --bootstrap need a binary response; leave them out"
        )
    if options.bayes and options.s != 1:
        raise StudyError("--bayes with --s: the Bayesian model has equal variances; leave one of them out")
    return fit_cells(batches, options)


def fit_cells(batches: list[CountTable], options: Options) -> Fitted:
    """Fit every batch of cells and return all rows, one per cell and measure."""
    ids = list(dict.fromkeys(name for batch in batches for cell in batch.names for name in cell))
    # An id column must not hide one of ours.
    shown = [f"{name}_given" if name in OUTPUT else name for name in ids]
    rows: list[tuple[Any, ...]] = []
    notes = []
    for batch in batches:
        dropped = int(batch.table.dropped.sum())
        if batch.note:
            notes.append(batch.note)
        if dropped:
            notes.append(f"{dropped} trials dropped: a part of them missing, out of range or not readable")
        for name, lost, estimates in zip(
            batch.names, batch.table.dropped, fit_batch(batch, options), strict=True
        ):
            key = tuple(name.get(column, "") for column in ids)
            rows += [(*key, measure, *_row(found, int(lost))) for measure, found in estimates.items()]
    return Fitted((*shown, *OUTPUT), tuple(rows), tuple(notes))


def fit_batch(cells: CountTable, options: Options) -> list[dict[str, Estimate]]:
    """Return the estimates of each cell by measure."""
    raw = cells.table
    amount = 1 / (2 * raw.ratings) if options.padding == "auto" else options.padding
    try:
        table = padded(raw, amount) if amount else raw
    except ValueError as error:
        raise StudyError(f"--padding: {error}") from None
    if cells.choices is not None:
        return [_chosen(cells, cell, options) for cell in range(raw.cells)]
    fits = _binary(raw, table, options)
    area = auroc2(raw)
    found = []
    for cell in range(raw.cells):
        auroc = area.estimate(cell) if cells.areas is None else cells.areas[cell]
        of_cell = {"accuracy": _accuracy(raw, cell), "auroc2": auroc, **fits[cell]}
        if options.bayes:
            of_cell |= _posterior(cells, cell, options)
        found.append(of_cell)
    return found


def _chosen(cells: CountTable, cell: int, options: Options) -> dict[str, Estimate]:
    """Return the estimates of answers known as right or wrong only."""
    assert cells.choices is not None and cells.areas is not None
    (fitted,) = efficiency.estimates([cells.choices[cell]])
    found = {"accuracy": _accuracy(cells.table, cell), "auroc2": cells.areas[cell], **fitted}
    return found | (_posterior(cells, cell, options) if options.bayes else {})


def _binary(raw: Counts, table: Counts, options: Options) -> list[dict[str, Estimate]]:
    s: float | Floats = zroc_slope(table).slope if options.s == "zroc" else float(options.s)
    first, fit = type1(table, s=s), fit_metad(table, s, conditional=options.conditional)
    drawn = _resampled(raw, table.pad, s, options) if options.n_boot else None
    numbers = _numbers(fit)
    label = (
        "ml"
        + (f" on counts + {table.pad:g}" if table.pad else "")
        + ("" if options.s == 1 else f", s {options.s}")
    )
    type1_measures = ["d", "c", "c_prime", "ln_beta"] + ([] if options.s == 1 else ["da", "ca"])
    found = []
    for cell in range(raw.cells):
        n = round(float(raw.n[cell]))
        of_cell = {name: first.estimate(name, cell) for name in type1_measures}
        for name, (values, errors, status) in numbers.items():
            reason = REASONS.get(str(status[cell]), str(status[cell])) or OK
            draws = None if drawn is None else drawn[name][:, cell]
            of_cell[name] = _estimate(float(values[cell]), float(errors[cell]), n, label, reason, draws)
        found.append(of_cell)
    return found


def _numbers(fit: MetaD) -> dict[str, tuple[Floats, Floats, NDArray[np.str_]]]:
    """Value, standard error and status of each fitted measure, by name."""
    numbers = {
        "meta_d": (fit.meta_da, fit.se_meta_d_total, fit.status),
        "m_ratio": (fit.m_ratio, fit.se_m_ratio, fit.status),
        "m_diff": (fit.m_diff, fit.se_m_diff, fit.status),
    }
    for name, side in (("rs1", fit.rs1), ("rs2", fit.rs2)):
        if side is not None:
            none = np.full(fit.cells, np.nan)
            numbers[f"meta_d_{name}"] = (side.meta_da, side.se_meta_d, side.status)
            numbers[f"m_ratio_{name}"] = (side.m_ratio, none, side.status)
    return numbers


def _estimate(value: float, error: float, n: int, method: str, status: str, draws: Floats | None) -> Estimate:
    """Return a fitted number with the interval of its draws ``(B,)``, or else of its standard error."""
    name = f"{method}, delta" if draws is None else f"{method}, bootstrap of {len(draws)}"
    if not np.isfinite(value) or status != OK:
        return unavailable(n, name, status if status != OK else "no finite value")
    if draws is None:
        if not np.isfinite(error):
            return Estimate(value, None, None, n, name, "no standard error")
        half = Z95 * error
        return Estimate(value, value - half, value + half, n, name, OK, error)
    finite = draws[np.isfinite(draws)]
    if len(finite) < len(draws):
        name = f"{name}, {len(finite)} usable"
    low, high = resampling.interval(draws)
    if low is None or high is None:
        return Estimate(value, None, None, n, name, MOSTLY_UNDEFINED)
    return Estimate(value, low, high, n, name, OK, float(finite.std()))


def _resampled(raw: Counts, pad: float, s: float | Floats, options: Options) -> dict[str, Floats]:
    """Return each fitted measure of resampled trials, ``(n_boot, cells)``, NaN where a resample has none."""
    rng = resampling.generator(options.seed)
    flat, width = np.rint(np.hstack([raw.n_s1, raw.n_s2])), raw.n_s1.shape[1]
    found: dict[str, list[Floats]] = {}
    for size in resampling.blocks(options.n_boot, raw.cells, _BATCH):
        drawn = resampling.table(flat, size, rng).reshape(size * raw.cells, -1)
        table = Counts(drawn[:, :width], drawn[:, width:])
        table = padded(table, pad) if pad else table
        slope = zroc_slope(table).slope if options.s == "zroc" else s
        fit = fit_metad(table, slope, conditional=options.conditional)
        for name, (values, _, status) in _numbers(fit).items():
            usable = np.where(status == OK, values, np.nan).reshape(size, raw.cells)
            found.setdefault(name, []).append(usable)
    return {name: np.concatenate(blocks) for name, blocks in found.items()}


def _accuracy(table: Counts, cell: int) -> Estimate:
    n = float(table.n[cell])
    if n <= 0:
        return unavailable(0, "wilson", NO_ITEMS)
    share = min(1.0, float(table.hits[cell] + table.correct_rejections[cell]) / n)
    return Estimate(share, *wilson_interval(share, n), round(n), "wilson")


def _posterior(cells: CountTable, cell: int, options: Options) -> dict[str, Estimate]:
    if cells.choices is not None:
        n = round(float(cells.table.n[cell]))
        return {f"bayes_{name}": unavailable(n, BAYES_METHOD, NOT_BINARY) for name in ("meta_d", "m_ratio")}
    label = repr(sorted(cells.names[cell].items()))
    one = cells.table.take(cell)
    try:
        fit = bayes_metad(one, conditional=options.conditional, seed=options.seed, label=label)
    except ValueError as error:
        raise StudyError(f"--bayes: {error}") from None
    estimates = fit.estimates()
    if not fit.converged:
        estimates = {name: replace(found, status=fit.reason) for name, found in estimates.items()}
    return {f"bayes_{name}": found for name, found in estimates.items()}


def _row(found: Estimate, dropped: int) -> Iterator[Any]:
    yield from (found.value, found.low, found.high, found.sem, found.n, dropped, found.method, found.status)
