"""Every measure of trials with confidence, cell by cell; their average over subjects; and the group model of M-ratio.

Intervals of meta-d' and its relatives are the two-stage delta method's or, on demand, percentiles of resampled trials;
where an item has several trials, whole items are resampled. Nothing is padded unless asked for; whether there is a
number is decided without it (`stats.identifiability`).
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
from metacog_pipeline.stats.calibration import brier, ece, ece_estimate
from metacog_pipeline.stats.confidence_data import ConfidenceData
from metacog_pipeline.stats.confidence_measures import trials
from metacog_pipeline.stats.counts import Counts, counts_from_trials, padded
from metacog_pipeline.stats.estimate import NO_ITEMS, OK, SINGLE_ITEM, Estimate, unavailable
from metacog_pipeline.stats.mafc import efficiency
from metacog_pipeline.stats.mafc.fit import groups
from metacog_pipeline.stats.metad import REASONS, MetaD, fit_metad
from metacog_pipeline.stats.resampling import Z95, Patterns, patterns_of
from metacog_pipeline.stats.type1 import type1
from metacog_pipeline.stats.type2 import auroc2

NOT_BINARY = "no Bayesian model of answers known as right or wrong only"
SCALED = (*confidence_measures.SCALED, "mean_confidence", "brier", "ece")
_TYPE1, _RATIOS = ("d", "c", "c_prime", "ln_beta"), ("c_prime", "m_ratio")
_BATCH = 20_000  # resampled tables fitted together: bounds memory
_DRAWS = 1000  # resamples of items, and of answers with a confidence, unless --bootstrap says how many
#: Ends that no average passes.
_RANGES = {
    **dict.fromkeys(("accuracy", "auroc2", "auroc2_ideal", "aurc", "mean_confidence", "brier", "ece"), (0.0, 1.0)),
    **dict.fromkeys(("excess_aurc", "calibration_in_the_large"), (-1.0, 1.0)),
}  # fmt: skip

Estimates = dict[str, Estimate]


@dataclass(frozen=True, slots=True)
class Options:
    """How to fit."""

    padding: float | Literal["auto"] | None = None  # added to each of the 4 K counts; "auto" is 1 / (2 K)
    n_boot: int = 0  # resamples for percentile intervals, 0 for the delta method
    seed: int = 0  # of resamples and posteriors
    bayes: bool = False  # whether to add the posterior of the single-subject model


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells of a yes/no task with one K: their names, {column: text}, and their raw counts.

    ``areas`` is AUROC2 of confidence before it was cut, ``patterns`` the items of each cell over its 4 K counts, S1 first.
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
    assert data.rating is not None and data.ratings is not None
    used, k, items, rows = data.account.used, data.ratings, data.items, data.rows()
    sides = (data.stimulus[used], data.response[used], data.rating[used])
    table = counts_from_trials(*sides, k, data.cell[used], len(data.cells))
    table = replace(table, dropped=data.dropped())
    areas = None
    # Levels that are ratings already have the same area as counts; what was cut has more levels than these.
    if items is not None or len(np.unique(data.confidence[used])) > k:
        right = np.nan_to_num(data.correct).astype(np.int64)
        areas = [
            auroc(data.confidence[own], right[own], None if items is None else items[own]) for own in rows
        ]
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
    table = padded(raw, amount) if amount else raw
    first, fit, area = type1(table), fit_metad(table), auroc2(raw)
    clustered = cells.patterns is not None
    drawn = _resampled(cells, table.pad, options) if options.n_boot or clustered else None
    label = "ml" + (f" on counts + {table.pad:g}" if table.pad else "")
    found = []
    for cell, why in enumerate(fit.withheld):
        n = round(float(raw.n[cell]))
        one = area.estimate(cell) if cells.areas is None else cells.areas[cell]
        own = {"accuracy": _accuracy(cells, cell), "auroc2": one}
        own |= {name: first.estimate(name, cell) for name in _TYPE1}
        if drawn is not None and clustered:
            own |= {name: _over_items(own[name], drawn[name][:, cell]) for name in _TYPE1}
        reason = why or REASONS[str(fit.status[cell])] or OK
        for name, (values, errors) in _numbers(fit).items():
            draws = None if drawn is None else drawn[name][:, cell]
            number = float(values[cell]), float(errors[cell])
            own[name] = _estimate(*number, n, label, reason, draws, clustered)
        own = _gated(own, own["d"])
        found.append(own | (_posterior(cells, cell, options) if options.bayes else {}))
    return found


def _gated(of_cell: Estimates, d: Estimate) -> Estimates:
    """Return the measures of a cell without ratios to a d' that may be 0."""
    return {
        name: identifiability.gated(one, d.low, d.high) if name.startswith(_RATIOS) else one
        for name, one in of_cell.items()
    }


