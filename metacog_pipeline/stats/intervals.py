"""One family of 95 % intervals for shares, means, areas, errors and their differences; `FAMILY` names each with its source.

All hold the values that the sample does not reject: the error in the test is the one that the *tested* value would have,
so a sample without errors is not taken for certainty. No end leaves the range of its measure.

Shares and means have one formula. Gauss's quadrature gives the two values, and the share of each, that have the mean, the
variance and the skewness of the sample; Wilson's interval of that share, read on the scale of the two values, is the
interval of the mean. Where a value depends on an outcome that is rarely seen, one answer is added to the variance and the
skewness, its outcome turned round (`ratio`). Items with several runs count as so many independent answers as have their
standard error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from metacog_pipeline.stats import exact, resampling
from metacog_pipeline.stats._arrays import Floats, counts, floats, same_length, whole
from metacog_pipeline.stats.estimate import NO_ITEMS, NO_WEIGHT, SINGLE_ITEM, Estimate, unavailable
from metacog_pipeline.stats.resampling import LEVEL, Z95, Patterns

TAIL = (1 - LEVEL) / 2
WILSON, TWO_POINT, SCALED = "wilson", "two-point score", "scaled score"
INVERTED, MOVER = "test inversion over resampled items", "mover"
LOSS = "item bootstrap, t of the logarithm"


class Kind(NamedTuple):
    """What a kind of interval is for, and where it comes from."""

    of: str
    source: str


#: Every kind of interval of this module by the name that a ``method`` starts with.
FAMILY: Mapping[str, Kind] = {
    WILSON: Kind("a share", "Wilson 1927, JASA 22; clusters: Korn & Graubard 1998, Survey Methodology 24"),
    TWO_POINT: Kind(
        "a mean of values in a range: Brier score, confidence, calibration in the large, weighted accuracy",
        "Wilson 1927 on the two nodes of Gauss's quadrature (Golub & Welsch 1969, Math. Comp. 23); this project's",
    ),
    SCALED: Kind("AUROC2", "Newcombe 2006, Statistics in Medicine 25, method 5, scaled by DeLong's variance"),
    INVERTED: Kind(
        "a sum of absolute or squared gaps: ECE, reliability, resolution",
        "Neyman's construction along one line: Carpenter 1999, JRSS B 61",
    ),
    LOSS: Kind("an area under risk against coverage", "delta method on the logarithm; this project's"),
    MOVER: Kind(
        "a difference of two estimates",
        "Zou & Donner 2008, Statistics in Medicine 27; of shares: Newcombe 1998, ibid. 17",
    ),
}


# --- shares and means -------------------------------------------------------------------------------------------------
def two_point(
    value: ArrayLike, centre: ArrayLike, variance: ArrayLike, tilt: ArrayLike, n: ArrayLike, far: float = Z95
) -> tuple[Floats, Floats]:
    """Return the ends of the interval of means: the t with ``(value - t)² <= far² V(t) / n``.

    ``V(t) = variance + tilt (t - centre) - (t - centre)²`` is the variance of the two-point distribution with mean
    ``centre``, this variance, and ``tilt``, its third central moment over the variance, when its mean is t.
    """
    m, at, v, g, size = (np.asarray(each, dtype=np.float64) for each in (value, centre, variance, tilt, n))
    c = far * far / size
    middle = (2 * m + c * (g + 2 * at)) / (2 * (1 + c))
    rest = (m * m - c * (v - g * at - at * at)) / (1 + c)
    half = np.sqrt(np.maximum(middle * middle - rest, 0.0))
    return np.minimum(middle - half, m), np.maximum(middle + half, m)


def wilson_ends(share: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Return the ends of Wilson's interval of shares 0..1 of ``n`` independent answers, arrays of one shape."""
    low, high = two_point(share, share, share * (1 - share), 1 - 2 * share, n)
    # Exact ends where the algebra says so: rounding would leave 1e-17 below or above.
    return np.where(share <= 0, 0.0, np.maximum(low, 0.0)), np.where(share >= 1, 1.0, np.minimum(high, 1.0))


