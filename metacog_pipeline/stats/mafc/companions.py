"""Measures beside the M-ratio that need no fit: AUROC2 and meta-information held against the ideal observer's.

``eta = (AUROC2 - 1/2) / (AUROC2_ideal - 1/2)``, where the ideal observer has the same accuracy and uses every rating as
often as the respondent did: 1 for an ideal observer however coarse its ratings are. It exists where the M-ratio does not
(all wrong answers in one rating), and saturates where the accuracy is high. Source: the rating-matched form is this
project's; meta-I is Dayan's (2023).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats.auroc import area_of, delong, score_interval
from metacog_pipeline.stats.mafc import accuracy as type1
from metacog_pipeline.stats.mafc.fit import checked, one_cell
from metacog_pipeline.stats.mafc.likelihood import Problem, pack
from metacog_pipeline.stats.mafc.search import shares_to_criteria
from metacog_pipeline.stats.mafc.table import NARROW, Table, table
from metacog_pipeline.stats.proportions import wilson_interval

# Ratings of all strata and resamples at once: more memory is asked of the system each time.
_POINTS = 1 << 14


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with the ends of its 95 % interval; NaN without a value, ±inf where a side is unbounded."""

    value: float
    low: float
    high: float


def auroc2(right: ArrayLike, wrong: ArrayLike) -> Floats:
    """Return the area under the type-2 ROC of counts ``(N, K)`` or ``(N, S, K)``; strata weighted by their pairs."""
    correct, errors, _ = checked(right, wrong, 2)
    area, pairs = _areas(correct, errors)
    return _weighted(area, pairs)


def auroc2_interval(right: ArrayLike, wrong: ArrayLike) -> Interval:
    """Return the area of one cell, counts ``(K,)``, with its interval (see `score_interval`)."""
    correct, errors, _ = one_cell(right, wrong, 2)
    c, e = correct[0, 0], errors[0, 0]
    n_right, n_wrong = float(c.sum()), float(e.sum())
    if n_right == 0 or n_wrong == 0:
        return Interval(math.nan, math.nan, math.nan)
    theta = float(_areas(correct, errors)[0][0, 0])
    low, high = score_interval(theta, n_right, n_wrong, float(delong(c, e)))
    return Interval(theta, min(float(low), theta), max(float(high), theta))


