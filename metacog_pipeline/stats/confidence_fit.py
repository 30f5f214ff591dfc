"""Every measure of trials with confidence, cell by cell; their average over subjects; and the group model of M-ratio.

Intervals of d', c, c' and ln beta are those of the delta method, of AUROC2 the scaled score's, of meta-d' and its relatives
the two-stage delta method's or, on demand, percentiles of resampled trials; where an item has several trials, whole items
are resampled. Nothing is padded unless asked for; whether there is a number is decided without it
(`stats.identifiability`). d'type2 is that of log-linear rates, and beside it that of the rates as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from metacog_pipeline.stats import confidence_measures, coverage, identifiability, intervals, resampling
from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats.auroc import auroc
from metacog_pipeline.stats.bayes.single import METHOD as BAYES_METHOD
from metacog_pipeline.stats.bayes.single import bayes_metad
from metacog_pipeline.stats.calibration import brier, ece, ece_estimate
from metacog_pipeline.stats.confidence_columns import DataError
from metacog_pipeline.stats.confidence_data import ConfidenceData
from metacog_pipeline.stats.counts import Counts, counts_from_trials, padded
from metacog_pipeline.stats.estimate import NO_ITEMS, OK, SINGLE_ITEM, Estimate, unavailable
from metacog_pipeline.stats.intervals import wilson_interval
from metacog_pipeline.stats.mafc import efficiency
from metacog_pipeline.stats.mafc.fit import groups
from metacog_pipeline.stats.metad import REASONS, MetaD, fit_metad
from metacog_pipeline.stats.resampling import Z95, Patterns, patterns_of
from metacog_pipeline.stats.trials import FOLDS, trials
from metacog_pipeline.stats.type1 import type1, zroc_slope
from metacog_pipeline.stats.type2 import auroc2
from metacog_pipeline.stats.type2_dprime import SHARES, Type2Dprime, type2_dprime

NOT_BINARY = "no Bayesian model of answers known as right or wrong only"
BY_CORRECTION = "a rate is 0 or 1: its size is the correction's"
SCALED = (*confidence_measures.SCALED, "mean_confidence", "brier", "ece")
KEPT = ("d_type2", "d_type2_raw", *(name for name in SHARES if name != "accuracy"))
_CORRECTIONS = {"d_type2": "loglinear", "d_type2_raw": "none"}
_RATIOS = ("c_prime", "m_ratio")  # to d'
_BATCH = 20_000  # resampled tables fitted together: bounds memory
# Resamples where nobody said how many: of items, of kept answers, and of answers with a confidence, from many of which on
# two folds are enough to learn a scale.
_CLUSTER_DRAWS, _KEPT_DRAWS, _MEASURE_DRAWS, _MANY = 1000, 4000, 1000, 10_000

Estimates = dict[str, Estimate]


@dataclass(frozen=True, slots=True)
class Options:
    """How to fit."""

    padding: float | Literal["auto"] | None = None  # added to each of the 4 K counts; "auto" is 1 / (2 K)
    s: float | Literal["zroc"] = 1.0  # sd(S1) / sd(S2), or the slope of each cell's zROC
    conditional: bool = False  # whether to fit either response alone as well
    n_boot: int = 0  # resamples for percentile intervals, 0 for the delta method
    seed: int = 0  # of resamples and posteriors
    bayes: bool = False  # whether to add the posterior of the single-subject model


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells of a yes/no task with one K: their names, {column: text}, and their raw counts.

    ``areas`` is AUROC2 of confidence before it was cut, None where counts are all there is; ``patterns``, where items have
    several trials, the items of each cell over its 4 K counts, S1 first.
    """

    names: Sequence[Mapping[str, str | None]]
    table: Counts
    areas: Sequence[Estimate] | None = None
    patterns: Sequence[Patterns] | None = None


