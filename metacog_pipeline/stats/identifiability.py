"""Do counts say anything about meta-d'? Decided on the counts as they are, before anything is added to them.

A stratum is a response of a yes/no task, or a number of alternatives of a choice. Padding makes a number of any counts (who
always states the same confidence would have an M-ratio of 1), so it never takes part in the decision::

    empty             no answers
    all_correct       no answer was wrong          (all_wrong: none was right)
    unidentified      one rating used, or right and wrong answers in no stratum together
    boundary_up       no wrong answer has more confidence than any right one: meta-d' has no upper limit
    boundary_down     the mirror image: no lower limit
    few_errors        fewer than five right or wrong answers: an interval at most, no number
    ok

The boundary rule is exact: with at most one rating shared by right and wrong answers the likelihood rises for ever.
"""

from __future__ import annotations

import numpy as np

from metacog_pipeline.stats import estimate
from metacog_pipeline.stats._arrays import Floats, Rows
from metacog_pipeline.stats.counts import Counts
from metacog_pipeline.stats.estimate import Estimate, unavailable

EMPTY, ALL_CORRECT, ALL_WRONG = "empty", "all_correct", "all_wrong"
UNIDENTIFIED, BOUNDARY_UP, BOUNDARY_DOWN = "unidentified", "boundary_up", "boundary_down"
FEW_ERRORS, OK = "few_errors", "ok"
REASONS = {
    OK: "",
    EMPTY: estimate.NO_ITEMS,
    ALL_CORRECT: estimate.ALL_CORRECT,
    ALL_WRONG: estimate.ALL_WRONG,
    UNIDENTIFIED: f"{estimate.ONE_LEVEL}: confidence says nothing about meta-d'",
    BOUNDARY_UP: "no wrong answer has more confidence than a right one: meta-d' has a lower limit only",
    BOUNDARY_DOWN: "no right answer has more confidence than a wrong one: meta-d' has an upper limit only",
    FEW_ERRORS: "fewer than five right or wrong answers",
}
RATIO_UNSTABLE = "d' may be 0"
LEAST_ERRORS = 5  # right and wrong answers from which on an estimate is shown
ROUNDING = 1e-9  # what taking off a padding leaves of an empty count


def statuses(right: Floats, wrong: Floats) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    """Return the status of each cell of raw counts ``(N, S, K)``: strata, and ratings by rising confidence.

    ``few_errors`` is not among them: counts have a maximum there. `few_errors` and `reasons` report it.

    >>> statuses(np.array([[[5.0, 9.0]], [[0.0, 9.0]]]), np.array([[[3.0, 3.0]], [[0.0, 6.0]]])).tolist()
    ['ok', 'unidentified']
    """
    used = ((right + wrong) > 0).sum(axis=2)
    correct, errors = right.sum(axis=2), wrong.sum(axis=2)
    telling = (used >= 2) & (correct > 0) & (errors > 0)
    against = {
        EMPTY: (correct + errors).sum(axis=1) == 0,
        ALL_CORRECT: errors.sum(axis=1) == 0,
        ALL_WRONG: correct.sum(axis=1) == 0,
        UNIDENTIFIED: ~telling.any(axis=1),
        BOUNDARY_DOWN: (_apart(right, wrong) | ~telling).all(axis=1),
        BOUNDARY_UP: (_apart(wrong, right) | ~telling).all(axis=1),
    }
    return np.select([*against.values()], [*against], default=OK).astype(np.str_)


def _apart(lower: Floats, upper: Floats) -> Rows:
    """Whether no answer of ``lower`` has a higher rating than any of ``upper``, by stratum."""
    highest = lower.shape[2] - 1 - (lower[..., ::-1] > 0).argmax(axis=2)
    return np.asarray(highest <= (upper > 0).argmax(axis=2))


def few_errors(right: Floats, wrong: Floats) -> Rows:
    """Whether fewer than five answers of a cell ``(N, S, K)`` are right, or fewer than five wrong."""
    fewer = np.minimum(right.sum(axis=(1, 2)), wrong.sum(axis=(1, 2)))
    return np.asarray(fewer < LEAST_ERRORS - ROUNDING)


def reasons(right: Floats, wrong: Floats) -> list[str]:
    """Return why each cell of raw counts ``(N, S, K)`` has no estimate, in words; empty where nothing is against one."""
    status = statuses(right, wrong)
    status = np.where((status == OK) & few_errors(right, wrong), FEW_ERRORS, status)
    return [REASONS[name] for name in status.tolist()]


def gated(ratio: Estimate, low: float | None, high: float | None) -> Estimate:
    """Return a ratio to d' as it may be shown: none where the 95 % interval of d', ``low`` to ``high``, holds 0.

    >>> shown = gated(Estimate(0.8, 0.5, 1.1, 200, "ml, delta"), 0.6, 1.4)
    >>> shown.value, gated(shown, -0.2, 0.3).value, gated(shown, -0.2, 0.3).status
    (0.8, None, "d' may be 0")
    """
    # The one rule for M-ratio and c', on boards, in `metacog fit` and of posteriors: a ratio to what may be 0 may be
    # any number, and its own interval says nothing of that.
    if ratio.value is None or not (may_be_zero(low, high) or ratio.status == RATIO_UNSTABLE):
        return ratio
    return unavailable(ratio.n, ratio.method, RATIO_UNSTABLE)


def may_be_zero(low: float | None, high: float | None) -> bool:
    """Whether the 95 % interval of a d', ``low`` to ``high``, holds 0, or there is none."""
    return low is None or high is None or low <= 0 <= high


def by_response(n_s1: Floats, n_s2: Floats, pad: float = 0.0) -> tuple[Floats, Floats]:
    """Return right and wrong answers ``(cells, 2, K)`` by response, without ``pad``, of counts ``(cells, 2 K)``."""
    k = n_s1.shape[1] // 2
    s1, s2 = (np.where(side - pad > ROUNDING, side - pad, 0.0) for side in (n_s1, n_s2))
    right = np.stack([s1[:, :k][:, ::-1], s2[:, k:]], axis=1)
    return right, np.stack([s2[:, :k][:, ::-1], s1[:, k:]], axis=1)


def reasons_of(table: Counts) -> list[str]:
    """Return `reasons` of the cells of a yes/no table, padded or not.

    >>> from metacog_pipeline.stats.counts import counts, padded
    >>> always_sure = counts([40, 0, 0, 10], [12, 0, 0, 38])
    >>> reasons_of(padded(always_sure)) == reasons_of(always_sure) == [REASONS[UNIDENTIFIED]]
    True
    """
    return reasons(*by_response(table.n_s1, table.n_s2, table.pad))
