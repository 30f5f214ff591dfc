"""Do two measures order the same respondents alike, and how far is noise to blame where they do not?

Spearman's rank correlation with a percentile interval over resampled respondents, and Pearson's correlation corrected
for attenuation (Spearman 1904, *American Journal of Psychology* 15): r / sqrt(reliability_x reliability_y), the
reliability of a measure being the share of its variance between respondents that is not the mean squared standard error
of its values.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats, floats, same_length
from metacog_pipeline.stats.estimate import OK, Estimate, unavailable
from metacog_pipeline.stats.ranks import guarded_rho

LEAST = 4  # respondents without which no correlation is given
ENOUGH = 10  # respondents from which on its interval is worth reading
CONSTANT = "one measure is the same for all"
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
    first, second = _pair(x, y)
    if (status := _why_not(first, second)) is not None:
        return unavailable(len(first), "spearman", status)
    value = float(guarded_rho(first[None], second[None])[0])
    drawn = resampling.indices(len(first), n_boot, seed)
    flat = (np.ptp(first[drawn], axis=1) == 0) | (np.ptp(second[drawn], axis=1) == 0)
    spread = np.where(flat, np.nan, guarded_rho(first[drawn], second[drawn]))
    return _with_interval(value, spread, len(first), "spearman, bootstrap of respondents")


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
    same_length(x=first, error_x=noise_x)
    method = "pearson, disattenuated, bootstrap of respondents"
    if (status := _why_not(first, second)) is not None:
        return unavailable(len(first), method, status)
    everybody = np.arange(len(first))[None]
    (value,) = _corrected(first, second, noise_x, noise_y, everybody)
    if not np.isfinite(value):
        return unavailable(len(first), method, UNRELIABLE)
    drawn = resampling.indices(len(first), n_boot, seed)
    return _with_interval(
        float(value), _corrected(first, second, noise_x, noise_y, drawn), len(first), method
    )


def _corrected(first: Floats, second: Floats, noise_x: Floats, noise_y: Floats, drawn: np.ndarray) -> Floats:
    found = _pearson(first[drawn], second[drawn])
    with np.errstate(divide="ignore", invalid="ignore"):
        share = [
            1 - (noise[drawn] ** 2).mean(axis=1) / values[drawn].var(axis=1, ddof=1)
            for values, noise in ((first, noise_x), (second, noise_y))
        ]
        corrected = found / np.sqrt(share[0] * share[1])
    usable = (share[0] > 0) & (share[1] > 0) & np.isfinite(corrected)
    return np.where(usable, np.clip(corrected, -1.0, 1.0), np.nan)


def _pearson(first: Floats, second: Floats) -> Floats:
    """Return the correlation of each row; NaN where one is constant."""
    a = first - first.mean(axis=1, keepdims=True)
    b = second - second.mean(axis=1, keepdims=True)
    size = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    found: Floats = np.divide((a * b).sum(axis=1), size, out=np.full(len(a), np.nan), where=size > 1e-12)
    return found


def _with_interval(value: float, spread: Floats, n: int, method: str) -> Estimate:
    status = OK if n >= ENOUGH else f"few respondents: {n}"
    return resampling.from_draws(value, spread, n, method, status)


def _why_not(first: Floats, second: Floats) -> str | None:
    if len(first) < LEAST:
        return f"too few respondents: {len(first)}, at least {LEAST} needed"
    return CONSTANT if np.ptp(first) < 1e-12 or np.ptp(second) < 1e-12 else None


def _pair(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    first, second = floats("x", x), floats("y", y)
    same_length(x=first, y=second)
    return first, second