def binary_cells(data: ConfidenceData) -> Cells:
    """Return the counts of ``data``, trials with two sides.

    >>> from metacog_pipeline.stats.confidence_columns import column
    >>> from metacog_pipeline.stats.confidence_data import read
    >>> given = {"stim": [1, 1, 2, 2], "resp": [0, 1, 1, 1], "conf": [2, 1, 2, 2]}
    >>> binary_cells(read({name: column(name, cells) for name, cells in given.items()})).table.n_s2.tolist()
    [[0.0, 0.0, 0.0, 2.0]]
    """
    assert data.stimulus is not None and data.response is not None
    assert data.rating is not None and data.confidence is not None and data.ratings is not None
    used = data.account.used
    number, k = len(data.cells), data.ratings
    sides = (data.stimulus[used], data.response[used], data.rating[used])
    table = counts_from_trials(*sides, k, data.cell[used], number)
    table = Counts(table.n_s1, table.n_s2, data.dropped())
    rows, items = data.rows(), data.items
    # Levels that are ratings already have the same area as counts; what was cut has more levels than these.
    cut = items is not None or len(np.unique(data.confidence[used])) > k
    areas = [
        auroc(data.confidence[own], data.correct[own].astype(np.int64), None if items is None else items[own])
        for own in rows
    ] if cut else None  # fmt: skip
    if items is None:
        return Cells(data.cells, table, areas)
    bin_of = np.where(data.response == 1, k + data.rating - 1, k - data.rating)
    place = np.where(used, data.stimulus * 2 * k + bin_of, 0).astype(np.int64)
    return Cells(data.cells, table, areas, [patterns_of(items[own], place[own], 4 * k) for own in rows])


def fit_cells(cells: Cells, options: Options) -> list[Estimates]:
    """Return the measures by name of each of the ``cells`` of a yes/no task, fitted as ``options`` say.

    >>> from metacog_pipeline.stats.counts import counts
    >>> found = fit_cells(Cells([{}], counts([36, 24, 17, 9], [9, 10, 19, 40])), Options())[0]
    >>> round(found["d"].value, 2), found["d"].n
    (1.21, 164)
    """
    raw = cells.table
    amount = 1 / (2 * raw.ratings) if options.padding == "auto" else options.padding
    try:
        table = padded(raw, amount) if amount else raw
    except ValueError as error:
        raise DataError(f"--padding: {error}") from None
    fits, area = _fitted(cells, table, options), auroc2(raw)
    found = []
    for cell in range(raw.cells):
        one = area.estimate(cell) if cells.areas is None else cells.areas[cell]
        of_cell = {"accuracy": _accuracy(cells, cell), "auroc2": one, **fits[cell]}
        found.append(of_cell | (_posterior(cells, cell, options) if options.bayes else {}))
    return found


def _fitted(cells: Cells, table: Counts, options: Options) -> list[Estimates]:
    raw = cells.table
    s: float | Floats = zroc_slope(table).slope if options.s == "zroc" else float(options.s)
    first, fit = type1(table, s=s), fit_metad(table, s, conditional=options.conditional)
    clustered = cells.patterns is not None
    drawn = _resampled(cells, table.pad, s, options) if options.n_boot or clustered else None
    label = "ml" + (f" on counts + {table.pad:g}" if table.pad else "")
    label += "" if options.s == 1 else f", s {options.s}"
    numbers, found = _numbers(fit), []
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


def _gated(of_cell: Estimates, d: Estimate) -> Estimates:
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
    """Return value, standard error and status of each fitted measure, by name."""
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


def _resampled(cells: Cells, pad: float, s: float | Floats, options: Options) -> dict[str, Floats]:
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


def _accuracy(cells: Cells, cell: int) -> Estimate:
    table = cells.table
    n = float(table.n[cell])
    if n <= 0:
        return unavailable(0, "wilson", NO_ITEMS)
    if cells.patterns is not None:
        k = table.ratings
        right = np.concatenate([np.ones(k), np.zeros(2 * k), np.ones(k)])
        return intervals.share(cells.patterns[cell], right, np.ones(4 * k))
    share = min(1.0, float(table.hits[cell] + table.correct_rejections[cell]) / n)
    return Estimate(share, *wilson_interval(share, n), round(n), "wilson")


def _posterior(cells: Cells, cell: int, options: Options) -> Estimates:
    label = repr(sorted((name, value or "") for name, value in cells.names[cell].items()))
    one = cells.table.take(cell)
    try:
        fit = bayes_metad(one, conditional=options.conditional, seed=options.seed, label=label)
    except ValueError as error:
        raise DataError(f"--bayes: {error}") from None
    estimates = fit.estimates()
    if not fit.converged:
        estimates = {name: replace(found, status=fit.reason) for name, found in estimates.items()}
    elif why := identifiability.reasons_of(one)[0]:
        estimates = {
            name: found if name in ("d1", "c1") else unavailable(found.n, found.method, why)
            for name, found in estimates.items()
        }
    return {f"bayes_{name}": found for name, found in _gated(estimates, estimates["d1"]).items()}