def ideal_auroc2(right: ArrayLike, wrong: ArrayLike, m: ArrayLike, d: ArrayLike) -> Floats:
    """Return AUROC2 of the ideal observer of sensitivity ``d`` ``(N,)`` that uses each rating as often as was seen."""
    correct, errors, alternatives = checked(right, wrong, m)
    sensitivity = np.asarray(d, float)
    at_once = max(1, _POINTS // max(1, correct.shape[1] * correct.shape[2]))
    if correct.shape[1] == 1 or len(sensitivity) <= at_once:
        return _matched(correct, errors, alternatives, sensitivity)
    low, high = float(np.abs(sensitivity).min()), float(np.abs(sensitivity).max())
    curve = table().near(low, high) if 0 < high - low < NARROW else table()  # resamples lie close together
    parts = np.split(np.arange(len(sensitivity)), range(at_once, len(sensitivity), at_once))
    # The last step squares what is left: 1e-6 leaves 1e-12.
    return np.concatenate(
        [_matched(correct[at], errors[at], alternatives[at], sensitivity[at], curve, 1e-6) for at in parts]
    )


def _matched(
    correct: Floats, errors: Floats, m: Ints, d: Floats, curve: Table | None = None, precise: float = 1e-12
) -> Floats:
    curve = table() if curve is None else curve
    problem: Problem = pack(correct, errors, m)
    n = np.maximum((problem.right + problem.wrong).sum(axis=2, keepdims=True), 1e-300)
    above = np.cumsum((problem.right + problem.wrong)[..., ::-1], axis=2)[..., ::-1][..., 1:] / n
    share = type1.accuracy(d[:, None], problem.m)[..., None]
    real = problem.real
    sensitivity = np.abs(d)[:, None, None]
    # Of a negative d the roles of right and wrong are exchanged.
    turned = np.where(d[:, None, None] < 0, 1 - share, share)
    zeta = shares_to_criteria(
        np.where(real, above, 0.5), turned, problem.m[..., None], sensitivity, precise=precise, curve=curve
    )
    lift = curve.along(problem.m[..., None], zeta, sensitivity)[0]
    high = np.where(real, special.ndtr(zeta + lift), 0.0)
    low = np.where(real, special.ndtr(zeta), 0.0)
    area, pairs = _areas(_shares(high), _shares(low))
    area = np.where(d[:, None] < 0, 1 - area, area)
    weight = problem.right.sum(axis=2) * problem.wrong.sum(axis=2)
    return _weighted(area, np.where(pairs > 0, weight, 0.0))


def _shares(above: Floats) -> Floats:
    """Return the share of each rating, rising, from the shares above each cut."""
    shape = (*above.shape[:2], 1)
    ends = np.concatenate([np.ones(shape), above, np.zeros(shape)], axis=2)
    return np.asarray(ends[..., :-1] - ends[..., 1:])


def _areas(right: Floats, wrong: Floats) -> tuple[Floats, Floats]:
    return area_of(right, wrong), right.sum(axis=2) * wrong.sum(axis=2)


def _weighted(area: Floats, weight: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(weight > 0, area * weight, 0.0).sum(axis=1) / weight.sum(axis=1))


def eta(right: ArrayLike, wrong: ArrayLike, m: ArrayLike) -> Interval:
    """Return eta of one cell, counts ``(K,)`` or ``(S, K)``, with the MOVER interval of a ratio.

    The area's interval is `auroc2_interval` of all answers, the ideal's is taken at Wilson's limits of the accuracy.
    NaN where nobody was wrong or right or where the accuracy is at chance; unbounded where it may be.

    >>> found = eta([4, 18, 26, 64, 126], [7, 8, 13, 15, 19], 4)
    >>> round(found.value, 3), round(found.low, 2), round(found.high, 2)
    (0.543, 0.26, 0.81)
    """
    correct, errors, alternatives = one_cell(right, wrong, m)
    n, n_right = float((correct + errors).sum()), float(correct.sum())
    nothing = Interval(math.nan, math.nan, math.nan)
    if n_right in (0.0, n) or pack(correct, errors, alternatives).used.max(initial=0) < 2:
        return nothing
    seen = float(auroc2(correct, errors)[0])
    x = seen - 0.5
    around = auroc2_interval(correct.sum(axis=(0, 1)), errors.sum(axis=(0, 1)))
    shift = seen - around.value  # zero but where strata are weighted
    x_low, x_high = around.low + shift - 0.5, around.high + shift - 0.5
    low_share, high_share = wilson_interval(n_right / n, n)
    chance = float(((correct + errors).sum(axis=2) / alternatives).sum() / n)
    ideals = []
    for share in (n_right / n, low_share, high_share):
        d = _common_d(share, correct, errors, alternatives)
        ideals.append(float(_matched(correct, errors, alternatives, np.array([d]))[0]) - 0.5)
    y, y_low, y_high = ideals
    if not n_right / n > chance or y <= 0:
        return nothing
    if y_low <= 0 or low_share <= chance:
        return Interval(x / y, -math.inf, math.inf)
    return Interval(x / y, _mover(x, y, x_low, y_high, -1), _mover(x, y, x_high, y_low, 1))


def _common_d(share: float, correct: Floats, errors: Floats, m: Ints) -> float:
    """Return the d' at which all strata together are right in ``share`` of their answers."""
    n = (correct + errors).sum(axis=2)[0]
    if (n > 0).sum() == 1:
        return float(type1.sensitivity(share, int(m[0, n.argmax()])))
    low, high = -type1.LARGEST, type1.LARGEST
    for _ in range(60):
        middle = (low + high) / 2
        above = float((n * type1.accuracy(middle, m[0])).sum() / n.sum()) > share
        low, high = (low, middle) if above else (middle, high)
    return (low + high) / 2


def _mover(x: float, y: float, x_end: float, y_end: float, sign: int) -> float:
    below = y_end * (2 * y - y_end)
    inside = (x * y) ** 2 - x_end * below * (2 * x - x_end)
    if below <= 0 or inside < 0:
        return sign * math.inf
    return (x * y + sign * math.sqrt(inside)) / below


def meta_information(right: ArrayLike, wrong: ArrayLike) -> Floats:
    """Return meta-I in bits of counts ``(N, K)`` or ``(N, S, K)``: what confidence tells about being right.

    The plug-in value, too large by about (K - 1) / (2 n ln 2).

    Parameters
    ----------
    right, wrong
        How many right and how many wrong answers at each rating, by rising confidence.

    Examples
    --------
    >>> meta_information([[10, 90]], [[10, 0]]).round(6).tolist()
    [0.257679]
    """
    correct, errors, _ = checked(right, wrong, 2)
    c, e = correct.sum(axis=1), errors.sum(axis=1)
    n = (c + e).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_rating = np.where(c + e > 0, (c + e) * _bits(c / (c + e)), 0.0)
        return np.asarray(_bits(c.sum(axis=1) / n) - by_rating.sum(axis=1) / n)


def _bits(share: Floats) -> Floats:
    return np.asarray((special.entr(share) + special.entr(1 - share)) / math.log(2))
