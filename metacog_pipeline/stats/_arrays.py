"""Checks on arrays that come in, and division that knows what an empty set is."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rows = NDArray[np.bool_]

# Squares of larger numbers, summed, could pass the range of a double: they are refused, not turned into inf.
LARGEST = 1e140


def floats(name: str, values: ArrayLike, ndim: int = 1, *, gaps: bool = False) -> Floats:
    """Return ``values`` as a finite float array of ``ndim`` dimensions; with ``gaps`` it may hold NaN."""
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
    if array.dtype.kind not in "biu" and array.size:
        if array.dtype.kind != "f" or not bool((array == np.floor(array)).all()):
            raise ValueError(f"{name} holds values that are not whole numbers")
        if not bool((np.abs(array) < 2**53).all()):
            raise ValueError(f"{name} holds values too large to be counts")
    found = array.astype(np.int64)
    if found.size and int(found.min()) < 0:
        raise ValueError(f"{name} holds the negative count {int(found.min())}")
    return found


def binary(name: str, values: ArrayLike, ndim: int = 1) -> Ints:
    """Return ``values`` (booleans, or 0 and 1) as integers; anything else is a ValueError."""
    found = counts(name, values, ndim)
    if found.size and int(found.max()) > 1:
        raise ValueError(f"{name} holds {int(found.max())}: only 0 and 1 are allowed")
    return found


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


def _check_ndim(name: str, array: NDArray[Any], ndim: int) -> None:
    if array.ndim != ndim:
        raise ValueError(f"{name} has shape {array.shape}: {ndim} dimension(s) needed")