def fit_answers(data: ConfidenceData, options: Options) -> list[Estimates]:
    """Return the measures of each cell of ``data``, answers known as right or wrong, fitted as ``options`` say.

    >>> from metacog_pipeline.stats.confidence_columns import column
    >>> from metacog_pipeline.stats.confidence_data import read
    >>> made = read({"correct": column("correct", [1, 0, 1]), "confidence": column("confidence", [80, 20, 90])})
    >>> fit_answers(made, Options())[0]["auroc2"].value
    1.0
    """
    return [_of_answers(data, own, cell, options) for cell, own in enumerate(data.rows())]


def _of_answers(data: ConfidenceData, own: NDArray[np.intp], cell: int, options: Options) -> Estimates:
    right, seed = data.correct[own].astype(np.int64), resampling.stream("fit", options.seed)
    items = None if data.items is None else data.items[own]
    table = patterns_of(np.arange(len(own)) if items is None else items, right, 2)
    found = {
        "accuracy": intervals.share(table, [0, 1], [1, 1]) if len(own) else unavailable(0, "wilson", NO_ITEMS)
    }
    if data.confidence is not None and data.share is not None:
        stated, why = data.confidence[own], data.unscaled[cell]
        share = None if why else data.share[own]
        found |= _confidence(stated, share, why, right, items, options.n_boot, seed)
        rated = stated if data.rating is None else data.rating[own]
        found |= efficiency.efficiency(_choices(rated, right, data.m[own], items, options.n_boot, seed))
    if data.keep is not None:
        found |= _kept(right, data.keep[own].astype(np.int64), items, options.n_boot, seed)
    if options.bayes:
        missing = unavailable(len(own), BAYES_METHOD, NOT_BINARY)
        found |= {f"bayes_{name}": missing for name in ("meta_d", "m_ratio")}
    return found


def _confidence(
    stated: Floats, share: Floats | None, why: str, right: Ints, items: Ints | None, n_boot: int, seed: int
) -> Estimates:
    """Return what confidence is worth; where its scale is not known, that of its order alone, and a reason."""
    folds = 2 if share is None or len(right) >= _MANY else FOLDS
    used = stated if share is None else share
    made = trials(used, right, items, stream=seed, n_draws=n_boot or _MEASURE_DRAWS, folds=folds)
    found = {"auroc2": made.area, **confidence_measures.of_trials(made, probability=share is not None)}
    if share is None:
        return found | {name: unavailable(made.n, "none", why) for name in SCALED}
    rows = np.arange(len(right)) if items is None else np.unique(items, return_inverse=True)[1]
    found |= {"mean_confidence": intervals.mean(share, rows), "brier": brier(share, right, rows)}
    # Ten bins of equal width; the value is that of the confidences as they are, resamples are of grouped levels.
    whole, totals = ece(share, right), made.folded.sum(axis=0).astype(np.int64)
    if whole.value is None or made.n_items < 2:
        return found | {"ece": whole if whole.value is None else replace(whole, status=SINGLE_ITEM)}
    one = ece_estimate(
        Patterns(np.vstack([totals, 0 * totals]), np.array([1, 1])), made.grouped, made.draws, 10, "equal"
    )
    assert one.low is not None and one.high is not None
    low, high = min(one.low, whole.value), max(one.high, whole.value)
    return found | {
        "ece": replace(one, value=whole.value, low=low, high=high, method=f"{whole.method}, {one.method}")
    }


def _choices(
    stated: Floats, right: Ints, m: Floats, items: Ints | None, n_boot: int, seed: int
) -> efficiency.Choices:
    """Return answers as counts; those whose alternatives are not known have no stratum, but count in the area."""
    known = ~np.isnan(m)
    correct = right[known]
    levels, place = np.unique(stated[known], return_inverse=True)
    rights = np.bincount(place, correct, len(levels)).astype(float)
    rating = groups(rights, np.bincount(place, 1 - correct, len(levels)).astype(float))
    return efficiency.choices(
        rating[place] if len(levels) else place.astype(np.int64),
        correct,
        m[known].astype(np.int64),
        items[known] if items is not None else np.arange(len(correct)),
        seed if items is not None or n_boot else None,
        int(rating.max(initial=0)) + 1,
        n_boot or efficiency.N_REFITTED,
    )


