"""Do two measures order the same respondents alike, and how far is noise to blame where they do not?

Spearman's rank correlation with a percentile interval over resampled respondents, and Pearson's correlation corrected
for attenuation (Spearman 1904, *American Journal of Psychology* 15): r / sqrt(reliability_x reliability_y), the
reliability of a measure being the share of its variance between respondents that is not the mean squared standard error
of its values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats, Ints, floats, same_length
from metacog_pipeline.stats.estimate import OK, Estimate, unavailable
from metacog_pipeline.stats.ranks import RankedDraws, ranked_draws, rho_of_draws
from metacog_pipeline.stats.resampling.kernels import blocks

Made = TypeVar("Made")

LEAST = 4  # respondents without which no correlation is given
ENOUGH = 10  # respondents from which on its interval is worth reading
CONSTANT = "one measure is the same for all"
_CACHED = 20_000  # numbers of a measure that are resampled at once: they stay in the cache of a processor
UNRELIABLE = "no reliability: the spread between respondents is no larger than the noise"


def rank_correlation(x: ArrayLike, y: ArrayLike, n_boot: int, seed: int) -> Estimate:
    """Return Spearman's correlation of ``x`` and ``y``, each ``(respondents,)``, in -1..1.

    The status warns of fewer than ten respondents; below four there is no value.

    Parameters
    ----------
    n_boot
        How many resamples of respondents.
    seed
        Of the resamples: the same seed, the same numbers.

    Examples
    --------
    >>> round(rank_correlation([1, 2, 3, 4, 5], [1, 3, 2, 5, 4], 200, seed=1).value, 2)
    0.8
    """
    return rank_correlations(_pair(x, y), [(0, 1)], n_boot, seed)[0]


def rank_correlations(
    values: Sequence[Floats], pairs: Sequence[tuple[int, int]], n_boot: int, seed: int
) -> list[Estimate]:
    """Return the same of many pairs of measures of the same respondents; each resample is ranked once a measure.

    Parameters
    ----------
    values
        The values of each measure, ``(respondents,)``, finite.
    pairs
        Which two to correlate, by their place in ``values``.
    n_boot, seed
        Resamples of respondents, the same for all pairs.

    Examples
    --------
    >>> measures = [np.arange(5.0), np.array([0.0, 2, 1, 4, 3]), np.arange(5.0) ** 2]
    >>> [round(each.value, 2) for each in rank_correlations(measures, [(0, 1), (0, 2)], 200, seed=1)]
    [0.8, 1.0]
    """
    values = _measures(values)

    def of_rows(rows: Ints) -> Callable[[int], RankedDraws]:
        often = resampling.occurrences(rows).T.copy()
        return lambda place: ranked_draws(values[place], often)

    def between(one: RankedDraws, other: RankedDraws) -> Floats:
        return np.where(one.varied & other.varied, rho_of_draws(one, other), np.nan)

    method = "spearman, bootstrap of respondents"
    return _of_pairs(values, pairs, n_boot, seed, method, of_rows, between)


def reliability(values: ArrayLike, errors: ArrayLike) -> float | None:
    """Return the reliability, 0..1, of ``values`` with standard ``errors``, each ``(respondents,)``.

    None where the values do not differ.

    >>> round(reliability([0.1, 0.3, 0.5, 0.7], [0.1, 0.1, 0.1, 0.1]), 2)
    0.85
    """
    first, noise = _pair(values, errors)
    spread = float(first.var(ddof=1)) if len(first) > 1 else 0.0
    if not spread > 0:
        return None
    return float(np.clip(1 - np.mean(noise**2) / spread, 0.0, 1.0))


def disattenuated(
    x: ArrayLike, y: ArrayLike, error_x: ArrayLike, error_y: ArrayLike, n_boot: int, seed: int
) -> Estimate:
    """Return the correlation of ``x`` and ``y`` corrected for their standard errors, cut to -1..1.

    Each resample of respondents is corrected by its own reliabilities; one without reliability gives no number.

    Parameters
    ----------
    error_x, error_y
        Standard errors of ``x`` and ``y``, shapes ``(respondents,)``, 0 or more.
    n_boot
        How many resamples of respondents.
    seed
        Of the resamples: the same seed, the same numbers.

    Examples
    --------
    >>> noise = [0.1] * 5
    >>> round(disattenuated([0.1, 0.3, 0.4, 0.7, 0.9], [0.2, 0.1, 0.5, 0.6, 0.7], noise, noise, 200, seed=1).value, 2)
    1.0
    """
    first, second = _pair(x, y)
    noise_x, noise_y = _pair(error_x, error_y)
    return disattenuated_each((first, second), (noise_x, noise_y), [(0, 1)], n_boot, seed)[0]


def disattenuated_each(
    values: Sequence[Floats],
    errors: Sequence[Floats],
    pairs: Sequence[tuple[int, int]],
    n_boot: int,
    seed: int,
) -> list[Estimate]:
    """Return the same of many pairs of measures of the same respondents.

    Parameters
    ----------
    values, errors
        The values of each measure and their standard errors, ``(respondents,)`` each, finite.
    pairs, n_boot, seed
        As `rank_correlations` takes them.

    Examples
    --------
    >>> measures, errors = [np.arange(5.0), np.array([0.0, 2, 1, 4, 3])], [np.full(5, 0.5)] * 2
    >>> [round(each.value, 2) for each in disattenuated_each(measures, errors, [(0, 1)], 200, seed=1)]
    [0.89]
    """
    values, errors = _measures(values), _measures(errors)
    same_length(values=values[0], errors=errors[0])

    def of_one(place: int, rows: Ints) -> _Centred:
        drawn = values[place][rows]
        centred = drawn - drawn.mean(axis=1, keepdims=True)
        squares = (centred**2).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = 1 - (errors[place] ** 2)[rows].mean(axis=1) / (squares / (rows.shape[1] - 1))
        return _Centred(centred, squares, share)

    def of_rows(rows: Ints) -> Callable[[int], _Centred]:
        return lambda place: of_one(place, rows)

    method = "pearson, disattenuated, bootstrap of respondents"
    return _of_pairs(values, pairs, n_boot, seed, method, of_rows, _corrected)


@dataclass(frozen=True, slots=True, eq=False)
class _Centred:
    """Values less their mean, their sum of squares, and the share of their variance that is no noise, row by row."""

    values: Floats
    squares: Floats
    share: Floats


def _corrected(one: _Centred, other: _Centred) -> Floats:
    """Return the corrected correlation of each row; NaN where there is none."""
    size = np.sqrt(one.squares * other.squares)
    product = (one.values * other.values).sum(axis=1)
    found = np.divide(product, size, out=np.full(len(product), np.nan), where=size > 1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        corrected = found / np.sqrt(one.share * other.share)
    usable = (one.share > 0) & (other.share > 0) & np.isfinite(corrected)
    return np.where(usable, np.clip(corrected, -1.0, 1.0), np.nan)


def _of_pairs(
    values: Sequence[Floats],
    pairs: Sequence[tuple[int, int]],
    n_boot: int,
    seed: int,
    method: str,
    of_rows: Callable[[Ints], Callable[[int], Made]],
    between: Callable[[Made, Made], Floats],
) -> list[Estimate]:
    """Return a correlation of each pair: what ``of_rows`` returns is called once a measure, of all and of resamples."""
    n = len(values[0]) if values else 0
    why = {pair: _why_not(values[pair[0]], values[pair[1]]) for pair in pairs}
    live = [pair for pair in dict.fromkeys(pairs) if why[pair] is None]
    used = sorted({place for pair in live for place in pair})

    def of_all(rows: Ints) -> Floats:
        made = dict(zip(used, map(of_rows(rows), used), strict=True))
        return np.array([between(made[one], made[other]) for one, other in live]).reshape(
            len(live), len(rows)
        )

    value = dict(zip(live, of_all(np.arange(n)[None])[:, 0].tolist(), strict=True))
    why |= {pair: UNRELIABLE for pair, each in value.items() if not np.isfinite(each)}
    drawn = dict(zip(live, _resampled(of_all, n, n_boot, seed) if live else (), strict=True))
    status = OK if n >= ENOUGH else f"few respondents: {n}"
    return [
        unavailable(n, method, told)
        if (told := why[pair]) is not None
        else resampling.from_draws(value[pair], drawn[pair], n, method, status)
        for pair in pairs
    ]


def _resampled(of_all: Callable[[Ints], Floats], n: int, n_boot: int, seed: int) -> Floats:
    """Return what resamples of ``n`` respondents give, ``(pairs, n_boot)``, some hundred resamples at once."""
    rows, ends = resampling.indices(n, n_boot, seed), np.cumsum([*blocks(n_boot, n, _CACHED)])
    return np.concatenate([of_all(each) for each in np.split(rows, ends[:-1])], axis=1)


def _why_not(first: Floats, second: Floats) -> str | None:
    if len(first) < LEAST:
        return f"too few respondents: {len(first)}, at least {LEAST} needed"
    return CONSTANT if np.ptp(first) < 1e-12 or np.ptp(second) < 1e-12 else None


def _measures(values: Sequence[ArrayLike]) -> list[Floats]:
    """Return measures of the same respondents as finite numbers."""
    found = [floats("values", each) for each in values]
    same_length(**{f"measure {place}": each for place, each in enumerate(found)})
    return found


def _pair(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    first, second = floats("x", x), floats("y", y)
    same_length(x=first, y=second)
    return first, second
