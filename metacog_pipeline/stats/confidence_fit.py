"""Every measure of trials with confidence, cell by cell; their average over subjects; and the group model of M-ratio.

Intervals of meta-d' and its relatives are the two-stage delta method's. Nothing is padded; whether there is a number is
decided by `stats.identifiability`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from metacog_pipeline.stats import confidence_measures, coverage, identifiability, intervals, resampling
from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats.auroc import auroc
from metacog_pipeline.stats.calibration import brier, ece, ece_estimate
from metacog_pipeline.stats.confidence_data import ConfidenceData
from metacog_pipeline.stats.confidence_measures import trials
from metacog_pipeline.stats.counts import Counts, counts_from_trials
from metacog_pipeline.stats.estimate import NO_ITEMS, OK, SINGLE_ITEM, Estimate, unavailable
from metacog_pipeline.stats.mafc import efficiency
from metacog_pipeline.stats.mafc.fit import groups
from metacog_pipeline.stats.metad import fit_metad
from metacog_pipeline.stats.type1 import type1
from metacog_pipeline.stats.type2 import auroc2

# What needs confidences that are shares.
SCALED = ("calibration_in_the_large", "mean_confidence", "brier", "ece")
_TYPE1, _RATIOS = ("d", "c", "c_prime", "ln_beta"), ("c_prime", "m_ratio")
_DRAWS = 1000  # resamples of answers with a confidence
#: Ends that no average passes.
_RANGES = {
    **dict.fromkeys(("accuracy", "auroc2", "auroc2_ideal", "aurc", "mean_confidence", "brier", "ece"), (0.0, 1.0)),
    **dict.fromkeys(("excess_aurc", "calibration_in_the_large"), (-1.0, 1.0)),
}  # fmt: skip

Estimates = dict[str, Estimate]


@dataclass(frozen=True, slots=True)
class Cells:
    """Raw counts of cells of a yes/no task with one K; ``areas`` is AUROC2 of confidence before it was cut."""

    table: Counts
    areas: Sequence[Estimate] | None = None


def binary_cells(data: ConfidenceData) -> Cells:
    """Return the counts of ``data``, trials with two sides.

    >>> from metacog_pipeline.stats import confidence_columns, confidence_data
    >>> given = {"stim": [1, 1, 2, 2], "resp": [0, 1, 1, 1], "conf": [2, 1, 2, 2]}
    >>> table = {name: confidence_columns.column(name, cells) for name, cells in given.items()}
    >>> binary_cells(confidence_data.read(table)).table.n_s2.tolist()
    [[0.0, 0.0, 0.0, 2.0]]
    """
    assert data.stimulus is not None and data.response is not None
    assert data.rating is not None and data.ratings is not None
    used, k = data.account.used, data.ratings
    sides = (data.stimulus[used], data.response[used], data.rating[used])
    table = counts_from_trials(*sides, k, data.cell[used], len(data.cells))
    # Levels that are ratings already have the same area as counts; what was cut has more levels than these.
    if len(np.unique(data.confidence[used])) <= k:
        return Cells(table)
    right = np.nan_to_num(data.correct).astype(np.int64)
    return Cells(table, [auroc(data.confidence[own], right[own]) for own in data.rows()])


def fit_cells(cells: Cells) -> list[Estimates]:
    """Return the measures by name of each of the ``cells`` of a yes/no task.

    >>> from metacog_pipeline.stats.counts import counts
    >>> found = fit_cells(Cells(counts([36, 24, 17, 9], [9, 10, 19, 40])))[0]
    >>> round(found["d"].value, 2), found["d"].n
    (1.21, 164)
    """
    table = cells.table
    first, fit, area = type1(table), fit_metad(table), auroc2(table)
    found = []
    for cell, why in enumerate(fit.withheld):
        n = round(float(table.n[cell]))
        one = area.estimate(cell) if cells.areas is None else cells.areas[cell]
        right = float(table.hits[cell] + table.correct_rejections[cell])
        own = {"accuracy": _share(right, float(table.n[cell])), "auroc2": one}
        own |= {name: first.estimate(name, cell) for name in _TYPE1}
        for name, values, errors in (
            ("meta_d", fit.meta_da, fit.se_meta_d_total),
            ("m_ratio", fit.m_ratio, fit.se_m_ratio),
            ("m_diff", fit.m_diff, fit.se_m_diff),
        ):
            own[name] = _estimate(float(values[cell]), float(errors[cell]), n, why or OK)
        d = own["d"]
        own |= {name: identifiability.gated(own[name], d.low, d.high) for name in _RATIOS}
        found.append(own)
    return found


def _estimate(value: float, error: float, n: int, status: str) -> Estimate:
    """Return a fitted number with the interval of its standard error."""
    if not np.isfinite(value) or status != OK:
        return unavailable(n, "ml, delta", status if status != OK else "no finite value")
    if not np.isfinite(error):
        return Estimate(value, None, None, n, "ml, delta", "no standard error")
    return Estimate(value, *intervals.sem_interval(value, error), n, "ml, delta", OK, error)


def _share(right: float, n: float) -> Estimate:
    if n <= 0:
        return unavailable(0, "wilson", NO_ITEMS)
    share = min(1.0, right / n)
    return Estimate(share, *intervals.wilson_interval(share, n), round(n), "wilson")


def fit_answers(data: ConfidenceData, seed: int = 0) -> list[Estimates]:
    """Return the measures of each cell of ``data``, answers known as right or wrong; ``seed`` is that of resamples.

    >>> from metacog_pipeline.stats.confidence_columns import column
    >>> from metacog_pipeline.stats.confidence_data import read
    >>> made = read({"correct": column("correct", [1, 0, 1]), "confidence": column("confidence", [80, 20, 90])})
    >>> fit_answers(made)[0]["auroc2"].value
    1.0
    """
    return [_of_answers(data, own, cell, seed) for cell, own in enumerate(data.rows())]


def _of_answers(data: ConfidenceData, own: NDArray[np.intp], cell: int, seed: int) -> Estimates:
    assert data.share is not None
    right, why = data.correct[own].astype(np.int64), data.unscaled[cell]
    stated, share = data.confidence[own], data.share[own]
    stream = resampling.stream("fit", seed)
    made = trials(stated if why else share, right, stream=stream, n_draws=_DRAWS)
    accuracy = intervals.proportion(int(right.sum()), len(own))
    found = {"accuracy": accuracy, "auroc2": made.area}
    found |= confidence_measures.of_trials(made, probability=not why)
    if why:  # its order alone says something
        found |= {name: unavailable(made.n, "none", why) for name in SCALED}
    else:
        rows = np.arange(len(own))
        found |= {
            "mean_confidence": intervals.mean(share, rows), "brier": brier(share, right, rows),
            "ece": _calibration_error(made, share, right),
        }  # fmt: skip
    return found | efficiency.efficiency(
        _choices(stated if data.rating is None else data.rating[own], right, data.m)
    )


def _calibration_error(made: confidence_measures.Trials, share: Floats, right: Ints) -> Estimate:
    """Return the error of confidences as they are, with the interval of their grouped levels."""
    error = ece(share, right)
    if error.value is None or made.n_items < 2:
        return error if error.value is None else replace(error, status=SINGLE_ITEM)
    one = ece_estimate(made.patterns, made.grouped, made.draws, 10, "equal")
    assert one.low is not None and one.high is not None
    low, high = min(one.low, error.value), max(one.high, error.value)
    return replace(error, low=low, high=high, method=f"{error.method}, {one.method}", sem=one.sem)


def _choices(stated: Floats, right: Ints, m: int | None) -> efficiency.Choices:
    """Return answers as counts; without a number of alternatives there is no stratum."""
    if m is None or not len(stated):
        return efficiency.Choices(np.zeros((0, 1)), np.zeros((0, 1)), np.zeros(0, dtype=np.int64))
    levels, place = np.unique(stated, return_inverse=True)
    wrong, rights = (
        np.bincount(place[right == kind], minlength=len(levels)).astype(float) for kind in (0, 1)
    )
    rating, each = groups(rights, wrong), np.arange(len(right))
    return efficiency.choices(rating[place], right, np.full(len(right), m), each, None, int(rating.max()) + 1)


def rarer(data: ConfidenceData) -> list[int]:
    """Return of each cell of ``data`` how many answers are right or how many are wrong, whichever are fewer.

    >>> from metacog_pipeline.stats.confidence_columns import column
    >>> from metacog_pipeline.stats.confidence_data import read
    >>> rarer(read({"correct": column("correct", [1, 0, 1]), "confidence": column("confidence", [80, 20, 90])}))
    [1]
    """
    right = [float(data.correct[own].sum()) for own in data.rows()]
    return [int(min(k, len(own) - k)) for k, own in zip(right, data.rows(), strict=True)]


def low_n(measure: str, found: Estimate, fewer: int) -> bool | None:
    """Return `coverage.low_n` of ``found``, or true where ``fewer`` right or wrong answers are few.

    >>> low_n("d", Estimate(1.0, 0.2, 1.8, 19, "delta, correction none"), 8)
    True
    """
    marked = coverage.low_n(measure, found.method, found.value, found.low, found.n, fewer)
    # Shares rest on what coverage says of them only: they have an interval that covers from any number on.
    few = fewer < identifiability.LEAST_ERRORS and not found.method.startswith("wilson")
    return marked if marked is None else marked or few


def average(subjects: Sequence[Estimates]) -> Estimates:
    """Return the mean of each measure over ``subjects``, with the interval of t over them.

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
        # Who has a measure depends on its value: of fewer than half of the subjects there is no average.
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

    >>> from metacog_pipeline.stats.counts import counts
    >>> group(counts([9, 4, 3, 2], [2, 3, 5, 8]), 1, "")["m_ratio"].status
    'few_subjects: 1 subject(s): a population needs two, fit a single one with bayes_metad'
    """
    # late: nothing else here needs the sampler
    from metacog_pipeline.stats.bayes.group import METHOD_EFFICIENCY, bayes_metad_group
    from metacog_pipeline.stats.bayes.single import METHOD

    # Subjects who were right (or wrong) in every trial, saw one stimulus, gave one answer or stated one confidence tell the
    # model nothing of an M-ratio, and draws of their d' do not converge: they take no part.
    right, wrong = table.by_confidence
    s2, levels = table.hits + table.false_alarms, ((right + wrong) > 0).sum(axis=1)
    halves = (right.sum(axis=1), wrong.sum(axis=1), table.n1, table.n2, s2, table.n - s2)
    own = table.take(np.all([each > 0 for each in halves], axis=0) & (levels > 1))
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