def _kept(right: Ints, keep: Ints, items: Ints | None, n_boot: int, seed: int) -> Estimates:
    """Return d'type2 and the shares of the table keep × right: a hit is an answer that was kept and right."""
    if not len(keep):
        return {name: unavailable(0, "wilson", NO_ITEMS) for name in KEPT}
    cells = 2 * keep + right
    counts = np.bincount(cells, minlength=4).astype(np.float64)
    table = None if items is None else patterns_of(items, cells, 4)
    draws = (
        resampling.patterns(table, n_boot or _KEPT_DRAWS, seed)
        if table is not None and table.n_items > 1
        else None
    )
    found = {name: _d_type2(counts, correction, draws) for name, correction in _CORRECTIONS.items()}
    plain = _of_table(counts[None], "none")
    for name in KEPT[2:]:
        made = plain.estimate(name)
        if table is not None and made.value is not None:
            made = intervals.share(table, *_TOP_AND_BOTTOM[name])
            made = made if table.n_items > 1 else replace(made, low=None, high=None, status=SINGLE_ITEM)
        found[name] = made
    return found


def _of_table(counts: Floats, correction: str) -> Type2Dprime:
    """Return the measures of counts ``(B, 4)``: withdrawn and wrong, withdrawn and right, then the same kept."""
    top, both = (counts[:, 3], counts[:, 2]), (counts[:, 1] + counts[:, 3], counts[:, 0] + counts[:, 2])
    return type2_dprime(*top, *both, correction)


def _d_type2(counts: Floats, correction: str, draws: Floats | None) -> Estimate:
    made = _of_table(counts[None], correction).estimate("d")
    extreme = not counts.all() and made.value is not None
    # What was never seen is never drawn: with a rate of 0 or 1 resamples vary in the other rate only.
    if draws is not None and made.value is not None and not extreme:
        drawn = _of_table(draws, correction).d
        method = f"bootstrap of {len(draws)} over items, correction {correction}"
        drawn = np.where(np.isfinite(drawn), drawn, np.nan)
        made = resampling.from_draws(made.value, drawn, made.n, method, kind="widened")
    return replace(made, status=BY_CORRECTION) if extreme and made.status == OK else made


#: Cells withdrawn and wrong, withdrawn and right, kept and wrong, kept and right: counted, and out of how many.
_TOP_AND_BOTTOM = {
    "hit_rate": ((0, 0, 0, 1), (0, 1, 0, 1)),
    "false_alarm_rate": ((0, 0, 1, 0), (1, 0, 1, 0)),
    "raw_alignment": ((1, 0, 0, 1), (1, 1, 1, 1)),
    "yes_ratio": ((0, 0, 1, 1), (1, 1, 1, 1)),
    "yfr": ((0, 0, 1, 0), (0, 0, 1, 1)),
    "nfr": ((0, 1, 0, 0), (1, 1, 0, 0)),
}


def rarer(data: ConfidenceData) -> list[int]:
    """Return of each cell of ``data`` how many answers are right or how many are wrong, whichever are fewer.

    >>> from metacog_pipeline.stats.confidence_columns import column
    >>> from metacog_pipeline.stats.confidence_data import read
    >>> rarer(read({"correct": column("correct", [1, 0, 1]), "confidence": column("confidence", [80, 20, 90])}))
    [1]
    """
    right = [float(data.correct[own].sum()) for own in data.rows()]
    return [int(min(k, len(own) - k)) for k, own in zip(right, data.rows(), strict=True)]


def low_n(measure: str, found: Estimate, fewer: int, several: bool) -> bool | None:
    """Return `coverage.low_n` of ``found``, an estimate of ``measure``, or true where ``fewer`` right or wrong answers are
    few.

    Shares only rest on what coverage says of them. ``several``: whether items have several trials.

    >>> low_n("d", Estimate(1.0, 0.2, 1.8, 19, "delta, correction none"), 8, False)
    True
    """
    of = (measure, found.method, found.value, found.low, found.n, fewer)
    marked = coverage.low_n(*of, several=several)
    few = fewer < identifiability.LEAST_ERRORS and not found.method.startswith("wilson")
    return marked if marked is None else marked or few


