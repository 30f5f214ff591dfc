"""Yes/no against right/wrong: does a "yes, I know" go with being right?

d'type2 = z(P(yes | correct)) - z(P(yes | wrong)), the type-2 form of Clarke, Birdsall & Tanner (1959), *JASA* 31, is no
meta-d'. With no false alarm `clipped_dprime` is z(hits) + 3.72 however few items there were.

All take counts, a number or shape ``(cells,)``: yeses among right answers (yes_correct of n_correct) and among wrong ones
(yes_incorrect of n_incorrect). Unequal shapes, negative numbers and more yeses than items are a ValueError.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from metacog_pipeline.stats._arrays import Floats, floats, ratio, same_length
from metacog_pipeline.stats.estimate import NO_ITEMS, OK, Estimate, of_numbers, unavailable
from metacog_pipeline.stats.intervals import sem_interval, wilson_interval
from metacog_pipeline.stats.meta_information import entropy_bits
from metacog_pipeline.stats.type1 import STATUSES, Texts, type1_from_table
from metacog_pipeline.stats.type2 import outcome_status

CLIP = 1e-4


@dataclass(frozen=True, slots=True)
class Type2Dprime:
    """Yes/no measures of many cells, ``(cells,)``; shares are uncorrected but for the two rates under d."""

    n: dict[str, Floats]  # items that each measure rests on
    hit_rate: Floats  # P(yes | correct)
    false_alarm_rate: Floats  # P(yes | wrong)
    d: Floats  # d'type2; ±inf or NaN where ``status`` says so
    sem: Floats  # of d, by the delta method; NaN where a rate is 0 or 1 or undefined
    raw_alignment: Floats
    accuracy: Floats
    yes_ratio: Floats
    yfr: Floats  # P(wrong | yes), NaN without a yes; nfr: P(correct | no)
    nfr: Floats
    status: Texts  # of d
    correction: str

    def estimate(self, measure: str, cell: int = 0) -> Estimate:
        """Return one measure of a cell: d with its delta-method interval, a share with Wilson's."""
        value, n = float(getattr(self, measure)[cell]), float(self.n[measure][cell])
        if measure == "d":
            sem, status = float(self.sem[cell]), str(self.status[cell])
            how = f"delta, correction {self.correction}"
            return of_numbers(
                value, *sem_interval(value, sem), sem, n, how, STATUSES.get(status, status) or OK
            )
        if not np.isfinite(value) or n <= 0:
            return unavailable(0, "wilson", NO_ITEMS)
        return Estimate(value, *wilson_interval(value, n), round(n), "wilson")


def type2_dprime(
    yes_correct: ArrayLike, yes_incorrect: ArrayLike, n_correct: ArrayLike, n_incorrect: ArrayLike,
    correction: str = "none",
) -> Type2Dprime:  # fmt: skip
    """Return the yes/no measures of many cells; ``correction`` (`counts.CORRECTIONS`) is for the two rates and d only.

    >>> found = type2_dprime(80, 30, 100, 60, "loglinear")
    >>> found.d.round(3), found.raw_alignment.round(3), found.yfr.round(3)
    (array([0.831]), array([0.688]), array([0.273]))
    """
    hit, alarm, right, wrong = _table(yes_correct, yes_incorrect, n_correct, n_incorrect)
    # Hits are yeses to correct items and "S1" a wrong item: the arithmetic of type 1.
    rates = type1_from_table(hit, right - hit, alarm, wrong - alarm, correction)
    outcome, yes, every = outcome_status(right, wrong), hit + alarm, right + wrong
    status = np.where(outcome != OK, outcome, np.where(rates.status == "zero_dprime", OK, rates.status))
    n = dict.fromkeys(("d", "raw_alignment", "accuracy", "yes_ratio"), every)
    n |= {"hit_rate": right, "false_alarm_rate": wrong, "yfr": yes, "nfr": every - yes}
    return Type2Dprime(
        n=n, hit_rate=rates.hit_rate, false_alarm_rate=rates.false_alarm_rate, d=rates.d,
        sem=np.sqrt(rates.var_d), raw_alignment=ratio(hit + wrong - alarm, every), accuracy=ratio(right, every),
        yes_ratio=ratio(yes, every), yfr=ratio(alarm, yes), nfr=ratio(right - hit, every - yes), status=status,
        correction=correction,
    )  # fmt: skip


def clipped_dprime(
    yes_correct: ArrayLike, yes_incorrect: ArrayLike, n_correct: ArrayLike, n_incorrect: ArrayLike
) -> Floats:
    """Return z(hits) - z(false alarms) of rates kept within `CLIP` .. 1 - `CLIP`; NaN where nothing was right or wrong.

    >>> clipped_dprime([80], [0], [100], [60]).round(3)
    array([4.561])
    """
    hits, alarms, right, wrong = _table(yes_correct, yes_incorrect, n_correct, n_incorrect)
    rates = [np.clip(ratio(some, of), CLIP, 1 - CLIP) for some, of in ((hits, right), (alarms, wrong))]
    return np.asarray(ndtri(rates[0]) - ndtri(rates[1]))


def relative_information(
    yes_correct: ArrayLike, yes_incorrect: ArrayLike, n_correct: ArrayLike, n_incorrect: ArrayLike
) -> Floats:
    """Return I(correct; yes) / H(correct), 0..1; 0 where all is right or all wrong, NaN without items.

    >>> relative_information([80], [30], [100], [60]).round(3)
    array([0.073])
    """
    hits, alarms, right, wrong = _table(yes_correct, yes_incorrect, n_correct, n_incorrect)
    entropy, left = entropy_bits(right, wrong), np.zeros(len(hits))
    for of_right, of_wrong in ((hits, alarms), (right - hits, wrong - alarms)):
        left += np.nan_to_num(ratio(of_right + of_wrong, right + wrong) * entropy_bits(of_right, of_wrong))
    share = np.clip(np.nan_to_num(ratio(entropy - left, entropy)), 0.0, 1.0)
    return np.where(np.isnan(entropy), np.nan, share)


def _table(*given: ArrayLike) -> tuple[Floats, Floats, Floats, Floats]:
    """Return yeses among correct and wrong items and the numbers of both, checked, each ``(cells,)``."""
    names = ("yes_correct", "yes_incorrect", "n_correct", "n_incorrect")
    hits, alarms, right, wrong = (
        floats(name, np.atleast_1d(np.asarray(values))) for name, values in zip(names, given, strict=True)
    )
    same_length(yes_correct=hits, yes_incorrect=alarms, n_correct=right, n_incorrect=wrong)
    for name, some, of in (("yes_correct", hits, right), ("yes_incorrect", alarms, wrong)):
        if bool(((some < 0) | (some > of)).any()):
            raise ValueError(f"{name} must lie between 0 and its number of items")
    return hits, alarms, right, wrong
