"""Intervals of draws, the verdicts of a region of practical equivalence, and Bonferroni Z tests.

Sources: the interval and decision rules of "Measuring the metacognition of AI" (arXiv 2603.29693) and of the HMeta-d
toolbox (Fleming 2017, *Neuroscience of Consciousness*); ROPE: Kruschke (2018), *Adv. Methods Pract. Psychol. Sci.* 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from metacog_pipeline.stats import ties
from metacog_pipeline.stats._arrays import Floats, floats

Verdict = Literal["not_significant", "significant", "negligible", "inconclusive"]

UNTESTED = "untested"  # the verdict where there is no number to test; the status says why


@dataclass(frozen=True, slots=True)
class ZTest:
    """Two-sided Z tests, one per row."""

    z: Floats
    p: Floats
    p_adjusted: Floats
    significant: NDArray[np.bool_]
    low: Floats
    high: Floats
    low_adjusted: Floats
    high_adjusted: Floats
    family_size: int
    level: float


def hdi(draws: ArrayLike, q: float = 0.95) -> tuple[float, float]:
    """Return the highest-density interval of ``draws``, by the toolbox's rule.

    Among the intervals of the sorted draws x that start at i and end ceil(q · n) places further, the narrowest;
    the first of several. It spans ceil(q · n) + 1 draws.

    Parameters
    ----------
    draws
        Any shape; flattened.
    q
        Share to cover, above 0 and below 1.

    Raises
    ------
    ValueError
        For draws that are not finite, a q outside 0..1, or fewer draws than an interval spans.

    Examples
    --------
    >>> hdi([0.0, 1.0, 1.1, 1.2, 5.0], 0.4)
    (1.0, 1.2)
    """
    x = np.sort(_draws("draws", draws))
    width = math.ceil(_share("q", q) * len(x))
    if len(x) - width < 1:
        raise ValueError(f"{len(x)} draws are too few for an interval over {width + 1} of them")
    start = int(ties.largest(x[: len(x) - width] - x[width:]))
    return float(x[start]), float(x[start + width])


def symmetric_interval(draws: ArrayLike, q: float = 0.95) -> tuple[float, float]:
    """Return the quantiles (1 - q) / 2 and (1 + q) / 2 of ``draws`` (any shape, flattened)."""
    tail = (1.0 - _share("q", q)) / 2
    low, high = np.quantile(_draws("draws", draws), (tail, 1.0 - tail)).tolist()
    return low, high


def rope(low: float, high: float, half_width: float, significant: bool) -> Verdict:
    """Return the verdict on a difference whose interval is ``low`` .. ``high``.

    ``not_significant`` where the test did not reject; otherwise ``significant`` if the interval lies wholly outside
    -half_width .. half_width, ``negligible`` if wholly inside, ``inconclusive`` if it crosses an end.

    Raises
    ------
    ValueError
        For an interval with an end that is no number or upside down, or a half width that is negative.

    >>> rope(0.2, 0.4, 0.1, significant=True), rope(-0.02, 0.05, 0.1, significant=True)
    ('significant', 'negligible')
    """
    if math.isnan(low) or math.isnan(high) or low > high:
        raise ValueError(f"interval {low} to {high} is upside down or has an end that is no number")
    (found,) = verdicts(np.array([low]), np.array([high]), half_width, np.array([significant])).tolist()
    return cast(Verdict, found)


def verdicts(
    low: Floats, high: Floats, half_width: float, significant: NDArray[np.bool_]
) -> NDArray[np.str_]:
    """Return :func:`rope` row by row; rows whose interval has no number are ``untested``.

    Parameters
    ----------
    low, high
        Ends of the intervals, shapes ``(n,)``.
    half_width
        Of the region of practical equivalence around 0.
    significant
        Whether each corrected p is below its bound, shape ``(n,)``.

    Examples
    --------
    >>> verdicts(np.array([0.2, np.nan]), np.array([0.4, np.nan]), 0.1, np.array([True, False])).tolist()
    ['significant', 'untested']
    """
    _half_width(half_width)
    known = ~(np.isnan(low) | np.isnan(high))
    found = np.full(len(low), "inconclusive", dtype="<U15")
    found[(low > half_width) | (high < -half_width)] = "significant"
    found[(low >= -half_width) & (high <= half_width)] = "negligible"
    found[~significant] = "not_significant"
    found[~known] = UNTESTED
    return found


def z_test(
    difference: ArrayLike, se: ArrayLike, family_size: int | None = None, level: float = 0.95
) -> ZTest:
    """Return two-sided Z tests of differences, corrected for a family of them after Bonferroni.

    Parameters
    ----------
    difference, se
        Shape ``(rows,)``, any unit, se above 0. NaN or inf marks a row that cannot be tested.
    family_size
        Number of tests made together; the number of rows by default. 1 corrects for nothing.
    level
        Confidence of an interval, and 1 - the familywise error.

    Examples
    --------
    >>> found = z_test([0.3, 0.1], [0.1, 0.1])
    >>> found.p.round(4), found.p_adjusted.round(4), found.significant.tolist()
    (array([0.0027, 0.3173]), array([0.0054, 0.6346]), [True, False])
    """
    delta, error = np.asarray(difference, dtype=np.float64), np.asarray(se, dtype=np.float64)
    if delta.ndim != 1 or delta.shape != error.shape:
        raise ValueError(f"difference has shape {delta.shape}, se {error.shape}: two equal lengths needed")
    size = _family(family_size, len(delta))
    _share("level", level)
    usable = np.isfinite(delta) & np.isfinite(error) & (error > 0)
    delta, error = np.where(usable, delta, np.nan), np.where(usable, error, np.nan)
    z = delta / error
    p = 2.0 * ndtr(-np.abs(z))
    adjusted = np.minimum(1.0, size * p)
    plain, wide = quantile(level, 1) * error, quantile(level, size) * error
    significant = np.less(adjusted, 1.0 - level, where=usable, out=np.zeros(len(z), dtype=np.bool_))
    return ZTest(
        z, p, adjusted, significant, delta - plain, delta + plain, delta - wide, delta + wide, size, level
    )


def quantile(level: float, family_size: int) -> float:
    """Return the normal quantile of a two-sided interval at 1 - (1 - level) / family_size."""
    return float(-ndtri((1.0 - level) / (2.0 * family_size)))


def _family(family_size: int | None, rows: int) -> int:
    size = max(rows, 1) if family_size is None else family_size
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
        raise ValueError(f"family_size is {size!r}: a whole number of at least 1 is needed")
    return int(size)


def _draws(name: str, draws: ArrayLike) -> Floats:
    flat = floats(name, np.asarray(draws).reshape(-1))
    if not len(flat):
        raise ValueError(f"{name} holds nothing")
    return flat


def _share(name: str, value: float) -> float:
    if not 0.0 < value < 1.0:
        raise ValueError(f"{name} is {value}: a share above 0 and below 1 is needed")
    return value


def _half_width(value: float) -> None:
    if not 0.0 <= value < math.inf:
        raise ValueError(f"the half width of the region of practical equivalence is {value}: 0 or more")
