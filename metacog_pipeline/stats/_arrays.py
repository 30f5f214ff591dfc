"""Checks on arrays that come in, and division that knows what an empty set is."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Squares of larger numbers, summed, could pass the range of a double: they are refused, not turned into inf.
LARGEST = 1e140
# Numbers from which a quantile is looked for with a sample of them, one of so many.
_MANY, _SAMPLED = 2_000, 16
# Random numbers of trials are 64-bit integers.
MOST_DRAWN = 1e18


def floats(name: str, values: ArrayLike, ndim: int = 1, *, gaps: bool = False) -> Floats:
    """Return ``values`` as a finite float array of ``ndim`` dimensions; with ``gaps`` NaN may stand in it."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} holds something that is no number: {error}") from None
    _check_ndim(name, array, ndim)
    if array.size and not bool(((np.abs(array) <= LARGEST) | (gaps & np.isnan(array))).all()):
        raise ValueError(f"{name} holds values that are not finite or beyond ±{LARGEST:g}")
    return array


def counts(name: str, values: ArrayLike, ndim: int = 1) -> Ints:
    """Return ``values`` as an integer array of counts (0 or more)."""
    array = np.asarray(values)
    _check_ndim(name, array, ndim)
    if array.dtype.kind not in "biu":
        if array.size and (array.dtype.kind != "f" or not bool((array == np.floor(array)).all())):
            raise ValueError(f"{name} holds values that are not whole numbers")
        if array.size and not bool((np.abs(array) < 2**53).all()):
            raise ValueError(f"{name} holds values too large to be counts")
    whole = array.astype(np.int64)
    if whole.size and int(whole.min()) < 0:
        raise ValueError(f"{name} holds the negative count {int(whole.min())}")
    return whole


def binary(name: str, values: ArrayLike, ndim: int = 1) -> Ints:
    """Return ``values`` (booleans, or 0 and 1) as integers; anything else is a ValueError."""
    whole = counts(name, values, ndim)
    if whole.size and int(whole.max()) > 1:
        raise ValueError(f"{name} holds {int(whole.max())}: only 0 and 1 are allowed")
    return whole


def drawable(trials: Floats) -> Ints:
    """Return numbers of trials as whole numbers that can be drawn again; one beyond 1e18 is a ValueError."""
    if trials.size and float(trials.max()) > MOST_DRAWN:
        raise ValueError(
            f"{float(trials.max()):g} trials in a cell: no more than {MOST_DRAWN:g} can be drawn"
        )
    return np.rint(trials).astype(np.int64)


def same_length(**arrays: NDArray[Any]) -> int:
    """Return the common length of the named arrays, or raise a ValueError naming them."""
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError("lengths differ: " + ", ".join(f"{name} has {n}" for name, n in lengths.items()))
    return next(iter(lengths.values()))


def whole(name: str, value: int, least: int = 0) -> int:
    """Return ``value`` as an int of at least ``least``, or raise a ValueError."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} is {value!r}: a whole number is needed") from None
    if number < least:
        raise ValueError(f"{name} is {number}, below {least}")
    return number


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide, NaN where the denominator is 0; for resamples only, where NaN marks an undefined draw."""
    result = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), np.nan)
    np.divide(numerator, denominator, out=result, where=denominator != 0)
    return result


def mean_ranks(values: Floats) -> Floats:
    """Return ranks along the last axis, 1 = smallest, ties sharing their mean rank; NaN gets NaN and moves no other."""
    from scipy.stats import rankdata  # late: it takes longer to import than all of this package

    return np.asarray(rankdata(values, axis=-1, nan_policy="omit"), dtype=np.float64).reshape(values.shape)


def quantiles(ordered: Floats, shares: Sequence[float]) -> Floats:
    """Return the quantiles of finite numbers in ascending order along the last axis, ``(..., shares)``.

    They are those of ``np.quantile`` to the bit, whose search for them takes longer than sorting.
    """
    before, after, t = _places(ordered.shape[-1], shares)
    return _between(ordered[..., before], ordered[..., after], t)


def quantiles_of(values: Floats, shares: Sequence[float]) -> Floats:
    """Return the same of numbers in any order. Of many only those are sorted that a sample says may be the quantiles, which
    takes a quarter of the time of any search of NumPy's.
    """
    n = values.shape[-1]
    if n < _MANY:
        return quantiles(np.sort(values, axis=-1), shares)
    before, after, t = _places(n, shares)
    both = _stand_at(values.reshape(-1, n), [*before.tolist(), *after.tolist()])
    a, b = np.moveaxis(both.reshape(*values.shape[:-1], 2, len(before)), -2, 0)
    return _between(a, b, t)


def _stand_at(rows: Floats, places: Sequence[int]) -> Floats:
    """Return the numbers that stand at ``places`` when each of ``rows`` ``(R, n)`` is in order, ``(R, places)``."""
    n = rows.shape[1]
    samples = np.sort(rows[:, ::_SAMPLED], axis=1)
    size = samples.shape[1]
    apart = size // 25  # how far off a sample may be: six standard errors at 0.025
    lowest = max((place for place in places if 2 * place < n), default=0)
    highest = min((place for place in places if 2 * place >= n), default=n - 1)
    till = samples[:, min(lowest * size // n + apart, size - 1)].tolist()
    since = samples[:, max(highest * size // n - apart, 0)].tolist()
    found = np.empty((len(rows), len(places)))
    for row, low, high, own in zip(rows, till, since, found, strict=True):
        few = row.compress((row <= low) | (row >= high))
        few.sort()
        out = n - len(few)
        if lowest < len(few) and out <= highest and few[lowest] <= low and few[highest - out] >= high:
            own[:] = [few[place if 2 * place < n else place - out] for place in places]
        else:  # the sample was far off
            own[:] = np.sort(row)[places]
    return found


def _places(n: int, shares: Sequence[float]) -> tuple[Ints, Ints, Floats]:
    """Return between which two places of ``n`` each share lies, and how far from the first, 0..1."""
    places = (n - 1) * np.asarray(shares)
    before = np.minimum(places.astype(np.intp), n - 1)
    return before, np.minimum(before + 1, n - 1), places - before


def _between(a: Floats, b: Floats, t: Floats) -> Floats:
    found: Floats = np.where(t < 0.5, a + (b - a) * t, b - (b - a) * (1 - t))
    return found


def _check_ndim(name: str, array: NDArray[Any], ndim: int) -> None:
    if array.ndim != ndim:
        raise ValueError(f"{name} has shape {array.shape}: {ndim} dimension(s) needed")
