"""Measures of the table right/wrong × yes/no, each with its interval or the reason it has none.

With H, F the yeses to right and to wrong answers, n1 right and n0 wrong answers (arXiv:2602.02605, section 3 and code):

===================  ==============================================================
accuracy             n1 / n
yes_ratio            (H + F) / n
raw_alignment        (H + n0 - F) / n
yfr, nfr             F / (H + F), (n1 - H) / (n - H - F): shares of the yeses, noes
hit_rate             H / n1
false_alarm_rate     F / n0
d_type2              z((H + ½) / (n1 + 1)) - z((F + ½) / (n0 + 1)): the headline
d_type2_clip         z(H / n1) - z(F / n0), rates kept 1e-4 from 0 and 1, as the
                     published numbers are
rmi                  I(right; yes) / H(right)
===================  ==============================================================

A clipped d′ of a rate of 0 or 1 is made by the clip and says so. Shares have Wilson's interval, on the effective number of
items where these repeat; the others that of resampled items.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.benchmarks.selfknowledge.cells import (
    STUDY,
    Cell,
    Floats,
    Reading,
    counts_of_cell,
)
from metacog_pipeline.stats.clusters import percentile_interval
from metacog_pipeline.stats.estimate import (
    ALL_CORRECT,
    ALL_WRONG,
    MOSTLY_UNDEFINED,
    NO_ITEMS,
    OK,
    SINGLE_ITEM,
    Estimate,
    unavailable,
)
from metacog_pipeline.stats.ratios import ratio_estimate
from metacog_pipeline.stats.type2_dprime import type2_dprime
from metacog_pipeline.stats.yes_no import CLIP, clipped_dprime, relative_information

Found = dict[str, Estimate]
Statistic = Callable[[Floats, Floats, Floats, Floats], Floats]
NEVER_YES = "never said yes"
NEVER_NO = "never said no"
BY_CLIP = f"a rate is 0 or 1: made by the clip at {CLIP:g}"
BY_CORRECTION = "a rate is 0 or 1: its size is the correction's"
LOG_LINEAR = "log-linear, item bootstrap"
LOG_LINEAR_WIDER = "log-linear, item bootstrap or delta, the wider"
CLIPPED = f"clip {CLIP:g}, item bootstrap"
NOT_A_FAILURE = -100  # in lists of failures: the item is none that could fail


def log_linear(hits: Floats, alarms: Floats, right: Floats, wrong: Floats) -> Floats:
    """Return d′ of log-linear rates; of an empty side the rate is ½."""
    return type2_dprime(hits, alarms, right, wrong, "loglinear").d


#: d′ and information of counts: yeses to right and to wrong answers, right and wrong answers; shape ``(cells,)`` each.
STATISTICS: dict[str, Statistic] = {
    "d_type2": log_linear,
    "d_type2_clip": clipped_dprime,
    "rmi": relative_information,
}


def table_of(correct: ArrayLike, yes: ArrayLike) -> tuple[int, int, int, int]:
    """Return yeses to right and to wrong answers, right and wrong answers, of 0/1 lists."""
    c, y = np.asarray(correct), np.asarray(yes)
    return (int((c * y).sum()), int(((1 - c) * y).sum()), int(c.sum()), int((1 - c).sum()))


def failures(correct: ArrayLike, yes: ArrayLike) -> tuple[list[int], list[int]]:
    """Return per item whether a yes failed (the answer was wrong) and whether a no did; -100 where none was said."""
    c, y = np.asarray(correct), np.asarray(yes)
    of_yes, of_no = np.where(y == 1, 1 - c, NOT_A_FAILURE), np.where(y == 0, c, NOT_A_FAILURE)
    return of_yes.tolist(), of_no.tolist()


def share(cell: Cell, top: Floats, bottom: Floats, why: str = NO_ITEMS) -> Estimate:
    """Return a share of rows; ``why`` is the status where it is a share of nothing."""
    found = ratio_estimate(cell.table.patterns, top * bottom, bottom)
    return found if found.value is not None else unavailable(0, found.method, why)


def shares(cell: Cell, reading: Reading = STUDY) -> Found:
    """Return the shares of one reading."""
    table = cell.table
    hits, misses, alarms, rejections = table.outcomes(reading).T
    both = hits + misses + alarms + rejections
    yes, no, right, wrong = hits + alarms, misses + rejections, hits + misses, alarms + rejections
    return {
        "yes_ratio": share(cell, table.where(**{reading.yes: 1}), table.known(reading.yes)),
        "raw_alignment": share(cell, hits + rejections, both),
        "yfr": share(cell, alarms, yes, NEVER_YES),
        "nfr": share(cell, misses, no, NEVER_NO),
        "hit_rate": share(cell, hits, right, ALL_WRONG),
        "false_alarm_rate": share(cell, alarms, wrong, ALL_CORRECT),
    }


def accuracy(cell: Cell, column: str = "correct", only: Floats | None = None) -> Estimate:
    """Return the share of right answers, of all that were answered, or of those with a weight in ``only``."""
    table = cell.table
    bottom = table.known(column) if only is None else table.known(column) * only
    return share(cell, table.where(**{column: 1}), bottom)


def counts_of(totals: Floats, weights: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return H, F, n1, n0 of totals ``(B, combinations)`` under outcome weights ``(combinations, 4)``."""
    hits, misses, alarms, rejections = (totals @ weights).T
    return hits, alarms, hits + misses, alarms + rejections


