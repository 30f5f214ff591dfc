"""Fit any table of counts or trials: the analysis of the pipeline for data collected elsewhere.

Every number leaves as one row with its interval and n, or with the reason it has none. Intervals of d', c, c' and ln beta
are those of the delta method, of AUROC2 the scaled score's, of meta-d' and its relatives the two-stage delta method's or,
on demand, percentiles of resampled trials; those of a choice among m alternatives are told in `stats.mafc.efficiency`.
Where an item has several trials, whole items are resampled. Nothing is padded unless asked for, and the method says when
it was; whether there is a number is decided without it (`stats.identifiability`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.errors import StudyError
from metacog_pipeline.fitting import answers, reading
from metacog_pipeline.fitting.cells import Rejection
from metacog_pipeline.fitting.counting import CountTable, cells_from_counts, has_counts
from metacog_pipeline.fitting.trials import Answers, Columns, trials
from metacog_pipeline.stats import identifiability, measured_coverage, resampling
from metacog_pipeline.stats.bayes.single import METHOD as BAYES_METHOD
from metacog_pipeline.stats.bayes.single import bayes_metad
from metacog_pipeline.stats.counts import Counts, padded
from metacog_pipeline.stats.estimate import NO_ITEMS, OK, Estimate, unavailable
from metacog_pipeline.stats.metad import REASONS, MetaD, fit_metad
from metacog_pipeline.stats.proportions import wilson_interval
from metacog_pipeline.stats.resampling.intervals import Z95
from metacog_pipeline.stats.type1 import type1, zroc_slope
from metacog_pipeline.stats.type2 import auroc2

Floats = NDArray[np.float64]
NOT_BINARY = "no Bayesian model of answers known as right or wrong only"
OUTPUT = ("measure", "value", "low", "high", "sem", "n", "low_n", "dropped", "method", "status")
_RATIOS = ("c_prime", "m_ratio")  # to d'
# Resampled tables fitted together: bounds memory.
_BATCH = 20_000
# Resamples of items where nobody said how many.
_CLUSTER_DRAWS = 1000


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


class Basis(NamedTuple):
    """What the numbers of a cell rest on: right or wrong answers, whichever are fewer; whether items have several."""

    rarer: int
    several: bool


@dataclass(frozen=True, slots=True)
class Fitted:
    """Rows of ``columns``: id columns, then ``OUTPUT``; what was done, for people; and the rows that were not used."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...]
    rejected: tuple[Rejection, ...] = ()


def fit_file(path: Path, columns: Columns | None, options: Options) -> Fitted:
    """Fit a file of counts, or of trials where ``columns`` are given.

    Raises StudyError for a file, column, value or combination of options that cannot be fitted: what to do, in one line.
    """
    if options.bayes and options.s != 1:
        raise StudyError("--bayes with --s: the Bayesian model has equal variances; leave one of them out")
    if columns is None:
        return _fit_counts(path, options)
    found = trials(path, columns)
    if found.counts is None and (options.s != 1 or options.conditional or options.padding):
        raise StudyError(f"{path}: --s, --conditional and --padding need a binary response; leave them out")
    if found.counts is not None:
        made = fit_batch(found.counts, options)
    else:
        made = [_of_answers(each, options) for each in found.answers]
    keys = [tuple(name.get(column) for column in columns.grouping()) for name in found.names]
    basis = _of_counts(found.counts) if found.counts is not None else [*map(_of_answered, found.answers)]
    rows = _rows(keys, found.dropped, basis, made)
    account = found.account
    notes = (account.told(), *found.notes)
    rejected = tuple(sorted(account.rejected, key=lambda each: each.row))
    return Fitted((*_shown(columns.grouping()), *OUTPUT), rows, notes, rejected)


def _fit_counts(path: Path, options: Options) -> Fitted:
    table = reading.read(path)
    if not has_counts(table.frame):
        raise StudyError(
            f"{path}: no columns nR_S1 and nR_S2 of counts; for trials give --confidence or --keep with --correct, or "
            "--confidence with --stimulus"
        )
    if table.broken:
        first = table.broken[0]
        raise StudyError(f"{path}: row {first.row}: {first.reason}; correct it")
    batches = cells_from_counts(path, table.frame)
    ids = list(dict.fromkeys(name for batch in batches for cell in batch.names for name in cell))
    rows: list[tuple[Any, ...]] = []
    for batch in batches:
        keys = [tuple(name.get(column) for column in ids) for name in batch.names]
        rows += _rows(keys, batch.table.dropped, _of_counts(batch), fit_batch(batch, options))
    return Fitted((*_shown(ids), *OUTPUT), tuple(rows), ())


