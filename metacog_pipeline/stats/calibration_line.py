"""Is confidence too high as a whole, and too extreme: calibration in the large, calibration slope, equal-mass error.

Calibration in the large is mean confidence minus the share correct; above 0: over-confident. The slope is that of the
logistic regression of correctness on the logit of confidence (Cox 1958, *Biometrika* 45; Van Calster et al. 2019, *BMC
Medicine* 17): 1 where log odds are right up to a shift, below 1 where they are too extreme, 0 where confidence says
nothing. Confidences are cut at `CLIP` and 1 - `CLIP`, since 0 and 1 have no logit. The equal-mass error, called
adaptive (Nguyen & O'Connor 2015, EMNLP; Nixon et al. 2019, CVPR workshops): bins that hold the same number of answers.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, stdtrit

from metacog_pipeline.stats import estimate, intervals, resampling
from metacog_pipeline.stats._arrays import Floats, floats, ratio, whole
from metacog_pipeline.stats.calibration import turned
from metacog_pipeline.stats.trials import Trials

CLIP = 0.005  # half of a percent: the largest odds a whole percent below 1 can round to
MOST_LEVERAGE = 0.9  # of an item: beyond, its residual would be blown up more than tenfold
_STEPS, _NEAR, _HALVINGS = 100, 1e-10, 30


def logistic(x: Floats, totals: Floats, start: tuple[Floats, Floats] | None = None) -> tuple[Floats, Floats]:
    """Return intercept and slope ``(B,)`` of the logistic regression of each row of totals ``(B, 2 L)`` on ``x``
    ``(L,)``.

    Newton's method with halved steps, from ``start`` or the share correct. Where answers are separated without an
    overlap, or one ``x`` alone is used, there is no slope: NaN.
    """
    wrong, right = totals[:, 0::2], totals[:, 1::2]
    n = wrong + right
    some = ~_separated(x, wrong, right)
    a = np.where(some, logit(np.where(some, ratio(right.sum(axis=1), n.sum(axis=1)), 0.5)), np.nan)
    b = np.where(some, 0.0, np.nan)
    if start is not None:
        known = some & np.isfinite(start[0]) & np.isfinite(start[1])
        a, b = (np.where(known, first, own) for first, own in zip(start, (a, b), strict=True))
    rows = np.flatnonzero(some)
    for _ in range(_STEPS):
        if not len(rows):
            return a, b
        z = a[rows, None] + b[rows, None] * x
        p = expit(z)
        residual, weight = right[rows] - n[rows] * p, n[rows] * p * (1 - p)
        g0, g1 = residual.sum(axis=1), residual @ x
        h0, h1, h2 = weight.sum(axis=1), weight @ x, weight @ (x * x)
        det = h0 * h2 - h1 * h1
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.stack([(h2 * g0 - h1 * g1) / det, (h0 * g1 - h1 * g0) / det])
        a[rows], b[rows] = _climbed(x, right[rows], n[rows], np.stack([a[rows], b[rows]]), step)
        moved = np.abs(step).max(axis=0) > _NEAR * (1 + np.abs(b[rows]))
        rows = rows[moved & np.isfinite(b[rows])]
    a[rows], b[rows] = np.nan, np.nan
    return a, b


def _climbed(x: Floats, right: Floats, n: Floats, at: Floats, step: Floats) -> Floats:
    """Return ``at`` + ``step`` ``(2, B)``, steps halved where the likelihood falls."""
    start, size = _log_likelihood(x, right, n, at), np.ones(at.shape[1])
    for _ in range(_HALVINGS):
        falls = _log_likelihood(x, right, n, at + size * step) < start - 1e-9 * np.abs(start)
        if not falls.any():
            break
        size[falls] /= 2
    return at + size * step


def _log_likelihood(x: Floats, right: Floats, n: Floats, at: Floats) -> Floats:
    z = at[0][:, None] + at[1][:, None] * x
    found: Floats = (right * z - n * np.logaddexp(0.0, z)).sum(axis=1)
    return found


def _separated(x: Floats, wrong: Floats, right: Floats) -> NDArray[np.bool_]:
    """Whether no ``x`` of one kind lies beyond one of the other, shared edges aside; or one kind lacks."""
    low_w, low_r = (np.where(each > 0, x, np.inf).min(axis=1, initial=np.inf) for each in (wrong, right))
    high_w, high_r = (np.where(each > 0, x, -np.inf).max(axis=1, initial=-np.inf) for each in (wrong, right))
    return np.asarray((high_w <= low_r) | (high_r <= low_w))


def in_the_large(made: Trials) -> estimate.Estimate:
    """Return mean confidence minus the share correct, -1..1; confidences are 0..1."""
    stated = np.tile(np.repeat(made.grouped, 2), made.folds)
    gap = stated - np.tile([0.0, 1.0], len(stated) // 2)
    return intervals.ratio(made.patterns, gap, np.ones(len(gap)), turned(len(gap)))


def slope(made: Trials) -> estimate.Estimate:
    """Return the calibration slope; confidences are 0..1.

    Interval: ± t standard errors, the sandwich of items (Liang & Zeger 1986, *Biometrika* 73), each item over one
    less its leverage (HC3; MacKinnon & White 1985, *Journal of Econometrics* 29), t with one degree of freedom less than
    items that hold an answer of the rarer kind.
    """
    method = "logistic, sandwich, t"
    if made.why_not is not None:
        return estimate.unavailable(made.n, method, made.why_not)
    totals, start = made.totals[None].astype(np.float64), None
    if len(made.grouped) < len(made.stated):  # most of the way at a hundredth of the cost
        start = logistic(_logit(made.grouped), made.folded.sum(axis=0)[None])
    a, b = (float(each[0]) for each in logistic(_logit(made.stated), totals, start))
    if not math.isfinite(b):
        cut = len(np.unique(_logit(made.stated))) == 1
        return estimate.unavailable(made.n, method, estimate.ONE_LEVEL if cut else estimate.PERFECT)
    if made.rarer < 2:
        return estimate.Estimate(b, None, None, made.n, method, made.few or estimate.SINGLE_ITEM)
    x = np.tile(np.repeat(_logit(made.grouped), 2), made.folds)
    p = expit(a + b * x)
    scores = (np.tile([0.0, 1.0], len(x) // 2) - p)[:, None] * np.column_stack([np.ones_like(x), x])
    weight = made.patterns.totals * p * (1 - p)
    bread = np.array([[weight.sum(), weight @ x], [weight @ x, weight @ (x * x)]])
    inverse = np.linalg.inv(bread)
    leverage = p * (1 - p) * (inverse[0, 0] + 2 * inverse[0, 1] * x + inverse[1, 1] * x * x)
    by_item = made.patterns.by_pattern(scores)
    by_item /= 1 - np.minimum(made.patterns.by_pattern(leverage), MOST_LEVERAGE)[:, None]
    meat = (by_item * made.patterns.weights[:, None]).T @ by_item
    error = math.sqrt(max(float((inverse @ meat @ inverse)[1, 1]), 0.0))
    far = float(stdtrit(made.rarer - 1, 0.975)) * error
    return estimate.Estimate(b, b - far, b + far, made.n, method, made.few or estimate.OK, error)


def _logit(stated: Floats) -> Floats:
    found: Floats = logit(np.clip(stated, CLIP, 1 - CLIP))
    return found


def mass_ece_statistic(stated: ArrayLike, bins: int = 10) -> resampling.Statistic:
    """Return the function ``(B, 2 L) -> (B,)`` of the calibration error over bins of equal mass, 0..1.

    The sorted answers are cut into ``bins`` parts of equal number. Equal confidences have no order: where a cut falls
    among them, both sides get their share, wrong and correct alike. NaN for a row without answers.
    """
    probability, bins = floats("stated", stated), whole("bins", bins, 1)

    def statistic(totals: Floats) -> Floats:
        right, said, _ = _mass_bins(probability, totals, bins)
        return ratio(np.abs(right - said).sum(axis=1), totals.sum(axis=1))

    return statistic


def _mass_bins(stated: Floats, totals: Floats, bins: int) -> tuple[Floats, Floats, Floats]:
    """Return right answers, sum of confidences and answers of each bin of equal mass, ``(B, bins)`` each."""
    n = totals[:, 0::2] + totals[:, 1::2]
    full = n.sum(axis=1, keepdims=True)
    mass = np.pad(np.cumsum(n, axis=1), ((0, 0), (1, 0))) / np.where(full > 0, full, 1.0)
    # One interpolation for all rows: row b lies between 2 b and 2 b + 1.
    shift = 2.0 * np.arange(len(totals))[:, None]
    cuts, mass = (np.arange(bins + 1) / bins + shift).ravel(), (mass + shift).ravel()

    def between(values: Floats) -> Floats:
        summed = np.pad(np.cumsum(values, axis=1), ((0, 0), (1, 0)))
        return np.diff(np.interp(cuts, mass, summed.ravel()).reshape(len(totals), bins + 1), axis=1)

    return between(totals[:, 1::2]), between(n * stated), np.repeat(full / bins, bins, axis=1)


def mass_ece(made: Trials, bins: int = 10) -> estimate.Estimate:
    """Return the calibration error over bins of equal mass; interval of `intervals.of_gaps`."""
    method = f"ece, {bins} bins of equal mass, {intervals.INVERTED}"
    if made.n == 0:
        return estimate.unavailable(0, method, estimate.NO_ITEMS)
    value = float(mass_ece_statistic(made.stated, bins)(made.totals[None].astype(np.float64))[0])
    if made.n_items < 2:
        return estimate.Estimate(value, None, None, made.n, method, estimate.SINGLE_ITEM)
    right, said, number = (part[0] for part in _mass_bins(made.grouped, made.folded.sum(axis=0)[None], bins))
    low, high = intervals.of_gaps(right, said, number, _mass_bins(made.grouped, made.draws, bins))
    sem = float(np.std(mass_ece_statistic(made.grouped, bins)(made.draws)))
    return estimate.Estimate(value, min(low, value), max(high, value), made.n, method, estimate.OK, sem)
