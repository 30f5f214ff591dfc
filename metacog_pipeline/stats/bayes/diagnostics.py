"""Whether chains have converged, how many independent draws they are worth, and summaries of draws by name.

Statistics take draws of shape ``(chains, draws, parameters)`` and return one number per parameter, NaN where there is
none: a parameter that never moves, a draw that is not finite, or fewer than four draws a chain. NaN passes no threshold.

Source: Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021), *Bayesian Analysis* 16: R̂ from rank-normalised split
chains and from folded ones (section 4), bulk and tail effective sample sizes, Monte Carlo errors; the sum of
autocorrelations ends at Geyer's (1992, *Statistical Science* 7) initial monotone sequence of paired lags.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import betaincinv, ndtr, ndtri

from metacog_pipeline.stats._arrays import Floats, mean_ranks
from metacog_pipeline.stats.decisions import hdi

Draws = Mapping[str, Floats]

LEAST_DRAWS = 4
TAILS = (0.05, 0.95)
NO_D = 1e-4  # stands in for a d′ of exactly 0 under a ratio, as in HMeta-d
QUANTILES = (0.025, 0.5, 0.975)
SUFFIXES = ("", "_rs1", "_rs2")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """How far one parameter can be trusted: R̂ (the larger of both kinds), effective sample sizes."""

    rhat: float
    ess_bulk: float
    ess_tail: float


@dataclass(frozen=True, slots=True)
class Summary:
    """The posterior of one parameter, in its unit."""

    mean: float
    sd: float
    median: float
    q025: float
    q975: float
    hdi_low: float
    hdi_high: float
    mcse_mean: float
    mcse_q025: float
    mcse_q975: float
    rhat: float
    ess_bulk: float
    ess_tail: float


def with_ratios(parameters: Draws) -> dict[str, Floats]:
    """Return the parameters with, for each ``meta_d…``, ``m_ratio…`` = meta-d / d₁ and ``m_diff…`` = meta-d - d₁.

    Draw by draw; a d₁ of exactly 0 counts as 1e-4 under the ratio.
    """
    result, d1 = dict(parameters), parameters["d1"]
    for suffix in SUFFIXES:
        meta = parameters.get(f"meta_d{suffix}")
        if meta is not None:
            result[f"m_ratio{suffix}"] = meta / np.where(d1 == 0, NO_D, d1)
            result[f"m_diff{suffix}"] = meta - d1
    return result


def columns(draws: Draws) -> Iterator[tuple[list[str], Floats]]:
    """Yield the names of a parameter's elements, ``name[1]`` or ``name[3,2]``, and their draws ``(chains, draws, n)``."""
    for name, values in draws.items():
        places = np.ndindex(values.shape[2:])
        names = [name + (f"[{','.join(str(i + 1) for i in at)}]" if at else "") for at in places]
        yield names, values.reshape(*values.shape[:2], -1)


def diagnose(draws: Draws) -> dict[str, Diagnostic]:
    """Return the diagnostics of every scalar parameter, one parameter's elements at a time: all would not fit in memory."""
    found: dict[str, Diagnostic] = {}
    for names, table in columns(draws):
        rows = np.stack(of_each(table), axis=1)
        found |= {name: Diagnostic(*map(float, row)) for name, row in zip(names, rows, strict=True)}
    return found


def summarise(draws: Draws, known: Mapping[str, Diagnostic]) -> dict[str, Summary]:
    """Return the summary of every scalar parameter, given their diagnostics."""
    found: dict[str, Summary] = {}
    for names, table in columns(draws):
        flat = table.reshape(-1, len(names))
        mean, sd = flat.mean(axis=0), flat.std(axis=0, ddof=1)
        low, median, high = np.quantile(flat, QUANTILES, axis=0)
        shortest = np.array([hdi(column) for column in flat.T]).T
        errors = [mcse_mean(table), *(mcse_quantile(table, p) for p in (QUANTILES[0], QUANTILES[-1]))]
        trust = np.array([[known[name].rhat, known[name].ess_bulk, known[name].ess_tail] for name in names]).T
        rows = np.stack([mean, sd, median, low, high, *shortest, *errors, *trust], axis=1)
        found |= {name: Summary(*map(float, row)) for name, row in zip(names, rows, strict=True)}
    return found


