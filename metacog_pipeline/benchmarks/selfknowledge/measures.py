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
items where these repeat; the others that of resampled items. Where log-probabilities were kept, D is the graded yes:
P(yes) / (P(yes) + P(no)) of the meta reply.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.benchmark.contract import Estimate, Group, Measure, Unit
from metacog_pipeline.benchmark.groups import Counts, Floats, Ints
from metacog_pipeline.benchmark.measures import Where
from metacog_pipeline.benchmarks.selfknowledge.prompts import IDK, gives_leave
from metacog_pipeline.scoring.calibration import draws
from metacog_pipeline.scoring.measures import Compute, Resting, ratio, share
from metacog_pipeline.stats import confidence_grid, intervals, resampling
from metacog_pipeline.stats.auroc import auroc
from metacog_pipeline.stats.calibration import brier, ece_clustered
from metacog_pipeline.stats.estimate import ALL_CORRECT, ALL_WRONG, NO_ITEMS, SINGLE_ITEM, unavailable
from metacog_pipeline.stats.type1 import d_and_c
from metacog_pipeline.stats.type2_dprime import type2_dprime
from metacog_pipeline.stats.yes_no import CLIP, clipped_dprime, relative_information

NEVER_YES, NEVER_NO = "never said yes", "never said no"
BY_CLIP = f"a rate is 0 or 1: made by the clip at {CLIP:g}"
BY_CORRECTION = "a rate is 0 or 1: its size is the correction's"
NONE_KEPT = "no log-probabilities of yes and no were kept"
NOT_A_FAILURE = -100  # in lists of failures: the item is none that could fail
#: What is counted of a response: 0, 1 or nothing.
CODED = (
    *("correct", "correct_strict", "correct_inclusion", "yes", "yes_strict", "yes_reference", "threshold"),
    *("answerable", "truncated", "all_aligned"),
)


@dataclass(frozen=True, slots=True)
class ScoringRule:
    """Which columns say whether the answer is right and whether it is said to be known."""

    correct: str = "correct"
    yes: str = "yes"


STUDY = ScoringRule()  # by the rules the study names
STRICT = ScoringRule("correct_strict", "yes_strict")
REFERENCE = ScoringRule("correct_inclusion", "yes_reference")
INCLUSION = ScoringRule("correct_inclusion")
THRESHOLD = ScoringRule("correct", "threshold")  # yes where P(yes) > P(no)
#: Outcomes by whether the answer is right, and by whether it is said to be known.
_ROUNDING = 1e-9  # of a percent
_PAIRS = ((1, 1), (1, 0), (0, 1), (0, 0))


def told(rule: ScoringRule = STUDY, of: tuple[int, ...] = (0, 1, 2, 3)) -> Where:
    """Return what holds of the responses with one of the outcomes ``of`` by ``rule``."""
    sides = zip((rule.correct, rule.yes), zip(*(_PAIRS[each] for each in of), strict=True), strict=True)
    return tuple((name, values[:1] if len(set(values)) == 1 else None) for name, values in sides)


GRADED: Where = (("confidence", None), ("correct", None))


# --- the table of right and yes ---------------------------------------------------------------------------------------
def outcomes(counts: Counts, rule: ScoringRule = STUDY) -> Floats:
    """Return weights ``(combinations, 4)``: yes and right, no and right, yes and wrong, no and wrong."""
    return np.column_stack([counts.where(**{rule.correct: c, rule.yes: y}) for c, y in _PAIRS])


