"""Measures of answers known as right or wrong: with confidence, with a decision to keep or withdraw, or with both.

Where an item has several trials, intervals are over items. d'type2 is that of log-linear rates, as on the boards, and
beside it that of the rates as they are, which is undefined where a rate is 0 or 1.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.fitting.trials import Answers
from metacog_pipeline.stats import calibration_interval, confidence_measures, resampling
from metacog_pipeline.stats.calibration import bin_index, ece, ece_statistic
from metacog_pipeline.stats.estimate import NO_ITEMS, OK, SINGLE_ITEM, Estimate, unavailable
from metacog_pipeline.stats.mafc import efficiency
from metacog_pipeline.stats.mafc.fit import groups
from metacog_pipeline.stats.resampling import Patterns, patterns_of
from metacog_pipeline.stats.trials import FOLDS, Trials, trials
from metacog_pipeline.stats.type2_dprime import SHARES, Type2Dprime, type2_dprime

BY_CORRECTION = "a rate is 0 or 1: its size is the correction's"
SCALED = (*confidence_measures.SCALED, "mean_confidence", "brier", "ece")
KEPT_MEASURES = ("d_type2", "d_type2_raw", *(name for name in SHARES if name != "accuracy"))
_DRAWS = 4000
_MEASURE_DRAWS = 1000
_MANY = 10_000
_BINS = 10
_CORRECTIONS = {"d_type2": "loglinear", "d_type2_raw": "none"}

Floats = NDArray[np.float64]


def estimates(answers: Answers, n_boot: int, seed: int) -> dict[str, Estimate]:
    """Return every measure of one cell; ``n_boot`` resamples in place of profile likelihood, 0 for none."""
    found = {"accuracy": _accuracy(answers)}
    if answers.confidence is not None:
        found |= _confidence(answers, answers.confidence, n_boot, seed)
        found |= efficiency.efficiency(_choices(answers, n_boot, seed))
    if answers.keep is not None:
        found |= _kept(answers, answers.keep, n_boot, seed)
    return found


def _confidence(answers: Answers, confidence: Floats, n_boot: int, seed: int) -> dict[str, Estimate]:
    """Return what confidence is worth; where its scale is not known, that of its order alone, and a reason."""
    share, right, items = answers.share, answers.correct, answers.items
    stated = confidence if share is None else share
    # Folds are for recalibration only, which needs a scale; of many answers two are enough to learn a scale from.
    folds = 2 if share is None or len(right) >= _MANY else FOLDS
    made = trials(stated, right, items, stream=seed, n_draws=n_boot or _MEASURE_DRAWS, folds=folds)
    found = {"auroc2": made.area, **confidence_measures.of_trials(made, probability=share is not None)}
    if share is None:
        method = "none"
        return found | {name: unavailable(made.n, method, answers.unscaled) for name in SCALED}
    rows = np.arange(len(right)) if items is None else np.unique(items, return_inverse=True)[1]
    for name, values in (("mean_confidence", share), ("brier", (share - right) ** 2)):
        found[name] = resampling.mean(values, rows)
    return found | {"ece": _with_equal_width(made, share, right)}


def _with_equal_width(made: Trials, share: Floats, right: NDArray[np.int64]) -> Estimate:
    """Return the calibration error over ten bins of equal width, with the interval that it has everywhere."""
    one = ece(share, right)
    if one.value is None or made.n_items < 2:
        return one if one.value is None else replace(one, status=SINGLE_ITEM)
    bins = np.arange(_BINS)
    member = (bin_index(made.grouped, _BINS)[:, None] == bins).astype(np.float64)
    totals = made.folded.sum(axis=0)
    low, high = calibration_interval.of_totals(totals, made.draws, made.grouped, member)
    drawn = ece_statistic(made.grouped, _BINS, "equal")(made.draws)
    method = f"{one.method}, {calibration_interval.METHOD}"
    return replace(
        one, low=min(low, one.value), high=max(high, one.value), sem=float(np.nanstd(drawn)), method=method
    )


def _accuracy(answers: Answers) -> Estimate:
    items = np.arange(len(answers.correct)) if answers.items is None else answers.items
    table = patterns_of(items, answers.correct, 2)
    return (
        resampling.share(table, [0, 1], [1, 1])
        if len(answers.correct)
        else unavailable(0, "wilson", NO_ITEMS)
    )


def _choices(answers: Answers, n_boot: int, seed: int) -> efficiency.Choices:
    """Return the answers as counts; those whose alternatives are not known have no stratum, but count in the area."""
    assert answers.stated is not None and answers.m is not None
    known = ~np.isnan(answers.m)
    correct = answers.correct[known]
    levels, place = np.unique(answers.stated[known], return_inverse=True)
    right = np.bincount(place, correct, len(levels)).astype(float)
    wrong = np.bincount(place, 1 - correct, len(levels)).astype(float)
    rating = groups(right, wrong)
    clustered = answers.items is not None
    return efficiency.choices(
        rating[place] if len(levels) else place.astype(np.int64),
        correct,
        answers.m[known].astype(np.int64),
        answers.items[known] if answers.items is not None else np.arange(len(correct)),
        seed if clustered or n_boot else None,
        int(rating.max(initial=0)) + 1,
        n_boot or efficiency.N_REFITTED,
    )


def _kept(answers: Answers, keep: NDArray[np.int64], n_boot: int, seed: int) -> dict[str, Estimate]:
    """Return d'type2 and the shares of the table keep × right: a hit is an answer that was kept and right."""
    cells = 2 * keep + answers.correct
    counts = np.bincount(cells, minlength=4).astype(np.float64)
    if not len(keep):
        return {name: unavailable(0, "wilson", NO_ITEMS) for name in KEPT_MEASURES}
    draws = None
    table: Patterns | None = None
    if answers.items is not None:
        table = patterns_of(answers.items, cells, 4)
        draws = resampling.patterns(table, n_boot or _DRAWS, seed) if table.n_items > 1 else None
    found = {name: _d_type2(counts, correction, draws) for name, correction in _CORRECTIONS.items()}
    plain = _of_table(counts[None], "none")
    for name in KEPT_MEASURES[2:]:
        made = plain.estimate(name)
        found[name] = made if table is None or made.value is None else _share(name, table)
    return found


def _of_table(counts: Floats, correction: str) -> Type2Dprime:
    """Return the measures of counts ``(B, 4)``: withdrawn and wrong, withdrawn and right, then the same kept."""
    return type2_dprime(
        counts[:, 3], counts[:, 2], counts[:, 1] + counts[:, 3], counts[:, 0] + counts[:, 2], correction
    )


def _d_type2(counts: Floats, correction: str, draws: Floats | None) -> Estimate:
    made = _of_table(counts[None], correction).estimate("d")
    extreme = not counts.all() and made.value is not None
    if draws is not None and made.value is not None:
        drawn = _of_table(draws, correction).d
        drawn = np.where(np.isfinite(drawn), drawn, np.nan)
        method = f"bootstrap of {len(draws)} over items, correction {correction}"
        again = resampling.from_draws(made.value, drawn, made.n, method, kind="widened")
        # What was never seen is never drawn: with a rate of 0 or 1 resamples vary in the other rate only.
        made = made if extreme else again
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


def _share(name: str, table: Patterns) -> Estimate:
    if table.n_items < 2:
        return replace(
            resampling.share(table, *_TOP_AND_BOTTOM[name]), low=None, high=None, status=SINGLE_ITEM
        )
    return resampling.share(table, *_TOP_AND_BOTTOM[name])