def wilson_interval(share: float, n: float) -> tuple[float, float]:
    """Return Wilson's interval of a ``share`` of ``n`` independent answers, above 0, whole or not.

    >>> [round(end, 4) for end in wilson_interval(0.9, 20)]
    [0.699, 0.9721]
    """
    if not 0.0 <= share <= 1.0 or not n > 0 or not math.isfinite(n):
        raise ValueError(f"no Wilson interval for share {share} of n {n}: 0 <= share <= 1 and n > 0 needed")
    low, high = wilson_ends(np.array(share), np.array(n))
    return float(low), float(high)


def sem_interval(value: float, sem: float) -> tuple[float, float]:
    """Return ``value`` ± 1.96 ``sem``, for what has no range: a criterion, a standardised difference.

    >>> [round(end, 3) for end in sem_interval(0.5, 0.1)]
    [0.304, 0.696]
    """
    return value - Z95 * sem, value + Z95 * sem


def proportion(successes: int, n: int) -> Estimate:
    """Return the share of ``successes`` among ``n`` with Wilson's interval and standard error s / sqrt(n), s with n - 1.

    >>> found = proportion(9, 10)
    >>> found.value, round(found.low, 3), round(found.high, 3)
    (0.9, 0.596, 0.982)
    """
    n, successes = whole("n", n), whole("successes", successes)
    if successes > n:
        raise ValueError(f"{successes} successes among {n} items")
    return ratio(Patterns(np.eye(2, dtype=np.int64), np.array([n - successes, successes])), [0, 1], [1, 1])


def mean(
    values: ArrayLike, clusters: ArrayLike, within: tuple[float, float] = (0.0, 1.0), turned: ArrayLike | None = None
) -> Estimate:  # fmt: skip
    """Return the mean of ``values`` ``(N,)`` in the range ``within``, with its interval over ``clusters`` ``(N,)``, whole
    numbers from 0. ``turned`` ``(N,)``: the values, had the outcomes been the other ones, as of `ratio`.

    >>> found = mean([0.2, 0.4, 0.9, 0.9], [0, 0, 1, 1])
    >>> round(found.value, 3), round(found.sem, 3), found.method
    (0.6, 0.3, 'two-point score, clustered')
    """
    given, cluster = floats("values", values), counts("clusters", clusters)
    n = same_length(values=given, clusters=cluster)
    if not n:
        return unavailable(0, TWO_POINT, NO_ITEMS)
    low, high = within
    if float(given.min()) < low or float(given.max()) > high:
        raise ValueError(f"values of {given.min():g} to {given.max():g} are outside {low:g} to {high:g}")
    moved = np.bincount(cluster, weights=given - given.mean())
    moments = wider = _Moments.of(given, np.ones(n))
    if turned is not None:
        both = np.concatenate([given, floats("turned", turned)])
        wider = _Moments.of(both, np.repeat([1.0, 1 / n], n))
    items = int((np.bincount(cluster) > 0).sum())
    kind = WILSON if within == (0.0, 1.0) and _is_0_or_1(given) else TWO_POINT
    return _estimate(moments, wider, float(moved @ moved), items, n, float(n), within, kind)