def _shown(ids: Sequence[str]) -> list[str]:
    """Return names of id columns that hide none of ours."""
    return [f"{name}_given" if name in OUTPUT else name for name in ids]


def _rows(
    keys: Sequence[tuple[Any, ...]],
    dropped: NDArray[Any],
    basis: Sequence[Basis],
    made: Sequence[dict[str, Estimate]],
) -> tuple[tuple[Any, ...], ...]:
    return tuple(
        (*key, measure, *_row(measure, found, int(lost), own))
        for key, lost, own, estimates in zip(keys, dropped, basis, made, strict=True)
        for measure, found in estimates.items()
    )


def _of_counts(cells: CountTable) -> list[Basis]:
    table = cells.table
    right = table.hits + table.correct_rejections
    several = cells.patterns is not None
    return [Basis(int(least), several) for least in np.minimum(right, table.n - right)]


def _of_answered(found: Answers) -> Basis:
    right = int(found.correct.sum())
    return Basis(min(right, len(found.correct) - right), found.items is not None)


def _of_answers(found: Answers, options: Options) -> dict[str, Estimate]:
    made = answers.estimates(found, options.n_boot, resampling.stream("fit", options.seed))
    if options.bayes:
        n = len(found.correct)
        made |= {f"bayes_{name}": unavailable(n, BAYES_METHOD, NOT_BINARY) for name in ("meta_d", "m_ratio")}
    return made


def fit_batch(cells: CountTable, options: Options) -> list[dict[str, Estimate]]:
    """Return the estimates of each cell by measure."""
    raw = cells.table
    amount = 1 / (2 * raw.ratings) if options.padding == "auto" else options.padding
    try:
        table = padded(raw, amount) if amount else raw
    except ValueError as error:
        raise StudyError(f"--padding: {error}") from None
    fits = _binary(cells, table, options)
    area = auroc2(raw)
    found = []
    for cell in range(raw.cells):
        auroc = area.estimate(cell) if cells.areas is None else cells.areas[cell]
        of_cell = {"accuracy": _accuracy(cells, cell), "auroc2": auroc, **fits[cell]}
        if options.bayes:
            of_cell |= _posterior(cells, cell, options)
        found.append(of_cell)
    return found


def _binary(cells: CountTable, table: Counts, options: Options) -> list[dict[str, Estimate]]:
    raw = cells.table
    s: float | Floats = zroc_slope(table).slope if options.s == "zroc" else float(options.s)
    first, fit = type1(table, s=s), fit_metad(table, s, conditional=options.conditional)
    clustered = cells.patterns is not None
    drawn = _resampled(cells, table.pad, s, options) if options.n_boot or clustered else None
    numbers = _numbers(fit)
    label = (
        "ml"
        + (f" on counts + {table.pad:g}" if table.pad else "")
        + ("" if options.s == 1 else f", s {options.s}")
    )
    found = []
    for cell, why in enumerate(fit.withheld):
        n = round(float(raw.n[cell]))
        of_cell = {name: first.estimate(name, cell) for name in _type1_measures(options)}
        if drawn is not None and clustered:
            of_cell = {name: _over_items(one, drawn[name][:, cell]) for name, one in of_cell.items()}
        for name, (values, errors, status) in numbers.items():
            reason = why or REASONS.get(str(status[cell]), str(status[cell])) or OK
            draws = None if drawn is None else drawn[name][:, cell]
            of_cell[name] = _estimate(
                float(values[cell]), float(errors[cell]), n, label, reason, draws, clustered
            )
        found.append(_gated(of_cell, of_cell["d"]))
    return found


def _gated(of_cell: dict[str, Estimate], d: Estimate) -> dict[str, Estimate]:
    """Return the measures of a cell without ratios to a d' that may be 0."""
    return {
        name: identifiability.gated(one, d.low, d.high) if name.startswith(_RATIOS) else one
        for name, one in of_cell.items()
    }


def _type1_measures(options: Options) -> list[str]:
    return ["d", "c", "c_prime", "ln_beta"] + ([] if options.s == 1 else ["da", "ca"])


def _over_items(one: Estimate, draws: Floats) -> Estimate:
    """Return a sensitivity or criterion with the interval of resampled items in place of the delta method's."""
    if one.value is None or one.low is None:
        return one
    method = one.method.replace("delta", f"bootstrap of {len(draws)} over items")
    return resampling.from_draws(one.value, draws, one.n, method, one.status)


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