def average(subjects: Sequence[Estimates]) -> Estimates:
    """Return the mean of each measure over subjects, with the interval of t over them; ``n`` is the number of subjects.

    A measure that fewer than half of the subjects have is not averaged: who has one depends on its value.

    >>> one, two = ({"d": Estimate(each, None, None, 50, "ml")} for each in (1.0, 1.2))
    >>> found = average([one, two])["d"]
    >>> round(found.value, 2), found.n, round(found.high, 2)
    (1.1, 2, 2.37)
    """
    found = {}
    for name in dict.fromkeys(name for each in subjects for name in each):
        given = [each[name].value for each in subjects if name in each]
        values = np.array([value for value in given if value is not None])
        n, of, method = len(values), len(subjects), "mean over subjects, t"
        if n < 2 or 2 * n < of:
            found[name] = unavailable(n, method, f"{n} of {of} subjects have a value")
            continue
        value, error = float(values.mean()), float(values.std(ddof=1) / np.sqrt(n))
        half = float(stdtrit(n - 1, 0.975)) * error
        floor, top = _RANGES.get(name, (-np.inf, np.inf))
        status = OK if n == of else f"{of - n} of {of} subjects have no value"
        low, high = max(value - half, floor), min(value + half, top)
        found[name] = Estimate(value, low, high, n, method, status, error)
    return found


_SHARES = ("accuracy", "auroc2", "brier", "ece", "ece_mass", "mean_confidence", "aurc", *_TOP_AND_BOTTOM)
_RANGES = {
    **dict.fromkeys((*_SHARES, "ece_platt", "ece_isotonic", "brier_platt", "brier_isotonic", "auroc2_ideal"), (0.0, 1.0)),
    "excess_aurc": (-1.0, 1.0), "calibration_in_the_large": (-1.0, 1.0),
}  # fmt: skip


def group(table: Counts, seed: int, label: str) -> Estimates:
    """Return the hierarchical model of subjects, one per cell of ``table``: mean d' and c, the M-ratio of the population
    and the standard deviation of its logarithm; ``n`` is the number of subjects it is made of.
    ``seed`` and ``label`` determine the draws.

    Subjects who were right (or wrong) in every trial, saw one stimulus, gave one answer or stated one confidence tell the
    model nothing of an M-ratio, and draws of their d' do not converge: they take no part.

    >>> from metacog_pipeline.stats.counts import counts
    >>> group(counts([9, 4, 3, 2], [2, 3, 5, 8]), 1, "")["m_ratio"].status
    'few_subjects: 1 subject(s): a population needs two, fit a single one with bayes_metad'
    """
    # Imported late: no other fit needs the sampler.
    from metacog_pipeline.stats.bayes.group import METHOD, METHOD_EFFICIENCY, bayes_metad_group

    own = table.take(telling(table))
    fit = bayes_metad_group(own, seed=seed, label=label)
    how = f"group model of {own.cells} of {table.cells} subjects"
    if not fit.converged:
        why = unavailable(own.cells, f"{how}, {METHOD_EFFICIENCY}", f"{fit.status}: {fit.reason}")
        return dict.fromkeys(("d", "c", "m_ratio", "sd_log_m_ratio"), why)
    found = {}
    for name, drawn in (("d", "mu_d1"), ("c", "mu_c"), ("sd_log_m_ratio", "sigma_log_m")):
        draws = fit.draws[drawn]
        low, high = np.quantile(draws, [0.025, 0.975]).tolist()
        error = float(draws.std(ddof=1))
        found[name] = Estimate(float(draws.mean()), low, high, own.cells, f"{how}, {METHOD}", OK, error)
    ratio = replace(fit.efficiency(), method=f"{how}, {METHOD_EFFICIENCY}")
    return found | {"m_ratio": identifiability.gated(ratio, found["d"].low, found["d"].high)}


def telling(table: Counts) -> NDArray[np.bool_]:
    """Return which cells of ``table`` hold right and wrong answers, both stimuli, both responses and two confidences.

    >>> from metacog_pipeline.stats.counts import counts
    >>> telling(counts([[9, 4, 3, 2], [9, 4, 0, 0]], [[2, 3, 5, 8], [0, 0, 5, 8]])).tolist()
    [True, False]
    """
    right, wrong = table.by_confidence
    s2 = table.hits + table.false_alarms
    halves = (right.sum(axis=1), wrong.sum(axis=1), table.n1, table.n2, s2, table.n - s2)
    levels = ((right + wrong) > 0).sum(axis=1)
    return np.asarray(np.all([each > 0 for each in halves], axis=0) & (levels > 1), dtype=bool)