def ratio(
    patterns: Patterns, numerator: ArrayLike, denominator: ArrayLike, turned: ArrayLike | None = None
) -> Estimate:
    """Estimate sum(numerator · N) / sum(denominator · N) over the items of ``patterns``: a share, a (weighted) mean.

    numerator, denominator: ``(C,)``, weights of a cell; the denominator is 0 or more, the numerator 0 where that is.
    turned: ``(C,)``: the cell that an answer would be in had its outcome been the other one. Without it a mean of few
        errors takes them to be impossible where none was seen.
    Returns: ``n`` counts the observations the denominator takes in; the standard error is that of a ratio of cluster
        totals, I / (I - 1) Σ (y_i - R m_i)² / (Σ m_i)² (Cochran 1977, *Sampling Techniques*, §6.3).

    >>> items = Patterns(np.array([[2, 0], [1, 1]]), np.array([5, 5]))  # two runs: right, wrong
    >>> found = ratio(items, [1.0, 0.0], [1.0, 1.0])
    >>> found.value, found.n, found.method, round(found.sem, 4)
    (0.75, 20, 'wilson, clustered', 0.0833)
    """
    top, bottom = floats("numerator", numerator), floats("denominator", denominator)
    y, m = patterns.by_pattern(top), patterns.by_pattern(bottom)
    used = bottom > 0
    number = patterns.by_pattern(used.astype(np.float64))
    values = np.divide(top, bottom, out=np.zeros_like(top), where=used)
    kind = WILSON if _is_0_or_1(values) else TWO_POINT
    n, total = round(float(patterns.weights @ number)), float(patterns.weights @ m)
    if total == 0:
        method = kind + (", clustered" if bool((number > 1).any()) else "")
        return unavailable(n, method, NO_WEIGHT if n else NO_ITEMS)
    totals = patterns.totals.astype(np.float64)
    moments = wider = _Moments.of(values, totals * bottom)
    if turned is not None:
        other = np.bincount(np.asarray(turned), weights=totals * bottom, minlength=len(totals))
        wider = _Moments.of(values, totals * bottom + other / n)
    squares = float(patterns.weights @ (y - moments.mean * m) ** 2)
    items = int(patterns.weights[number > 0].sum())
    within = float(values[used].min()), float(values[used].max())
    return _estimate(moments, wider, squares, items, n, total, within, kind)


class _Moments(NamedTuple):
    """Mean, variance, and third central moment over variance, of weighted values."""

    mean: float
    variance: float
    tilt: float

    @classmethod
    def of(cls, values: Floats, weights: Floats) -> _Moments:
        total = float(weights.sum())
        mean = float(weights @ values) / total
        apart = values - mean
        variance = float(weights @ apart**2) / total
        # Rounding of equal values is no spread.
        if variance <= 1e-24 * max(1.0, mean * mean):
            return cls(mean, 0.0, 0.0)
        return cls(mean, variance, float(weights @ apart**3) / total / variance)


def _estimate(
    moments: _Moments, wider: _Moments, squares: float, items: int, n: int, total: float,
    within: tuple[float, float], kind: str,
) -> Estimate:  # fmt: skip
    """Return a mean of ``n`` answers to ``items`` items; ``squares`` sums those of what each item adds to it."""
    method = kind + (", clustered" if n > items else "")
    least, most = within
    value = min(max(moments.mean, least), most)
    if items < 2:
        return Estimate(value, None, None, n, method, SINGLE_ITEM)
    sem = math.sqrt(items / (items - 1) * squares) / total
    # As many independent answers as have the same standard error: of answers that are all alike, the items.
    size = float(n)
    if n != items or n != total:
        if moments.variance <= 0:
            size = float(items)
        elif sem * sem * n > moments.variance:
            size = max(1.0, min(moments.variance / (sem * sem) + 1, float(n)))
    if kind == WILSON:
        return Estimate(value, *wilson_interval(value, size), n, method, sem=sem)
    if wider.variance == 0:
        # Nothing differs: as many equal answers can hide a share of answers at an end of the range.
        hidden = 1 - TAIL ** (1 / items)
        low, high = value - hidden * (value - least), value + hidden * (most - value)
        return Estimate(value, low, high, n, method, sem=sem)
    ends = two_point(value, *wider, size, float(stdtrit(items - 1, 1 - TAIL)))
    return Estimate(value, max(float(ends[0]), least), min(float(ends[1]), most), n, method, sem=sem)


def _is_0_or_1(weights: Floats) -> bool:
    return bool(((weights == 0) | (weights == 1)).all())


