"""Do two measures order the same respondents alike, and how far is noise to blame where they do not?

Spearman's rank correlation with a percentile interval over resampled respondents, and Pearson's correlation corrected
for attenuation (Spearman 1904, *American Journal of Psychology* 15): r / sqrt(reliability_x reliability_y), the
reliability of a measure being the share of its variance between respondents that is not the mean squared standard error
of its values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats, Ints, floats, same_length
from metacog_pipeline.stats.estimate import OK, Estimate, unavailable
from metacog_pipeline.stats.ranks import average_ranks

LEAST = 4  # respondents without which no correlation is given
ENOUGH = 10  # respondents from which on its interval is worth reading
CONSTANT = "one measure is the same for all"
UNRELIABLE = "no reliability: the spread between respondents is no larger than the noise"


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """One measure in each resample: values less their mean, sum of squares, share of variance that is no noise."""

    centred: Floats
    squares: Floats
    share: Floats | float = 1.0


def rank_correlations(
    values: Sequence[Floats], pairs: Sequence[tuple[int, int]], n_boot: int, seed: int
) -> list[Estimate]:
    """Return Spearman's correlation of ``pairs`` of ``values``, measures of the same respondents ``(respondents,)`` each.

    Pairs are places in ``values``. The interval is of ``n_boot`` resamples of respondents, the same for all pairs, by
    ``seed``. The status warns of fewer than ten respondents; below four there is no value.

    >>> measures = [np.arange(5.0), np.array([0.0, 2, 1, 4, 3]), np.arange(5.0) ** 2]
    >>> [round(each.value, 2) for each in rank_correlations(measures, [(0, 1), (0, 2)], 200, seed=1)]
    [0.8, 1.0]
    """
    values = _measures(values)

    def ranked(place: int, rows: Ints) -> _Drawn:
        centred = average_ranks(values[place][rows]) - (rows.shape[1] + 1) / 2
        return _Drawn(centred, (centred**2).sum(axis=1))

    return _of_pairs(values, pairs, n_boot, seed, "spearman, bootstrap of respondents", ranked)


def reliability(values: ArrayLike, errors: ArrayLike) -> float | None:
    """Return the reliability, 0..1, of ``values`` with standard ``errors``, each ``(respondents,)``.

    None where the values do not differ.

    >>> round(reliability([0.1, 0.3, 0.5, 0.7], [0.1, 0.1, 0.1, 0.1]), 2)
    0.85
    """
    first, noise = _measures((values, errors))
    spread = float(first.var(ddof=1)) if len(first) > 1 else 0.0
    if not spread > 0:
        return None
    return float(np.clip(1 - np.mean(noise**2) / spread, 0.0, 1.0))


def disattenuated_each(
    values: Sequence[Floats],
    errors: Sequence[Floats],
    pairs: Sequence[tuple[int, int]],
    n_boot: int,
    seed: int,
) -> list[Estimate]:
    """Return Pearson's correlation corrected for the noise of both measures, cut to -1..1, of many pairs.

    Each resample of respondents is corrected by its own reliabilities; one without reliability gives no number.
    ``errors`` are the standard errors of ``values``; pairs, n_boot and seed are as in `rank_correlations`.

    >>> measures, errors = [np.arange(5.0), np.array([0.0, 2, 1, 4, 3])], [np.full(5, 0.5)] * 2
    >>> [round(each.value, 2) for each in disattenuated_each(measures, errors, [(0, 1)], 200, seed=1)]
    [0.89]
    """
    values, errors = _measures(values), _measures(errors)
    same_length(values=values[0], errors=errors[0])

    def corrected(place: int, rows: Ints) -> _Drawn:
        drawn = values[place][rows]
        centred = drawn - drawn.mean(axis=1, keepdims=True)
        squares = (centred**2).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = 1 - (errors[place] ** 2)[rows].mean(axis=1) / (squares / (rows.shape[1] - 1))
        return _Drawn(centred, squares, share)

    method = "pearson, disattenuated, bootstrap of respondents"
    return _of_pairs(values, pairs, n_boot, seed, method, corrected)


def _correlated(one: _Drawn, other: _Drawn) -> Floats:
    """Return the correlation of each resample; NaN where there is none."""
    size = np.sqrt(one.squares * other.squares)
    product = (one.centred * other.centred).sum(axis=1)
    found = np.divide(product, size, out=np.full(len(product), np.nan), where=size > 1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = found / np.sqrt(one.share * other.share)
    usable = (one.share > 0) & (other.share > 0) & np.isfinite(found)
    return np.where(usable, np.clip(found, -1.0, 1.0), np.nan)


def _of_pairs(
    values: Sequence[Floats],
    pairs: Sequence[tuple[int, int]],
    n_boot: int,
    seed: int,
    method: str,
    drawn: Callable[[int, Ints], _Drawn],
) -> list[Estimate]:
    """Return a correlation of each pair; ``drawn`` is called once for a measure and a block of resamples."""
    n = len(values[0]) if values else 0
    why = {pair: _why_not(values[pair[0]], values[pair[1]]) for pair in pairs}
    live = [pair for pair in dict.fromkeys(pairs) if why[pair] is None]
    used = sorted({place for pair in live for place in pair})

    def of_rows(rows: Ints) -> list[Floats]:
        made = {place: drawn(place, rows) for place in used}
        return [_correlated(made[one], made[other]) for one, other in live]

    found: dict[tuple[int, int], tuple[float, Floats]] = {}
    if live:
        rows = resampling.indices(n, n_boot, seed)
        alone = [float(each[0]) for each in of_rows(np.arange(n)[None])]
        found = dict(zip(live, zip(alone, of_rows(rows), strict=True), strict=True))
        why |= {pair: UNRELIABLE for pair, (value, _) in found.items() if not np.isfinite(value)}
    status = OK if n >= ENOUGH else f"few respondents: {n}"
    return [
        unavailable(n, method, reason)
        if (reason := why[pair]) is not None
        else resampling.from_draws(found[pair][0], found[pair][1], n, method, status)
        for pair in pairs
    ]


def _why_not(first: Floats, second: Floats) -> str | None:
    if len(first) < LEAST:
        return f"too few respondents: {len(first)}, at least {LEAST} needed"
    return CONSTANT if np.ptp(first) < 1e-12 or np.ptp(second) < 1e-12 else None


def _measures(values: Sequence[ArrayLike]) -> list[Floats]:
    """Return measures of the same respondents as finite numbers."""
    found = [floats("values", each) for each in values]
    same_length(**{f"measure {place}": each for place, each in enumerate(found)})
    return found
