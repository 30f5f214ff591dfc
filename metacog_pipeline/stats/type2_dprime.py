"""d'type2: does a "yes, I know" go with being right? From yes/no × correct/wrong.

d'type2 = z(P(yes | correct)) - z(P(yes | wrong)), the type-2 form of Clarke, Birdsall & Tanner (1959), *JASA* 31. It
mixes in how good the answers themselves are and is no meta-d'. With it come, from the same table, raw alignment,
accuracy, the yes ratio, and how often a yes is false (YFR) and a no is false (NFR), each as a share of the yeses or noes
(conditional) or of all items (joint).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats._arrays import Floats, floats, ratio, same_length
from metacog_pipeline.stats.estimate import NO_ITEMS, OK, Estimate, of_numbers, unavailable
from metacog_pipeline.stats.intervals import wilson_interval
from metacog_pipeline.stats.type1 import STATUSES, Texts, normal_quantile, type1_from_table
from metacog_pipeline.stats.type2 import outcome_status

SHARES = ("hit_rate", "false_alarm_rate", "raw_alignment", "accuracy", "yes_ratio", "yfr", "nfr")
MEASURES = ("d", *SHARES)


@dataclass(frozen=True, slots=True)
class Type2Dprime:
    """Yes/no measures of many cells; arrays of shape ``(cells,)``."""

    n_correct: Floats  # n_correct, n_wrong: correct and wrong items
    n_wrong: Floats
    yes_correct: Floats  # yes_correct, yes_wrong: items answered yes among them
    yes_wrong: Floats
    # hit_rate, false_alarm_rate: P(yes | correct) and P(yes | wrong), corrected; NaN where there are no such items
    hit_rate: Floats
    false_alarm_rate: Floats
    d: Floats  # d'type2; ±inf or NaN where ``status`` says so
    var_d: Floats  # delta-method variance; NaN where a rate is 0 or 1 or undefined
    raw_alignment: Floats  # raw_alignment, accuracy and yes_ratio: shares of all items, 0..1, uncorrected
    accuracy: Floats
    yes_ratio: Floats
    # yfr, nfr: P(wrong | yes) and P(correct | no), or with ``conditional`` False P(wrong and yes) and P(correct and
    # no); uncorrected, NaN where there is no yes, or no no
    yfr: Floats
    nfr: Floats
    # ``"ok"``, ``"no items"``, ``"all correct"``, ``"all wrong"``, ``"infinite"`` or ``"undefined"`` (of d)
    status: Texts
    correction: str  # correction, conditional: as asked for
    conditional: bool

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return low and high of d'type2 by the delta method; NaN where it has no variance."""
        half = normal_quantile(level) * np.sqrt(self.var_d)
        value = np.where(np.isfinite(half), self.d, np.nan)
        return value - half, value + half

    def estimate(self, measure: str, cell: int = 0) -> Estimate:
        """Return one of ``MEASURES`` of a cell: d with its delta-method interval, a share with Wilson's."""
        if measure not in MEASURES:
            raise ValueError(f"measure {measure!r} is unknown: one of {', '.join(MEASURES)}")
        value, n = float(getattr(self, measure)[cell]), float(self._n(measure)[cell])
        if measure == "d":
            status = str(self.status[cell])
            low, high, sem = (float(each[cell]) for each in (*self.interval(), np.sqrt(self.var_d)))
            how = f"delta, correction {self.correction}"
            return of_numbers(value, low, high, sem, n, how, STATUSES.get(status, status) or OK)
        if not np.isfinite(value) or n <= 0:
            return unavailable(0, "wilson", NO_ITEMS)
        return Estimate(value, *wilson_interval(value, n), round(n), "wilson")

    def _n(self, measure: str) -> Floats:
        everything = self.n_correct + self.n_wrong
        if measure in ("yfr", "nfr") and self.conditional:
            yes = self.yes_correct + self.yes_wrong
            return yes if measure == "yfr" else everything - yes
        return {"hit_rate": self.n_correct, "false_alarm_rate": self.n_wrong}.get(measure, everything)


def type2_dprime(
    yes_correct: ArrayLike,
    yes_incorrect: ArrayLike,
    n_correct: ArrayLike,
    n_incorrect: ArrayLike,
    correction: str = "none",
    conditional: bool = True,
) -> Type2Dprime:
    """Return the yes/no measures of many cells.

    yes_correct, yes_incorrect: a number or shape ``(cells,)``: items answered yes among the correct and among the wrong
        ones.
    n_correct, n_incorrect: number of correct and of wrong items.
    correction: ``none``, ``pad``, ``loglinear`` (the same as ``pad``) or ``half``; for the two rates and d only.
    conditional: whether YFR and NFR are shares of the yeses and noes, or of all items.
    Raises ValueError for unequal shapes, negative numbers, more yeses than items, or an unknown correction.

    >>> found = type2_dprime(80, 30, 100, 60, "loglinear")
    >>> found.d.round(3), found.raw_alignment.round(3), found.yfr.round(3)
    (array([0.831]), array([0.688]), array([0.273]))
    """
    hit, alarm, right, wrong = yes_no_table(yes_correct, yes_incorrect, n_correct, n_incorrect)
    # Hits are yeses to correct items and "S1" a wrong item: the arithmetic of type 1.
    rates = type1_from_table(hit, right - hit, alarm, wrong - alarm, correction)
    outcome = outcome_status(right, wrong)
    status = np.where(outcome != OK, outcome, np.where(rates.status == "zero_dprime", OK, rates.status))
    yes, everything = hit + alarm, right + wrong
    no_correct = right - hit
    return Type2Dprime(
        n_correct=right, n_wrong=wrong, yes_correct=hit, yes_wrong=alarm, hit_rate=rates.hit_rate,
        false_alarm_rate=rates.false_alarm_rate, d=rates.d, var_d=rates.var_d,
        raw_alignment=ratio(hit + wrong - alarm, everything), accuracy=ratio(right, everything),
        yes_ratio=ratio(yes, everything), yfr=ratio(alarm, yes if conditional else everything),
        nfr=ratio(no_correct, everything - yes if conditional else everything), status=status,
        correction=correction, conditional=conditional,
    )  # fmt: skip


def yes_no_table(*given: ArrayLike) -> tuple[Floats, Floats, Floats, Floats]:
    """Return yeses among correct and wrong items and the numbers of both, checked, each ``(cells,)``."""
    names = ("yes_correct", "yes_incorrect", "n_correct", "n_incorrect")
    arrays = [
        floats(name, np.atleast_1d(np.asarray(values))) for name, values in zip(names, given, strict=True)
    ]
    same_length(**dict(zip(names, arrays, strict=True)))
    hits, alarms, right, wrong = arrays
    for name, some, of in (("yes_correct", hits, right), ("yes_incorrect", alarms, wrong)):
        if bool(((some < 0) | (some > of)).any()):
            raise ValueError(f"{name} must lie between 0 and its number of items")
    return hits, alarms, right, wrong