# --- areas ------------------------------------------------------------------------------------------------------------
FEW = 5.0  # answers of the rarer kind at which their own variance and the model's count alike
LEAST_SCALE = 0.25  # of the model's variance: few answers can agree by chance
_HALVINGS = 60


def scaled_score(
    area: ArrayLike, n_right: ArrayLike, n_wrong: ArrayLike, variance: ArrayLike
) -> tuple[Floats, Floats]:
    """Return the ends of the interval of areas under an ROC curve, arrays of one shape.

    A score interval with the variance of Hanley & McNeil, scaled by how DeLong's ``variance`` (NaN: unknown) compares with
    it: the more, the more answers of the rarer kind there are.
    """
    # Of two levels DeLong's variance does not know that the wrong answers need not fall on one: it covers 71 to 89 % in the
    # worst of 66 pairs of shares from 3 to 30 wrong answers, 93 % from 100 (by enumeration): see `coverage`.
    theta, right, wrong, seen = np.broadcast_arrays(
        *(np.asarray(each, float) for each in (area, n_right, n_wrong, variance))
    )
    half = (right + wrong) / 2 - 1

    def model(t: Floats) -> Floats:
        return np.asarray(t * (1 - t) * (1 + half * (1 - t) / (2 - t) + half * t / (1 + t)) / (right * wrong))

    rarer = np.minimum(right, wrong)
    weight = np.where(np.isfinite(seen), rarer / (rarer + FEW), 0.0)
    edge = 1 / (2 * right * wrong)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = weight * np.nan_to_num(seen) / model(np.clip(theta, edge, 1 - edge)) + 1 - weight
    scale = np.maximum(scale, np.where((theta <= 0) | (theta >= 1), 1.0, LEAST_SCALE))
    ends = []
    for far in (0.0, 1.0):
        outside, inside = np.full(theta.shape, far), theta.astype(float)
        for _ in range(_HALVINGS):
            middle = (outside + inside) / 2
            beyond = (theta - middle) ** 2 > Z95 * Z95 * scale * model(middle)
            outside, inside = np.where(beyond, middle, outside), np.where(beyond, inside, middle)
        ends.append((outside + inside) / 2)
    return np.minimum(ends[0], theta), np.maximum(ends[1], theta)


# --- sums of gaps -----------------------------------------------------------------------------------------------------
# A sum of absolute gaps is larger in a sample than in the population. So the gaps that were seen are shrunk and stretched
# by a factor, noise is added to each as the resamples show it, and the ends are the errors at which the one seen is
# the 97.5th and the 2.5th percentile. A bin whose answers are all right or all wrong gets the noise of one more answer,
# right as often as its confidence says. Where the error is as small as noise alone makes it, the upper end is the 97.5th
# percentile of noise; where every bin is of one kind, the ends reach as far as so many equal answers can hide.
_FIRST = 8.0  # factor the search for the upper end starts with; it is doubled while the end lies beyond
_STEPS = 16
_ROUNDING = 1e-12  # of an error