def _over_items(one: Estimate, draws: Floats) -> Estimate:
    """Return a sensitivity or criterion with the interval of resampled items in place of the delta method's."""
    if one.value is None or one.low is None:
        return one
    method = one.method.replace("delta", f"bootstrap of {len(draws)} over items")
    return resampling.from_draws(one.value, draws, one.n, method, one.status)


def _numbers(fit: MetaD) -> dict[str, tuple[Floats, Floats]]:
    """Return value and standard error of each fitted measure, by name."""
    return {
        "meta_d": (fit.meta_da, fit.se_meta_d_total),
        "m_ratio": (fit.m_ratio, fit.se_m_ratio),
        "m_diff": (fit.m_diff, fit.se_m_diff),
    }


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
        return Estimate(value, value - Z95 * error, value + Z95 * error, n, name, OK, error)
    usable = int(np.isfinite(draws).sum())
    name += f", {usable} usable" if usable < len(draws) else ""
    return resampling.from_draws(value, draws, n, name)


def _resampled(cells: Cells, pad: float, options: Options) -> dict[str, Floats]:
    """Return each measure of resampled trials or items, ``(n_boot, cells)``, NaN where a resample has none."""
    raw = cells.table
    rng = resampling.generator(resampling.stream("fit", options.seed))
    flat, width = np.rint(np.hstack([raw.n_s1, raw.n_s2])), raw.n_s1.shape[1]
    found: dict[str, list[Floats]] = {}
    for size in resampling.blocks(options.n_boot or _DRAWS, raw.cells, _BATCH):
        if cells.patterns is None:
            drawn = resampling.table(flat, size, rng)
        else:
            drawn = np.stack([resampling.patterns(each, size, rng) for each in cells.patterns], axis=1)
        drawn = drawn.reshape(size * raw.cells, -1)
        table = Counts(drawn[:, :width], drawn[:, width:])
        table = padded(table, pad) if pad else table
        fit = fit_metad(table)
        values = {name: np.where(fit.ok, value, np.nan) for name, (value, _) in _numbers(fit).items()}
        if cells.patterns is not None:
            first = type1(table)
            values |= {name: np.asarray(getattr(first, name)) for name in _TYPE1}
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
        right = np.repeat([1.0, 0.0, 1.0], [k, 2 * k, k])
        return intervals.share(cells.patterns[cell], right, np.ones(4 * k))
    share = min(1.0, float(table.hits[cell] + table.correct_rejections[cell]) / n)
    return Estimate(share, *intervals.wilson_interval(share, n), round(n), "wilson")


