"""The interval of a calibration error: the errors that could well have given the one that was seen.

A sum of absolute gaps is larger in a sample than in the population, most of all where the true gaps are near 0; the
percentiles of a bootstrap miss the truth in up to half of all samples then, however they are moved. So the gaps that were
seen are shrunk and stretched by a factor, noise is added to each as the resamples show it, and the ends of the interval are
the errors at which the one that was seen is the 97.5th and the 2.5th percentile (Neyman's construction along one line;
Carpenter 1999, *Journal of the Royal Statistical Society B* 61, calls it test inversion). A bin in which all answers are
right, or all wrong, has no spread of its own: it gets that of one more answer, right as often as its confidence says.

Two cases are beyond that. Where the error that was seen is as small as noise alone makes it, stretching its gaps tells
nothing: the upper end is the 97.5th percentile of what noise alone makes. Where every bin is all right or all wrong, no
resample differs: the ends reach as far as the answers of the other kind that so many equal ones can hide (Clopper &
Pearson 1934, *Biometrika* 26; the rule of three).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats
from metacog_pipeline.stats.resampling.intervals import LEVEL

METHOD = "test inversion over resampled items"
_FIRST = 8.0  # factor the search for the upper end starts with; it is doubled while the end lies beyond
_HALVINGS = 16
_ROUNDING = 1e-12  # of an error
_TAIL = (1 - LEVEL) / 2


def inverted(
    right: Floats,
    said: Floats,
    number: Floats,
    drawn: tuple[Floats, Floats, Floats],
    *,
    squared: bool = False,
) -> tuple[float, float]:
    """Return the ends of the interval of a calibration error, 0..1.

    Parameters
    ----------
    right, said, number
        Of each bin, ``(bins,)``: right answers, sum of the confidences, answers.
    drawn
        The same three of resamples, ``(B, bins)`` each.
    squared
        Whether the error is the mean of squared gaps instead of absolute ones.

    Examples
    --------
    >>> rng, number = np.random.default_rng(1), np.full((1000, 1), 50.0)
    >>> drawn = rng.binomial(50, 0.7, (1000, 1)).astype(float), number * 0.9, number
    >>> low, high = inverted(np.array([35.0]), np.array([45.0]), np.array([50.0]), drawn)
    >>> round(low, 2), round(high, 2)
    (0.08, 0.32)
    """
    used = number > 0
    right, said, number = right[used], said[used], number[used]
    hits, stated, size = (each[:, used] for each in drawn)
    whole = size.sum(axis=1)
    there = whole > 0
    hits, stated, size, whole = hits[there], stated[there], size[there], whole[there]
    gap = (right - said) / number
    value = float((number * np.abs(gap) ** (2 if squared else 1)).sum() / number.sum())
    # Resamples of a bin with few answers vary less than samples of it do.
    wider = np.sqrt(number / np.maximum(number - 1, 1))
    seen = hits - stated - size * gap
    noise = seen * wider + _unseen(right, said, number, size)
    moved = size * gap

    def errors(gaps: Floats) -> Floats:
        made = np.abs(gaps)
        if squared:
            made = np.divide(made**2, size, out=np.zeros(made.shape), where=size > 0)
        return np.asarray(made.sum(axis=1) / whole)

    def at(factor: float, tail: float) -> float:
        return float(np.quantile(errors(factor * moved + noise), tail))

    power = 2 if squared else 1  # what a factor of the gaps is of their sum
    least, most = _hidden(gap, number, right, power)
    low = value * _factor(lambda factor: at(factor, 1 - _TAIL) - value) ** power
    # Within half a step of 0 no error that could have been seen is smaller.
    if value <= max(at(0.0, _TAIL), _step(errors(seen)) / 2**power) + _ROUNDING:
        high = at(0.0, 1 - _TAIL)
    else:
        most_factor = value ** (-1 / power)  # no error is larger than 1
        high = value * _factor(lambda factor: at(factor, _TAIL) - value, _FIRST, most_factor) ** power
    return min(low, value, least), min(max(high, value, most), 1.0)


def _factor(height: Callable[[float], float], first: float = 1.0, most: float = 1.0) -> float:
    """Return where a rising function crosses 0, from 0 up to ``first``, doubled up to ``most``; the end it lies beyond."""
    if height(0.0) >= 0:
        return 0.0
    low, high = 0.0, first
    while high < most and height(high) < 0:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if height(middle) >= 0 else (middle, high)
    return (low + high) / 2


def _step(errors: Floats) -> float:
    """Return the smallest error that resamples make, which is one answer's: counts are whole, and so errors have steps."""
    some = errors[errors > _ROUNDING]
    return float(some.min()) if len(some) else 0.0