def of_gaps(
    right: Floats, said: Floats, number: Floats, drawn: tuple[Floats, Floats, Floats], *, squared: bool = False
) -> tuple[float, float]:  # fmt: skip
    """Return the ends of the interval of a calibration error, 0..1: the mean of absolute (or ``squared``) gaps.

    ``right``, ``said``, ``number`` ``(bins,)``: right answers, sum of the confidences, answers; ``drawn``: the same of
    resamples, ``(B, bins)`` each.

    >>> rng, number = np.random.default_rng(1), np.full((1000, 1), 50.0)
    >>> drawn = rng.binomial(50, 0.7, (1000, 1)).astype(float), number * 0.9, number
    >>> low, high = of_gaps(np.array([35.0]), np.array([45.0]), np.array([50.0]), drawn)
    >>> round(low, 2), round(high, 2)
    (0.08, 0.32)
    """
    used = number > 0
    right, said, number = right[used], said[used], number[used]
    hits, stated, size = (each[:, used] for each in drawn)
    total = size.sum(axis=1)
    some = total > 0
    hits, stated, size, total = hits[some], stated[some], size[some], total[some]
    gap = (right - said) / number
    power = 2 if squared else 1  # what a factor of the gaps is of their sum
    value = float((number * np.abs(gap) ** power).sum() / number.sum())
    # Resamples of a bin with few answers vary less than samples of it do.
    wider = np.sqrt(number / np.maximum(number - 1, 1))
    seen, moved = hits - stated - size * gap, size * gap
    # The spread that a bin lacks because few of its answers were seen.
    believed = (right + said / number) / (number + 1)
    lacking = np.maximum(believed * (1 - believed) - right / number * (1 - right / number), 0.0)
    rng = resampling.generator(resampling.stream("calibration", "interval", *size.shape))
    noise = seen * wider + rng.standard_normal(size.shape) * np.sqrt(size * lacking)

    def errors(gaps: Floats) -> Floats:
        made = np.abs(gaps)
        if squared:
            made = np.divide(made**2, size, out=np.zeros(made.shape), where=size > 0)
        return np.asarray(made.sum(axis=1) / total)

    def at(factor: float, tail: float) -> float:
        return float(np.quantile(errors(factor * moved + noise), tail))

    least, most = _hidden(gap, number, right, power)
    low = value * _factor(lambda factor: at(factor, 1 - TAIL) - value) ** power
    # Counts are whole, so errors have steps: within half a step of 0 no error that could have been seen is smaller.
    steps = errors(seen)
    step = float(steps[steps > _ROUNDING].min(initial=np.inf))
    if value <= max(at(0.0, TAIL), step / 2**power if math.isfinite(step) else 0.0) + _ROUNDING:
        high = at(0.0, 1 - TAIL)
    else:
        most_factor = value ** (-1 / power)  # no error is larger than 1
        high = value * _factor(lambda factor: at(factor, TAIL) - value, _FIRST, most_factor) ** power
    return min(low, value, least), min(max(high, value, most), 1.0)


def of_totals(
    totals: Floats, draws: Floats, stated: Floats | None, member: Floats | None = None, *, squared: bool = False
) -> tuple[float, float]:  # fmt: skip
    """Return `of_gaps` of ``totals`` ``(2 L,)``, level × (wrong, right), and their resamples ``draws`` ``(B, 2 L)``.

    ``stated`` ``(L,)`` is what each level means; None: the share of right answers among all. ``member`` ``(L, bins)``: the
    bin of each; None: its own.
    """

    def parts(table: Floats) -> tuple[Floats, Floats, Floats]:
        right, number = table[:, 1::2], table[:, 0::2] + table[:, 1::2]
        overall = right.sum(axis=1) / np.maximum(number.sum(axis=1), 1.0)
        said = number * (overall[:, None] if stated is None else stated)
        return (right, said, number) if member is None else (right @ member, said @ member, number @ member)

    right, said, number = parts(totals[None])
    return of_gaps(right[0], said[0], number[0], parts(draws), squared=squared)


def _factor(height: Callable[[float], float], first: float = 1.0, most: float = 1.0) -> float:
    """Return where a rising function crosses 0, from 0 up to ``first``, doubled up to ``most``; the end it lies beyond."""
    if height(0.0) >= 0:
        return 0.0
    low, high = 0.0, first
    while high < most and height(high) < 0:
        low, high = high, 2 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if height(middle) >= 0 else (middle, high)
    return (low + high) / 2


def _hidden(gap: Floats, number: Floats, right: Floats, power: int) -> tuple[float, float]:
    """Return the least and the largest error if answers of the other kind are hidden where all bins are of one kind."""
    kinds = [(right >= number - 1e-9, -1.0), (right <= 1e-9, 1.0)]
    if not (kinds[0][0] | kinds[1][0]).all():
        return np.inf, 0.0
    ends = np.zeros(2)
    for kind, sign in kinds:
        n = float(number[kind].sum())
        if n:
            own, most = gap[kind], 1 - TAIL ** (1 / n)
            # Each bin's gap closes at its own share, so the error turns at those; of squares at their mean.
            turns = np.append(np.abs(own), np.abs(own) @ number[kind] / n)
            shares = np.append(np.clip(turns, 0.0, most), (0.0, most))[:, None]
            errors = np.abs(own + sign * shares) ** power @ number[kind]
            ends += errors.min(), errors.max()
    low, high = ends / number.sum()
    return float(low), float(high)