def _estimate(
    value: float, error: float, n: int, method: str, status: str, draws: Floats | None, clustered: bool
) -> Estimate:
    """Return a fitted number with the interval of its draws ``(B,)``, or else of its standard error."""
    name = f"{method}, delta" if draws is None else f"{method}, bootstrap of {len(draws)}"
    name += " over items" if clustered else ""
    if not np.isfinite(value) or status != OK:
        return unavailable(n, name, status if status != OK else "no finite value")
    if draws is None:
        if not np.isfinite(error):
            return Estimate(value, None, None, n, name, "no standard error")
        half = Z95 * error
        return Estimate(value, value - half, value + half, n, name, OK, error)
    usable = int(np.isfinite(draws).sum())
    name += f", {usable} usable" if usable < len(draws) else ""
    return resampling.from_draws(value, draws, n, name)


def _resampled(cells: CountTable, pad: float, s: float | Floats, options: Options) -> dict[str, Floats]:
    """Return each measure of resampled trials or items, ``(n_boot, cells)``, NaN where a resample has none."""
    raw = cells.table
    rng = resampling.generator(resampling.stream("fit", options.seed))
    flat, width = np.rint(np.hstack([raw.n_s1, raw.n_s2])), raw.n_s1.shape[1]
    found: dict[str, list[Floats]] = {}
    for size in resampling.blocks(options.n_boot or _CLUSTER_DRAWS, raw.cells, _BATCH):
        if cells.patterns is None:
            drawn = resampling.table(flat, size, rng)
        else:
            drawn = np.stack([resampling.patterns(each, size, rng) for each in cells.patterns], axis=1)
        drawn = drawn.reshape(size * raw.cells, -1)
        table = Counts(drawn[:, :width], drawn[:, width:])
        table = padded(table, pad) if pad else table
        slope = zroc_slope(table).slope if options.s == "zroc" else s
        fit = fit_metad(table, slope, conditional=options.conditional)
        values = {
            name: np.where(status == OK, value, np.nan) for name, (value, _, status) in _numbers(fit).items()
        }
        if cells.patterns is not None:
            first = type1(table, s=slope)
            values |= {name: np.asarray(getattr(first, name)) for name in _type1_measures(options)}
        for name, value in values.items():
            usable = np.where(np.isfinite(value), value, np.nan).reshape(size, raw.cells)
            found.setdefault(name, []).append(usable)
    return {name: np.concatenate(blocks) for name, blocks in found.items()}


def _accuracy(cells: CountTable, cell: int) -> Estimate:
    table = cells.table
    n = float(table.n[cell])
    if n <= 0:
        return unavailable(0, "wilson", NO_ITEMS)
    if cells.patterns is not None:
        k = table.ratings
        right = np.concatenate([np.ones(k), np.zeros(2 * k), np.ones(k)])
        return resampling.share(cells.patterns[cell], right, np.ones(4 * k))
    share = min(1.0, float(table.hits[cell] + table.correct_rejections[cell]) / n)
    return Estimate(share, *wilson_interval(share, n), round(n), "wilson")


def _posterior(cells: CountTable, cell: int, options: Options) -> dict[str, Estimate]:
    label = repr(sorted((name, value or "") for name, value in cells.names[cell].items()))
    one = cells.table.take(cell)
    try:
        fit = bayes_metad(one, conditional=options.conditional, seed=options.seed, label=label)
    except ValueError as error:
        raise StudyError(f"--bayes: {error}") from None
    estimates = fit.estimates()
    if not fit.converged:
        estimates = {name: replace(found, status=fit.reason) for name, found in estimates.items()}
    elif why := identifiability.reasons_of(one)[0]:
        of_type1 = ("d1", "c1")
        estimates = {
            name: found if name in of_type1 else unavailable(found.n, found.method, why)
            for name, found in estimates.items()
        }
    return {f"bayes_{name}": found for name, found in _gated(estimates, estimates["d1"]).items()}


def _row(measure: str, found: Estimate, dropped: int, basis: Basis) -> Iterator[Any]:
    few = measured_coverage.low_n(
        measure, found.method, found.value, found.low, found.n, basis.rarer, several=basis.several
    )
    yield from (found.value, found.low, found.high, found.sem, found.n, few, dropped)
    yield from (found.method, found.status)