def counts_of(totals: Floats, weights: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return H, F, n1, n0 of totals ``(B, combinations)`` under outcome weights ``(combinations, 4)``."""
    hits, misses, alarms, rejections = weights.T @ totals.T  # whole numbers, each in one piece
    return hits, alarms, hits + misses, alarms + rejections


def counts_of_group(group: Group, rule: ScoringRule = STUDY) -> tuple[float, float, float, float]:
    """Return H, F, n1, n0 of a group."""
    counts = group.counts
    hits, misses, alarms, rejections = (float(each) for each in counts.totals @ outcomes(counts, rule))
    return hits, alarms, hits + misses, alarms + rejections


def table_of(correct: ArrayLike, yes: ArrayLike) -> tuple[int, int, int, int]:
    """Return yeses to right and to wrong answers, right and wrong answers, of 0/1 lists."""
    c, y = np.asarray(correct), np.asarray(yes)
    return (int((c * y).sum()), int(((1 - c) * y).sum()), int(c.sum()), int((1 - c).sum()))


def failures(correct: ArrayLike, yes: ArrayLike) -> tuple[list[int], list[int]]:
    """Return per item whether a yes failed (the answer was wrong) and whether a no did; -100 where none was said."""
    c, y = np.asarray(correct), np.asarray(yes)
    of_yes, of_no = np.where(y == 1, 1 - c, NOT_A_FAILURE), np.where(y == 0, c, NOT_A_FAILURE)
    return of_yes.tolist(), of_no.tolist()


# --- d′ and information -----------------------------------------------------------------------------------------------
def log_linear(hits: Floats, alarms: Floats, right: Floats, wrong: Floats) -> Floats:
    """Return d′ of log-linear rates; NaN where a side holds no item, which says nothing about d′."""
    made, _ = d_and_c(hits, right - hits, alarms, wrong - alarms)
    return np.where((right > 0) & (wrong > 0), made, np.nan)


_STATISTICS: dict[str, tuple[Callable[..., Floats], str]] = {
    "d_type2": (log_linear, "log-linear, item bootstrap"),
    "d_type2_clip": (clipped_dprime, f"clip {CLIP:g}, item bootstrap"),
    "rmi": (relative_information, "item bootstrap, recentred"),
}


def sensitivity(name: str, rule: ScoringRule = STUDY) -> Compute:
    """Return d_type2, d_type2_clip or rmi of the table by ``rule``, resampled."""

    def compute(group: Group) -> Estimate:
        def drawn() -> tuple[Floats, Floats, Floats, Floats]:
            return counts_of(group.draws, outcomes(group.counts, rule))

        return of_table(name, counts_of_group(group, rule), group.counts.patterns.n_items, drawn)

    return Resting(compute, told(rule))


def undefined(right: float, wrong: float) -> str | None:
    """Return why a table of that many right and wrong answers has no d′; None where it has one."""
    return NO_ITEMS if not right + wrong else ALL_WRONG if not right else ALL_CORRECT if not wrong else None


def of_table(
    name: str,
    table: tuple[float, float, float, float],
    n_items: int,
    draws: Callable[[], tuple[Floats, Floats, Floats, Floats]],
) -> Estimate:
    """Return d_type2, d_type2_clip or rmi of H, F, n1, n0 of ``n_items`` items and of their resamples."""
    statistic, method = _STATISTICS[name]
    hits, alarms, right, wrong = table
    n = round(right + wrong)
    why = undefined(right, wrong)
    if why is not None:
        return unavailable(n, method, why)
    value = float(statistic(*(np.array([each]) for each in table))[0])
    extreme = hits in (0, right) or alarms in (0, wrong)
    if name == "d_type2_clip" and extreme:
        return Estimate(value, None, None, n, f"clip {CLIP:g}", BY_CLIP)
    if n_items < 2:
        return Estimate(value, None, None, n, method, SINGLE_ITEM)
    drawn = statistic(*draws())
    if name == "rmi":
        drawn = np.clip(drawn + value - float(np.nanmean(drawn)), 0.0, 1.0)
    found = resampling.from_draws(value, drawn, n, method, kind="widened")
    return _widened(found, hits, alarms, right, wrong) if name == "d_type2" and extreme else found


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
    method = "log-linear, item bootstrap or delta, the wider"
    return Estimate(found.value, low, high, found.n, method, BY_CORRECTION, sem)


# --- shares -----------------------------------------------------------------------------------------------------------
def outcome_share(
    top: tuple[int, ...], of: tuple[int, ...], why: str = NO_ITEMS, rule: ScoringRule = STUDY
) -> Compute:
    """Return a share of outcomes: 0 yes and right, 1 no and right, 2 yes and wrong, 3 no and wrong."""

    def compute(group: Group) -> Estimate:
        weights = outcomes(group.counts, rule)
        return ratio(group.counts, weights[:, list(top)].sum(axis=1), weights[:, list(of)].sum(axis=1), why)

    return Resting(compute, told(rule, of))


def invalid_share(group: Group) -> Estimate:
    """Return the share of answered items whose meta reply says neither yes nor no."""
    return ratio(group.counts, 1 - group.counts.known("yes"), group.counts.known("correct"))


# --- the graded yes ---------------------------------------------------------------------------------------------------
def graded(compute: Callable[[Group, Floats, Ints, Ints], Estimate | None]) -> Compute:
    """Return a measure of confidence, correctness and cluster, with a status where no log-probabilities were kept."""

    def measured(group: Group) -> Estimate | None:
        confidence, right, clusters = group.graded()
        if not len(confidence):
            return unavailable(0, "log-probabilities", NONE_KEPT)
        return compute(group, confidence, right, clusters)

    return Resting(measured, GRADED)


def where_graded(compute: Compute) -> Compute:
    """Return the measure, with no row at all where no log-probabilities were kept."""
    return Resting(
        lambda group: compute(group) if len(group.graded()[0]) else None, getattr(compute, "rests_on", ())
    )


def calibration_error(group: Group, confidence: Floats, right: Ints, clusters: Ints) -> Estimate:
    """Return the expected calibration error over ten equal bins; of whole percents it is that of the table of all."""
    percent, seed = np.rint(100 * confidence), group.benchmark.context.seed
    if not len(confidence) or np.abs(100 * confidence - percent).max() > _ROUNDING:
        return ece_clustered(confidence, right, clusters, resampling.stream("calibration", seed, "items"))
    patterns = resampling.patterns_of(
        clusters, confidence_grid.cells_at(confidence, right), confidence_grid.CELLS
    )
    return confidence_grid.calibration_error(patterns, draws(patterns, seed))


# --- the measures -----------------------------------------------------------------------------------------------------
def _dual(condition: str) -> bool:
    return not gives_leave(condition)


def _measure(name: str, label: str, compute: Compute, words: str, **more: Any) -> Measure:
    unit = more.pop("unit", Unit.SHARE)
    limits = (None, None) if unit is Unit.SD else (0.0, 1.0)
    return Measure(
        name, label, compute, unit, limits, more.pop("better", True), conditions=more.pop("on", _dual),
        paper=more.pop("paper", "section 3"), words=words, **more,
    )  # fmt: skip


_ALL = (0, 1, 2, 3)
_SHARES: tuple[tuple[str, str, tuple[int, ...], tuple[int, ...], str, bool | None, str], ...] = (
    ("raw_alignment", "alignment", (0, 3), _ALL, NO_ITEMS, True, "Share of items on which right and yes agree."),
    ("yfr", "YFR", (2,), (0, 2), NEVER_YES, False, "Share of the yeses given to wrong answers."),
    ("nfr", "NFR", (1,), (1, 3), NEVER_NO, False, "Share of the noes given to right answers."),
    ("hit_rate", "hits", (0,), (0, 1), ALL_WRONG, True, "Share of right answers that got a yes."),
    ("false_alarm_rate", "false alarms", (2,), (2, 3), ALL_CORRECT, False,
        "Share of wrong answers that got a yes."),
)  # fmt: skip
_YES_WORDS = "Share of the answers said to be known."
_D_WORDS = "d′ of type 2: how far yes goes with being right, by log-linear rates; 0 is not at all."
MEASURES: tuple[Measure, ...] = (
    _measure("accuracy", "accuracy", share({"correct": 1}), "Share of answers that are right by the study's rule."),
    _measure("accuracy_inclusion", "accuracy, inclusion", share({"correct_inclusion": 1}),
        "The same where an accepted answer is any part of the reply, as published."),
    _measure("accuracy_strict", "accuracy, strict", share({"correct_strict": 1}), "The same as whole words."),
    _measure("accuracy_answerable", "accuracy, answerable", share({"correct": 1}, only={"answerable": 1}),
        "Accuracy on the items that have an accepted answer."),
    _measure("yes_ratio", "yes", share({"yes": 1}), _YES_WORDS, better=None),
    *(_measure(name, label, outcome_share(top, of, why), words, better=better)
      for name, label, top, of, why, better, words in _SHARES),
    _measure("d_type2", "d′", sensitivity("d_type2"), _D_WORDS, unit=Unit.SD, headline=True, trait="monitoring",
        trait_under=("dual",), paper="section 3, equation 2"),
    _measure("d_type2_clip", "d′, clipped", sensitivity("d_type2_clip"), "d′ of rates kept 1e-4 from 0 and 1.",
        unit=Unit.SD),
    _measure("d_type2_inclusion", "d′, inclusion", sensitivity("d_type2", INCLUSION),
        "d′ where an accepted answer is any part of the reply, as published.", unit=Unit.SD,
        right="correct_inclusion"),
    _measure("d_type2_strict", "d′, strict", sensitivity("d_type2", STRICT),
        "d′ by whole words and the first word of the reply.", unit=Unit.SD, right="correct_strict"),
    _measure("d_type2_reference", "d′, published rules", sensitivity("d_type2_clip", REFERENCE),
        "Clipped d′ by the published rules: an answer as any part of the reply, a yes anywhere in the reply.",
        unit=Unit.SD, paper="tables 1 to 7", right="correct_inclusion"),
    _measure("rmi", "information", sensitivity("rmi"), "I(right; yes) / H(right): 0 says nothing, 1 everything."),
    _measure("invalid_share", "neither", invalid_share, "Share of meta replies that say neither yes nor no.",
        better=False, rests_on=(("correct", None),)),
    _measure("auroc2", "AUROC2", graded(lambda group, *at: auroc(*at)),
        "Area under the type-2 ROC of D: chance that a right answer has more confidence than a wrong one.",
        paper="figure 2"),
    _measure("d_type2_threshold", "d′ at D > ½", graded(lambda group, *at: sensitivity("d_type2", THRESHOLD)(group)),
        "d′ where yes is said by P(yes) > P(no).", unit=Unit.SD),
    _measure("yes_ratio_threshold", "yes at D > ½", where_graded(share({"threshold": 1})), _YES_WORDS, better=None),
    *(_measure(f"{name}_threshold", f"{label} at D > ½", where_graded(outcome_share(top, of, why, THRESHOLD)), words,
               better=better)
      for name, label, top, of, why, better, words in _SHARES[:3]),
    _measure("mean_confidence", "confidence", graded(lambda group, d, right, at: intervals.mean(d, at)),
        "Mean of D.", better=None),
    _measure("ece", "ECE", graded(calibration_error), "Expected calibration error of D over ten equal bins.",
        better=False),
    _measure("brier", "Brier", graded(lambda group, d, right, at: brier(d, right, at)),
        "Mean squared difference of D and being right.", better=False),
    _measure("idk_accuracy", "IDK acc.", share({"correct": 1}), "Accuracy with leave to abstain.", on=gives_leave,
        paper="table 2"),
    _measure("idk_rate", "abstains", share({"yes": 0}), "Share of withheld answers.", on=gives_leave, better=None),
    _measure("idk_alignment", "IDK align.", outcome_share((0, 3), _ALL),
        "Share of items on which right and not abstaining agree.", on=gives_leave, trait="control", trait_under=(IDK,)),
    _measure("idk_d_type2", "IDK d′", sensitivity("d_type2"),
        "d′ of not abstaining: large because an abstention is hardly ever right.", on=gives_leave, unit=Unit.SD),
    _measure("idk_d_type2_clip", "IDK d′, clipped", sensitivity("d_type2_clip"), "The same, clipped.", on=gives_leave,
        unit=Unit.SD),
    _measure("all_alignment", "all align.", share({"all_aligned": 1}, why="not asked under dual as well"),
        "Share of items on which right, yes under dual and not abstaining under idk are all the same.", on=gives_leave,
        paper="table 2", needs=("_partner_failed", "under dual")),
)  # fmt: skip