def loss_ends(value: float, error: float, rarer: int) -> tuple[float | None, float | None]:
    """Return the ends of a loss of 0..1: value · exp(± t error / value), t of ``rarer`` - 1 degrees of freedom."""
    if value <= 0 or rarer < 2:
        return None, None
    # Few items of the rarer kind make nearly all of such a loss and of its standard error, and its draws are skewed.
    far = float(stdtrit(rarer - 1, 1 - TAIL)) * error / value
    return value * math.exp(-far), min(value * math.exp(min(far, 700.0)), max(value, 1.0))


# --- differences ------------------------------------------------------------------------------------------------------
def difference(
    first: Estimate, second: Estimate, correlation: float, n_items: int | None = None
) -> tuple[float | None, float | None, float | None]:
    """Return the ends of the interval of ``first`` - ``second`` and the two-sided p that belongs to it.

    ``correlation`` is that of the two estimates, 0 where the items are not the same; ``n_items`` is that of `p_of`.
    None for estimates without intervals.

    >>> a, b = Estimate(0.9, 0.84, 0.94, 100, "wilson"), Estimate(0.8, 0.72, 0.86, 100, "wilson")
    >>> [round(each, 3) for each in difference(a, b, 0.0)], [round(each, 3) for each in difference(a, b, 0.5)]
    ([0.015, 0.189, 0.021], [0.04, 0.169, 0.001])
    """
    ends = (first.value, first.low, first.high, second.value, second.low, second.high)
    if any(each is None for each in ends):
        return None, None, None
    a, low_a, high_a, b, low_b, high_b = (float(each) for each in ends if each is not None)
    low, high = map(float, both_ends((a, low_a, high_a), (b, low_b, high_b), correlation))
    return low, high, p_of(a - b, low, high, n_items)


def both_ends(
    first: tuple[ArrayLike, ArrayLike, ArrayLike], second: tuple[ArrayLike, ArrayLike, ArrayLike], correlation: ArrayLike
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return the ends of the intervals of many differences; each side is value, low and high."""
    # Each end lies as far from a - b as the two ends that lead there lie from a and b, with their correlation.
    a, low_a, high_a, b, low_b, high_b = (np.asarray(each, dtype=np.float64) for each in (*first, *second))
    known = np.nan_to_num(np.asarray(correlation, dtype=np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    r = np.clip(known, -1, 1)

    def together(one: Floats, other: Floats) -> Floats:
        return np.asarray(np.sqrt(np.maximum(one * one + other * other - 2 * r * one * other, 0.0)))

    return a - b - together(a - low_a, high_b - b), a - b + together(high_a - a, b - low_b)


def p_of(value: float, low: float, high: float, n_items: int | None = None) -> float | None:
    """Return the two-sided p of an interval ``low`` .. ``high`` of a difference ``value``: normal, with the spread the
    interval has towards 0; None without one. Never below the least p of all exchanges of ``n_items`` shared items.

    >>> round(p_of(0.1, 0.0, 0.3), 3), p_of(0.0, 0.0, 0.0), p_of(0.1, 0.1, 0.1), p_of(0.9, 0.8, 1.0, 13)
    (0.05, 1.0, None, 0.000244140625)
    """
    towards = value - low if value > 0 else high - value
    if towards <= 0:
        return 1.0 if value == 0 else None
    # At the end of a scale that spread is small, and the p far smaller than the items allow.
    least = 0.0 if n_items is None else exact.least_p(n_items)
    return max(least, resampling.wald_p(Z95 * value / towards))
