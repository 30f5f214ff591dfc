"""Criterion shifts between two conditions that were answered on the same items: the paired test.

Two conditions that share their items share what makes an item easy, so their rates are correlated and the test for
independent samples is wrong: too cautious as a rule. Published counts do not keep which item got which answers, so the
published analysis could not do this; it needs the joint table of stimulus × response under either condition.

With p₁, p₂ the rates of saying S2 to one stimulus class under either condition and p₁₂ the share of items of that class
answered S2 under both, Cov(p̂₁, p̂₂) = (p₁₂ - p₁p₂)/n, carried to the scale of z by 1/(φ(z₁)φ(z₂)). The classes are
independent, so with D = Δz(H), E = Δz(F), each of variance v₁ + v₂ - 2·cov:

    Var Δd′ = Var D + Var E        Var Δc = (Var D + Var E)/4
    Var Δc′ = Σ over the four z of gradient² · v, minus twice the products of gradients · cov

Rates: delta method as in Gourevitch & Galanter (1967), *Psychometrika* 32; matched proportions: McNemar (1947).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats, Ints, whole
from metacog_pipeline.stats.decisions.shifts import Contrasts, contrasts

CORRECTIONS = ("none", "loglinear", "half")
FEWEST_USABLE = 0.5  # an interval of resamples needs at least this share of them to have a number
_DENSITY = 1.0 / np.sqrt(2.0 * np.pi)


@dataclass(frozen=True, slots=True)
class SharedTrials:
    """Items answered under both conditions of each pair.

    Attributes
    ----------
    table
        Shape ``(pairs, 2, 2, 2)``: number of items by stimulus (0 = S1), response under the first condition, response
        under the second.
    dropped
        Shape ``(pairs,)``: rows left out because stimulus or a response is missing or not 0 or 1.
    """

    table: Floats
    dropped: Ints


@dataclass(frozen=True, slots=True)
class PairedShifts:
    """Differences second - first on shared items, one row per pair.

    Attributes
    ----------
    c, d, c_prime
        Tests by the delta method with the covariance of the conditions; each its own family.
    correlation_hits, correlation_false_alarms
        Shape ``(pairs,)``: correlation over items of the answers under the two conditions, per stimulus class, -1..1;
        NaN where one condition always got the same answer. At 0 the paired test is the independent one.
    boot_low, boot_high, boot_se
        Shape ``(pairs, 3)`` for c, d, c′: percentile interval at ``level`` and standard deviation over resampled items;
        NaN where more than half of the resamples have no number, or none were asked for.
    boot_usable
        Shape ``(pairs, 3)``: resamples with a number.
    n
        Shape ``(pairs,)``: shared items.
    """

    c: Contrasts
    d: Contrasts
    c_prime: Contrasts
    correlation_hits: Floats
    correlation_false_alarms: Floats
    boot_low: Floats
    boot_high: Floats
    boot_se: Floats
    boot_usable: Ints
    n: Floats
    dropped: Ints
    correction: str


def shared_trials(
    stimulus: ArrayLike, first: ArrayLike, second: ArrayLike, groups: ArrayLike | None = None, pairs: int = 1
) -> SharedTrials:
    """Cross-tabulate items by stimulus and the responses under two conditions.

    Parameters
    ----------
    stimulus, first, second
        Shape ``(items,)``: 0 or 1, one row per item; anything else (NaN, -1, …) is missing and counted as dropped.
        Items must be independent of each other: an item that was asked several times gives one row.
    groups, pairs
        Which pair of conditions each row belongs to, 0 .. pairs - 1; all to pair 0 by default.

    Raises
    ------
    ValueError
        For unequal lengths, values that are no numbers, or a group out of range.
    """
    columns = [_column(name, v) for name, v in (("stimulus", stimulus), ("first", first), ("second", second))]
    if len({len(column) for column in columns}) > 1:
        raise ValueError("lengths differ: " + ", ".join(str(len(column)) for column in columns))
    pairs = whole("pairs", pairs, 1)
    group = np.zeros(len(columns[0])) if groups is None else _column("groups", groups)
    if len(group) != len(columns[0]) or not bool(np.isin(group, np.arange(pairs)).all()):
        raise ValueError(f"groups needs one whole number from 0 to {pairs - 1} per item")
    known = np.logical_and.reduce([(column == 0) | (column == 1) for column in columns])
    s, r1, r2 = (np.where(known, column, 0).astype(np.int64) for column in columns)
    at = group.astype(np.int64)
    code = ((at * 2 + s) * 2 + r1) * 2 + r2
    table = np.bincount(code[known], minlength=8 * pairs).reshape(pairs, 2, 2, 2)
    return SharedTrials(table.astype(np.float64), np.bincount(at[~known], minlength=pairs))


def paired_shift(
    shared: SharedTrials | ArrayLike,
    *,
    correction: str = "none",
    family_size: int | None = None,
    rope: float = 0.1,
    adjust: bool = True,
    level: float = 0.95,
    n_boot: int = 0,
    seed: int = 0,
) -> PairedShifts:
    """Test shifts of c, d′ and c′ between two conditions on the same items.

    Parameters
    ----------
    shared
        From :func:`shared_trials`, or counts of shape ``(2, 2, 2)`` or ``(pairs, 2, 2, 2)``.
    correction
        Of rates of 0 and 1: ``none`` (such pairs get a status), ``loglinear`` (half an item more per answer, one per
        class), ``half`` (such rates alone are moved to 1/(2n) and 1 - 1/(2n)).
    family_size, rope, adjust, level
        As in :func:`metacog_pipeline.stats.decisions.criterion_shift`.
    n_boot, seed
        Resamples of items for the percentile intervals (0 for none; 10,000 is a good choice), and their seed.

    Raises
    ------
    ValueError
        For a table of another shape, counts that are negative or not finite, or an unknown correction.
    """
    given = shared if isinstance(shared, SharedTrials) else _given(shared)
    if correction not in CORRECTIONS:
        raise ValueError(f"correction is {correction!r}: one of {', '.join(CORRECTIONS)}")
    n_boot = whole("n_boot", n_boot)
    table = given.table
    with np.errstate(divide="ignore", invalid="ignore"):  # extreme rates end as rows with a status
        z, variance, covariance = _on_the_z_scale(table, correction)
        values = _measures(z)
        differences = values[:, 1] - values[:, 0]
        errors = [np.sqrt(_variance(gradient(z), variance, covariance)) for gradient in _GRADIENTS]
        correlation = _correlation(table)
    index = np.arange(len(table), dtype=np.int64)
    size = max(len(table), 1) if family_size is None else family_size
    found: list[Contrasts] = []
    for k, name in enumerate(("c", "d", "c_prime")):
        found.append(
            contrasts(
                name,
                index,
                index,
                differences[:, k],
                errors[k],
                family_size=size,
                rope=rope,
                adjust=adjust,
                level=level,
                examined=found[1].test.significant if k == 2 else None,
            )
        )
    low, high, spread, usable = _bootstrap(table, correction, level, n_boot, seed)
    c, d, c_prime = found
    return PairedShifts(
        c, d, c_prime, correlation[:, 1], correlation[:, 0], low, high, spread, usable,
        table.sum(axis=(1, 2, 3)), given.dropped, correction,
    )  # fmt: skip


def _on_the_z_scale(table: Floats, correction: str) -> tuple[Floats, Floats, Floats]:
    """Return z (pairs, stimulus, condition), its variance, and the covariance of the conditions (pairs, stimulus)."""
    # A quarter per cell is half per answer of either condition: the log-linear correction of both margins.
    used = table + 0.25 if correction == "loglinear" else table
    n = used.sum(axis=(2, 3))[..., None]
    said = np.stack([used[:, :, 1, :].sum(axis=2), used[:, :, :, 1].sum(axis=2)], axis=2)
    rate = said / n
    if correction == "half":
        rate = np.where(rate == 0, 0.5 / n, np.where(rate == 1, 1 - 0.5 / n, rate))
    # A correction gives an empty class a rate; it is no measurement.
    z = np.where(table.sum(axis=(2, 3))[..., None] > 0, ndtri(rate), np.nan)
    density = _DENSITY * np.exp(-(z**2) / 2)
    variance = rate * (1 - rate) / (n * density**2)
    both = used[:, :, 1, 1] / n[..., 0]
    raw = said / n
    joint = (both - raw[..., 0] * raw[..., 1]) / n[..., 0]
    return z, variance, joint / (density[..., 0] * density[..., 1])


def _measures(z: Floats) -> Floats:
    """Return c, d′, c′ on a last axis, from z (…, stimulus, condition): shape (…, condition, 3)."""
    false_alarm, hit = z[..., 0, :], z[..., 1, :]
    d, c = hit - false_alarm, -(hit + false_alarm) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack([c, d, np.where(d == 0, np.nan, c / d)], axis=-1)


def _gradient_c(z: Floats) -> Floats:
    return np.full(z.shape, -0.5)


def _gradient_d(z: Floats) -> Floats:
    return np.broadcast_to(np.array([-1.0, 1.0])[:, None], z.shape)


def _gradient_c_prime(z: Floats) -> Floats:
    d2 = (z[:, 1] - z[:, 0]) ** 2
    return np.stack([-z[:, 1] / d2, z[:, 0] / d2], axis=1)


_GRADIENTS: tuple[Callable[[Floats], Floats], ...] = (_gradient_c, _gradient_d, _gradient_c_prime)


def _variance(gradient: Floats, variance: Floats, covariance: Floats) -> Floats:
    """Return the variance of second - first, given the gradient of the measure at z (pairs, stimulus, condition)."""
    own = (gradient**2 * variance).sum(axis=(1, 2))
    shared = (gradient[..., 0] * gradient[..., 1] * covariance).sum(axis=1)
    # Answers that agree on every item leave a difference without spread; rounding must not make it negative.
    total: Floats = np.where(own - 2 * shared < 1e-14 * own, 0.0, own - 2 * shared)
    return total


def _correlation(table: Floats) -> Floats:
    """Return the correlation over items of the two answers, shape (pairs, stimulus)."""
    n = table.sum(axis=(2, 3))
    one, two = table[:, :, 1, :].sum(axis=2) / n, table[:, :, :, 1].sum(axis=2) / n
    spread = np.sqrt(one * (1 - one) * two * (1 - two))
    return np.where(spread > 0, (table[:, :, 1, 1] / n - one * two) / spread, np.nan)


def _bootstrap(
    table: Floats, correction: str, level: float, n_boot: int, seed: int
) -> tuple[Floats, Floats, Floats, Ints]:
    """Return percentile ends, standard deviation (pairs, 3 measures) and the number of usable resamples."""
    pairs = len(table)
    low, high, spread = (np.full((pairs, 3), np.nan) for _ in range(3))
    usable = np.zeros((pairs, 3), dtype=np.int64)
    rng = resampling.generator(seed)
    tail = (1 - level) / 2
    for i in range(pairs if n_boot else 0):
        items = round(float(table[i].sum()))
        if not items:
            continue
        drawn = resampling.table(table[i].reshape(1, 8), n_boot, rng).reshape(n_boot, 2, 2, 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            values = _measures(_on_the_z_scale(drawn, correction)[0])
            delta = values[:, 1] - values[:, 0]
        good = np.isfinite(delta)
        usable[i] = good.sum(axis=0)
        for k in np.flatnonzero(usable[i] >= FEWEST_USABLE * n_boot):
            kept = delta[good[:, k], k]
            low[i, k], high[i, k] = np.quantile(kept, [tail, 1 - tail])
            spread[i, k] = kept.std()
    return low, high, spread, usable


def _given(table: ArrayLike) -> SharedTrials:
    array = np.asarray(table, dtype=np.float64)
    array = array[None] if array.ndim == 3 else array
    if array.ndim != 4 or array.shape[1:] != (2, 2, 2):
        raise ValueError(f"the table of shared trials has shape {array.shape}: (pairs, 2, 2, 2) is needed")
    if not bool((np.isfinite(array) & (array >= 0)).all()):
        raise ValueError("the table of shared trials holds a count that is negative or not finite")
    return SharedTrials(array, np.zeros(len(array), dtype=np.int64))


def _column(name: str, values: ArrayLike) -> Floats:
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} holds something that is no number: {error}") from None
    if column.ndim != 1:
        raise ValueError(f"{name} has shape {column.shape}: 1 dimension needed")
    return column