def of_each(draws: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return R̂, bulk and tail effective numbers of draws.

    R̂ is the larger one of the draws and of their distances to the median: the second sees chains that agree in location
    and differ in spread. Bulk is of the split chains' normal scores, tail the smaller one of the 5 % and 95 % quantiles.
    """
    table = _table(draws)
    scores = _normal_scores(_split(table))
    folded = _normal_scores(_split(np.abs(table - np.median(table, axis=(0, 1)))))
    tails = [_ess_quantile(table, probability) for probability in TAILS]
    largest = np.maximum(*(_of_moving(_rhat, each) for each in (scores, folded)))
    return largest, _of_moving(_ess, scores), np.minimum(*tails)


def _ess_quantile(table: Floats, probability: float) -> Floats:
    """Return the effective number of draws for one quantile, of the indicator that a draw lies below it."""
    below = (table <= np.quantile(table, probability, axis=(0, 1))).astype(np.float64)
    below[:, :, ~np.isfinite(table).all(axis=(0, 1))] = np.nan
    return _of_moving(_ess, _split(below))


def mcse_mean(draws: ArrayLike) -> Floats:
    """Return the Monte Carlo standard error of the mean, in the unit of the parameter."""
    table = _table(draws)
    result: Floats = table.std(axis=(0, 1), ddof=1) / np.sqrt(_of_moving(_ess, _split(table)))
    return result


def mcse_quantile(draws: ArrayLike, probability: float) -> Floats:
    """Return the Monte Carlo standard error of a quantile: half the width between the order statistics that
    bracket it by one standard error, where the count below the quantile is Beta given the effective sample size.
    """
    table = _table(draws)
    effective = _ess_quantile(table, probability)
    known = np.isfinite(effective)
    safe = np.where(known, effective, 1.0)
    ends = [
        betaincinv(safe * probability + 1, safe * (1 - probability) + 1, float(ndtr(side)))
        for side in (-1, 1)
    ]
    total = table.shape[0] * table.shape[1]
    ordered = np.sort(table.reshape(total, -1), axis=0)
    low, high = (np.clip(np.rint(end * (total - 1)).astype(np.int64), 0, total - 1) for end in ends)
    columns = np.arange(ordered.shape[1])
    error: Floats = np.where(known, (ordered[high, columns] - ordered[low, columns]) / 2, np.nan)
    return error


def _table(draws: ArrayLike) -> Floats:
    table = np.asarray(draws, dtype=np.float64)
    if table.ndim != 3:
        raise ValueError(f"draws have shape {table.shape}: (chains, draws, parameters) is needed")
    if table.shape[0] < 1 or table.shape[1] < 1:
        raise ValueError(f"draws have shape {table.shape}: there is no draw")
    return table


def _split(table: Floats) -> Floats:
    """Return the halves of every chain as chains; of an odd number of draws the middle one is left out."""
    half = table.shape[1] // 2
    return np.concatenate([table[:, :half], table[:, table.shape[1] - half :]], axis=0)


def _normal_scores(table: Floats) -> Floats:
    """Return the normal quantiles of the ranks over all chains; ties share their mean rank (Blom's offset)."""
    flat = table.reshape(-1, table.shape[2])
    n = len(flat)
    scores = np.full(flat.shape, np.nan)
    finite = np.isfinite(flat).all(axis=0)
    scores[:, finite] = ndtri((mean_ranks(flat[:, finite].T).T - 0.375) / (n + 0.25))
    return scores.reshape(table.shape)


def _moving(chains: Floats) -> NDArray[np.bool_]:
    """Return which parameters are finite and differ at all; there must be draws enough to say so."""
    if chains.shape[1] * 2 < LEAST_DRAWS:
        return np.zeros(chains.shape[2], dtype=np.bool_)
    with np.errstate(invalid="ignore"):
        spread = chains.max(axis=(0, 1)) - chains.min(axis=(0, 1))
    moves: NDArray[np.bool_] = np.isfinite(spread) & (spread > 0)
    return moves


def _of_moving(measure: Callable[[Floats], Floats], chains: Floats) -> Floats:
    """Return the measure of each parameter that moves, NaN for the others."""
    result, moves = np.full(chains.shape[2], np.nan), _moving(chains)
    if moves.any():
        result[moves] = measure(chains[:, :, moves])
    return result


def _rhat(chains: Floats) -> Floats:
    n = chains.shape[1]
    within, between = chains.var(axis=1, ddof=1).mean(axis=0), chains.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore"):  # chains that never leave different places: infinite
        return np.asarray(np.sqrt((n - 1) / n + between / within))


def _ess(chains: Floats) -> Floats:
    m, n, _ = chains.shape
    centred = chains - chains.mean(axis=1, keepdims=True)
    covariance = _autocovariance(centred)
    within = covariance[0] * n / (n - 1)
    total = within * (n - 1) / n + chains.mean(axis=1).var(axis=0, ddof=1)
    correlation = 1 - (within - covariance * n / (n - 1)) / total
    correlation[0] = 1
    pairs = correlation[: n // 2 * 2].reshape(n // 2, 2, -1).sum(axis=1)
    # Geyer: pairs of lags count while positive, and are made to fall.
    kept = np.logical_and.accumulate(pairs > 0, axis=0)
    falling = np.minimum.accumulate(np.where(kept, pairs, 0.0), axis=0)
    time = 2 * falling.sum(axis=0) - 1
    draws = m * n
    # Antithetic chains can be worth more than their length; the bound keeps a short run from claiming too much.
    effective: Floats = draws / np.maximum(time, 1 / max(np.log10(draws), 1.0))
    return effective


def _autocovariance(centred: Floats) -> Floats:
    """Return the autocovariance at lags 0..n-1, averaged over chains (divisor n), shape ``(n, parameters)``."""
    m, n, _ = centred.shape
    length = next_fast_len(2 * n, real=True)
    spectrum = rfft(centred, length, axis=1)
    power = (spectrum.real**2 + spectrum.imag**2).sum(axis=0)
    covariance: Floats = irfft(power, length, axis=0)[:n] / (n * m)
    return covariance