def _hidden(gap: Floats, number: Floats, right: Floats, power: int) -> tuple[float, float]:
    """Return the least and the largest error if answers of the other kind are hidden where all bins are of one kind.

    Of n answers alike, a share of up to 1 - 0.025^(1/n) may be of the other kind. Elsewhere inf and 0, which say nothing.
    """
    kinds = [(right >= number - 1e-9, -1.0), (right <= 1e-9, 1.0)]
    if not (kinds[0][0] | kinds[1][0]).all():
        return np.inf, 0.0
    ends = np.zeros(2)
    for kind, sign in kinds:
        n = float(number[kind].sum())
        if n:
            own, most = gap[kind], 1 - _TAIL ** (1 / n)
            # Each bin's gap closes at its own share, so the error turns at those; of squares at their mean.
            turns = np.append(np.abs(own), np.abs(own) @ number[kind] / n)
            shares = np.append(np.clip(turns, 0.0, most), (0.0, most))[:, None]
            errors = np.abs(own + sign * shares) ** power @ number[kind]
            ends += errors.min(), errors.max()
    low, high = ends / number.sum()
    return float(low), float(high)


def _unseen(right: Floats, said: Floats, number: Floats, size: Floats) -> Floats:
    """Return noise of the spread that a bin lacks because few of its answers were seen."""
    share, believed = right / number, (right + said / number) / (number + 1)
    lacking = np.maximum(believed * (1 - believed) - share * (1 - share), 0.0)
    rng = resampling.generator(resampling.stream("calibration", "interval", *size.shape))
    return np.asarray(rng.standard_normal(size.shape) * np.sqrt(size * lacking))


def of_totals(
    totals: Floats,
    draws: Floats,
    stated: Floats | None,
    member: Floats | None = None,
    *,
    squared: bool = False,
) -> tuple[float, float]:
    """Return the interval of totals ``(2 L,)`` and their resamples ``(B, 2 L)``.

    ``stated`` ``(L,)`` is what each level stands for, ``member`` ``(L, bins)`` the bin of each; None: its own. Without
    ``stated`` every level is compared with the share of right answers among all.

    Parameters
    ----------
    draws
        Totals of resampled items.
    squared
        Whether gaps are squared before they are summed.

    Examples
    --------
    >>> totals = np.array([5.0, 5.0, 5.0, 45.0])
    >>> draws = np.random.default_rng(1).multinomial(60, totals / 60, 1000).astype(float)
    >>> [round(end, 2) for end in of_totals(totals, draws, np.array([0.5, 0.5]))]
    [0.24, 0.41]
    """

    def parts(table: Floats) -> tuple[Floats, Floats, Floats]:
        right, number = table[:, 1::2], table[:, 0::2] + table[:, 1::2]
        share = right.sum(axis=1) / np.maximum(number.sum(axis=1), 1.0)
        said = number * (share[:, None] if stated is None else stated)
        return (right, said, number) if member is None else (right @ member, said @ member, number @ member)

    right, said, number = parts(totals[None])
    return inverted(right[0], said[0], number[0], parts(draws), squared=squared)