def sensitivity(cell: Cell, name: str, draws: Floats, reading: Reading = STUDY) -> Estimate:
    """Return a measure of `STATISTICS`, resampled."""
    weights = cell.table.outcomes(reading)
    hits, alarms, right, wrong = counts_of_cell(cell, reading)
    n = round(right + wrong)
    method = {"d_type2": LOG_LINEAR, "d_type2_clip": CLIPPED}.get(name, "item bootstrap, recentred")
    why = NO_ITEMS if not n else ALL_WRONG if not right else ALL_CORRECT if not wrong else None
    if why is not None:
        return unavailable(n, method, why)
    at = (np.array([each]) for each in (hits, alarms, right, wrong))
    value = float(STATISTICS[name](*at)[0])
    extreme = hits in (0, right) or alarms in (0, wrong)
    if name == "d_type2_clip" and extreme:
        return Estimate(value, None, None, n, f"clip {CLIP:g}", BY_CLIP)
    if cell.table.patterns.n_items < 2:
        return Estimate(value, None, None, n, method, SINGLE_ITEM)
    drawn = STATISTICS[name](*counts_of(draws, weights))
    if name == "d_type2":
        # A side that no resample holds an item of says nothing about d′.
        _, _, some, other = counts_of(draws, weights)
        drawn = np.where((some > 0) & (other > 0), drawn, np.nan)
    if name == "rmi":
        drawn = np.clip(drawn + value - float(np.nanmean(drawn)), 0.0, 1.0)
    found = _resampled(value, drawn, n, method)
    return _widened(found, hits, alarms, right, wrong) if name == "d_type2" and extreme else found


def _resampled(value: float, drawn: Floats, n: int, method: str) -> Estimate:
    low, high = percentile_interval(drawn)
    if low is None or high is None:
        return Estimate(value, None, None, n, method, MOSTLY_UNDEFINED)
    return Estimate(value, min(low, value), max(high, value), n, method, OK, float(np.nanstd(drawn)))


def _widened(found: Estimate, hits: float, alarms: float, right: float, wrong: float) -> Estimate:
    """Return the estimate with the delta method's interval where that reaches further.

    What was never seen is never drawn: with a rate of 0 or 1 resamples vary in the other rate only. The status says so.
    """
    made = type2_dprime([hits], [alarms], [right], [wrong], "loglinear").estimate("d")
    if made.low is None or made.high is None:
        return replace(found, status=BY_CORRECTION)
    low = made.low if found.low is None else min(made.low, found.low)
    high = made.high if found.high is None else max(made.high, found.high)
    sem = max(made.sem or 0.0, found.sem or 0.0)
    return Estimate(found.value, low, high, found.n, LOG_LINEAR_WIDER, BY_CORRECTION, sem)