def _posterior(cells: Cells, cell: int, options: Options) -> Estimates:
    from metacog_pipeline.stats.bayes.single import bayes_metad  # late: no other fit needs the sampler

    label = repr(sorted((name, value or "") for name, value in cells.names[cell].items()))
    one = cells.table.take(cell)
    fit = bayes_metad(one, seed=options.seed, label=label)
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
    assert data.share is not None
    right, seed = data.correct[own].astype(np.int64), resampling.stream("fit", options.seed)
    items = None if data.items is None else data.items[own]
    stated, why = data.confidence[own], data.unscaled[cell]
    share = None if why else data.share[own]
    used = stated if share is None else share
    made = trials(used, right, items, stream=seed, n_draws=options.n_boot or _DRAWS)
    rows = np.arange(len(own)) if items is None else np.unique(items, return_inverse=True)[1]
    accuracy = unavailable(0, "wilson", NO_ITEMS)
    if len(own):
        accuracy = intervals.share(patterns_of(rows, right, 2), [0, 1], [1, 1])
    found = {"accuracy": accuracy, "auroc2": made.area}
    found |= confidence_measures.of_trials(made, probability=share is not None)
    if share is None:  # its order alone says something
        found |= {name: unavailable(made.n, "none", why) for name in SCALED}
    else:
        error = ece(share, right)  # of the confidences as they are; resamples are of grouped levels
        if error.value is not None and made.n_items > 1:
            totals = made.patterns.totals
            both = Patterns(np.vstack([totals, 0 * totals]), np.array([1, 1]))
            one = ece_estimate(both, made.grouped, made.draws, 10, "equal")
            assert one.low is not None and one.high is not None
            low, high = min(one.low, error.value), max(one.high, error.value)
            how = f"{error.method}, {one.method}"
            error = replace(error, low=low, high=high, method=how, sem=one.sem)
        elif error.value is not None:
            error = replace(error, status=SINGLE_ITEM)
        found |= {
            "mean_confidence": intervals.mean(share, rows), "brier": brier(share, right, rows), "ece": error,
        }  # fmt: skip
    rated = stated if data.rating is None else data.rating[own]
    found |= efficiency.efficiency(_choices(rated, right, data.m, items, options.n_boot, seed))
    if options.bayes:
        missing = unavailable(len(own), "none", NOT_BINARY)
        found |= {f"bayes_{name}": missing for name in ("meta_d", "m_ratio")}
    return found


def _choices(
    stated: Floats, right: Ints, m: int | None, items: Ints | None, n_boot: int, seed: int
) -> efficiency.Choices:
    """Return answers as counts; without a number of alternatives there is no stratum."""
    if m is None or not len(stated):
        return efficiency.Choices(np.zeros((0, 1)), np.zeros((0, 1)), np.zeros(0, dtype=np.int64))
    levels, place = np.unique(stated, return_inverse=True)
    wrong, rights = (
        np.bincount(place[right == kind], minlength=len(levels)).astype(float) for kind in (0, 1)
    )
    rating = groups(rights, wrong)
    clusters = np.arange(len(right)) if items is None else items
    drawn = None if items is None and not n_boot else seed
    n_draws, alternatives = n_boot or efficiency.N_REFITTED, np.full(len(right), m)
    return efficiency.choices(
        rating[place], right, alternatives, clusters, drawn, int(rating.max()) + 1, n_draws
    )


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
    """Return `coverage.low_n` of ``found``, an estimate of ``measure``, or true where ``fewer`` right or wrong answers
    are few; shares only rest on what coverage says of them. ``several``: whether items have several trials.

    >>> low_n("d", Estimate(1.0, 0.2, 1.8, 19, "delta, correction none"), 8, False)
    True
    """
    of = (measure, found.method, found.value, found.low, found.n, fewer)
    marked = coverage.low_n(*of, several=several)
    few = fewer < identifiability.LEAST_ERRORS and not found.method.startswith("wilson")
    return marked if marked is None else marked or few


def average(subjects: Sequence[Estimates]) -> Estimates:
    """Return the mean of each measure over ``subjects``, with the interval of t over them.

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


def group(table: Counts, seed: int, label: str) -> Estimates:
    """Return the hierarchical model of subjects, one per cell of ``table``: mean d' and c, the M-ratio of the population
    and the standard deviation of its logarithm; ``seed`` and ``label`` determine the draws.

    Subjects who were right (or wrong) in every trial, saw one stimulus, gave one answer or stated one confidence tell the
    model nothing of an M-ratio, and draws of their d' do not converge: they take no part.

    >>> from metacog_pipeline.stats.counts import counts
    >>> group(counts([9, 4, 3, 2], [2, 3, 5, 8]), 1, "")["m_ratio"].status
    'few_subjects: 1 subject(s): a population needs two, fit a single one with bayes_metad'
    """
    from metacog_pipeline.stats.bayes.group import (
        METHOD,
        METHOD_EFFICIENCY,
        bayes_metad_group,
    )  # late: as above

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
    """Return which cells of ``table`` hold right and wrong answers, both stimuli, both responses and two confidences."""
    right, wrong = table.by_confidence
    s2 = table.hits + table.false_alarms
    halves = (right.sum(axis=1), wrong.sum(axis=1), table.n1, table.n2, s2, table.n - s2)
    levels = ((right + wrong) > 0).sum(axis=1)
    return np.asarray(np.all([each > 0 for each in halves], axis=0) & (levels > 1), dtype=bool)
