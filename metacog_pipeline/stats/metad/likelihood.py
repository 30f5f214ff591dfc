"""The likelihood of meta-d' with its gradient and Hessian, many cells at once.

Seen from the type-1 criterion, and mirrored for response S1, both responses look alike: edges 0 = e_0 < e_1 < … <
e_{K-1} < e_K = ∞ in order of confidence, and two rows of counts (correct, wrong), each a normal distribution of mean
κ m and inverse standard deviation σ, cut off below 0. With θ = c / d the fixed relative criterion::

    response S1    correct (stimulus S1)  κ =  ½ + θ, σ = 1      wrong (S2)  κ = -½ + θ, σ = s
    response S2    correct (stimulus S2)  κ =  ½ - θ, σ = s      wrong (S1)  κ = -½ - θ, σ = 1

For one row with u_k = σ (e_k - κ m), Δ_k = Φ(u_{k+1}) - Φ(u_k) and total n, ℓ = Σ_k n_k log Δ_k - n log Φ(-u_0).
Everything inside Φ is linear in the edges and in m, so all derivatives are closed: with A = φ(lower) / Δ,
B = φ(upper) / Δ and the hazard λ = φ(u_0) / Φ(-u_0),

    ∂ℓ/∂u_k = n_{k-1} B_{k-1} - n_k A_k   (+ n λ at k = 0)          ∂²ℓ/∂u_k ∂u_{k+1} = n_k A_k B_k
    ∂²ℓ/∂u_k² = n_k (u_k A_k - A_k²) - n_{k-1} (u_k B_{k-1} + B_{k-1}²)   (+ n λ (λ - u_0) at k = 0)

Given m the Hessian in the edges is tridiagonal and negative definite, and the two sides do not meet. Axes of all arrays:
side, row, confidence, cell (the cell last, so that arithmetic runs along memory).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats.counts import Counts

Mask = NDArray[np.bool_]
# The reference procedure looks for meta-d' in -10 .. 10.
LARGEST_META_D = 10.0
# exp(230) = 1e100: a width beyond which no normal distribution has any mass.
UNUSED_LOG_WIDTH = 230.0
_DENSITY = 1 / math.sqrt(2 * math.pi)
# Below this width (times 1 + |u|) a difference of two tails loses digits that the midpoint rule keeps.
_NARROW = 1e-3
# Beyond this lower end, tails are scaled by the density at the end before they underflow.
_DEEP = 12.0
# Stands for a probability of 0: its square does not overflow when it is divided by.
_LEAST = 1e-140


@dataclass(frozen=True, slots=True)
class Problem:
    """Likelihoods of many cells."""

    counts: Floats  # (S, 2, K, C): share of the cell's trials by side, row and used rating, lowest first
    slope: Floats  # (S, 2, C): mean of each row per unit of x
    sigma: Floats  # (S, 2, C): its inverse standard deviation
    inactive: Mask  # (S, K, C): places at the end that no rating takes: the cell used fewer on this side
    # (C,): meta-d' = unit · x. It is 1, but for |c| > |d| it is |d / c|: as d goes to 0 the means stay regular
    unit: Floats
    total: Floats  # (S, 2, C): sums of counts over ratings
    pull: Floats  # (S, 2, C): slope times sigma

    @property
    def bound(self) -> Floats:
        """Largest |x|, ``(C,)``: that of |meta-d'| = 10."""
        return np.asarray(LARGEST_META_D / self.unit)

    def take(self, cells: Mask | Ints) -> Problem:
        """Return the problem of the chosen cells."""
        return Problem(*(getattr(self, name)[..., cells] for name in Problem.__slots__))

    def side(self, index: int) -> Problem:
        """Return the problem of one response side alone."""
        one = slice(index, index + 1)
        parts = {name: getattr(self, name)[one] for name in Problem.__slots__ if name != "unit"}
        return Problem(unit=self.unit, **parts)


@dataclass(frozen=True, slots=True)
class Collapsed:
    """Counts by side with the used ratings first."""

    counts: Floats  # (2, 2, K, C): side, row, rating, cell; unused ratings at the end, with zeros
    rank: Ints  # (2, K, C): number of used ratings up to and with each original rating

    @property
    def used(self) -> Ints:
        """Number of used ratings, ``(2, C)``."""
        return self.rank[:, -1]


def by_side(table: Counts) -> Floats:
    """Return the counts as ``(2, 2, K, C)``: side (S1, S2), row (correct, wrong), confidence 1 .. K, cell."""
    k = table.ratings
    n_s1, n_s2 = table.n_s1.T, table.n_s2.T
    return np.stack([np.stack([n_s1[:k][::-1], n_s2[:k][::-1]]), np.stack([n_s2[k:], n_s1[k:]])])


def collapse(counts: Floats) -> Collapsed:
    """Delete ratings that no trial of a side uses: any width given to them is wasted, so the maximum is at width 0."""
    used = counts.any(axis=1)
    rank: Ints = np.cumsum(used, axis=1, dtype=np.int64)
    if bool(used.all()):
        return Collapsed(counts, rank)
    order = np.argsort(~used, axis=1, kind="stable")
    return Collapsed(np.take_along_axis(counts, order[:, None], axis=2), rank)


def restore(edges: Floats, rank: Ints) -> Floats:
    """Return the K - 1 edges between all original ratings from those between the used ones, ``(S, K - 1, C)``."""
    sides, _, cells = edges.shape
    zero, far = np.zeros((sides, 1, cells)), np.full((sides, 1, cells), np.inf)
    ladder = np.concatenate([zero, edges, far], axis=1)
    # A deleted rating has width 0 (its edge is its inner neighbour's); outside the last used rating the edge is ∞.
    place = rank[:, :-1]
    found = np.take_along_axis(ladder, place, axis=1)
    return np.where(place == rank[:, -1:], np.inf, found)


def problem_of(collapsed: Collapsed, d: Floats, c: Floats, s: Floats) -> Problem:
    """Return the likelihoods of cells with finite type-1 sensitivity ``d`` (not 0) and criterion ``c``, all ``(C,)``."""
    unit = np.abs(d) / np.maximum(np.abs(d), np.abs(c))
    half = 0.5 * unit
    # unit · c / d is formed as c over the larger of |d| and |c|: no overflow however small d is.
    shift = np.sign(d) * c / np.maximum(np.abs(d), np.abs(c))
    one = np.ones_like(d)
    slope = np.stack([np.stack([half + shift, shift - half]), np.stack([half - shift, -half - shift])])
    sigma = np.stack([np.stack([one, s]), np.stack([s, one])])
    counts = collapsed.counts / collapsed.counts.sum(axis=(0, 1, 2))
    places = np.arange(counts.shape[2])[None, :, None]
    inactive = places >= np.maximum(collapsed.used, 1)[:, None]
    return Problem(counts, slope, sigma, inactive, unit, counts.sum(axis=2), slope * sigma)


@dataclass(slots=True)
class Evaluation:
    """Value and derivatives at one point per cell; e_k is the edge above rating k."""

    value: Floats  # (C,): log likelihood per trial
    gradient_x: Floats  # (C,): first and second derivative by x
    curvature_x: Floats
    gradient_e: Floats  # (S, K - 1, C): first derivative by the edges, second, and mixed with x
    diagonal: Floats
    mixed: Floats
    beside: Floats  # (S, K - 2, C): second derivatives by neighbouring edges
    row_sum: Floats  # (S, 2, C): Σ_k ∂ℓ/∂u_k of each row
    row_curvature: Floats  # (S, 2, K, C): Σ_j ∂²ℓ/∂u_k ∂u_j of each row
    width: Floats  # (S, K - 1, C): distances between edges


def evaluate(problem: Problem, x: Floats, log_width: Floats) -> Evaluation:
    """Return the likelihood at ``x`` ``(C,)`` and log distances between edges ``(S, K - 1, C)``."""
    n, sigma = problem.counts, problem.sigma
    sides, _, k, cells = n.shape
    u = np.empty((sides, 2, k, cells))
    np.negative(problem.slope * x, out=u[:, :, 0])
    width = np.exp(log_width)
    u[:, :, 1:] = u[:, :, :1] + np.cumsum(width, axis=1)[:, None]
    u *= sigma[:, :, None]
    share, density, survival = _probabilities(u, width, sigma, problem.inactive)
    total = problem.total
    np.maximum(survival, _LEAST, out=survival)
    value = np.einsum("srkc,srkc->c", n, np.log(share))
    value -= np.einsum("src,src->c", total, np.log(survival))

    inverse = 1 / share
    lower = density * inverse
    upper = density[:, :, 1:] * inverse[:, :, :-1]
    n_lower, n_upper = n * lower, n[:, :, :-1] * upper
    slope_u = np.negative(n_lower)
    slope_u[:, :, 1:] += n_upper
    second = u * slope_u
    n_lower *= lower
    second += n_lower
    np.negative(second, out=second)
    second[:, :, 1:] -= n_upper * upper
    between = n_upper * lower[:, :, :-1]
    hazard = density[:, :, 0] / survival
    pull = total * hazard
    slope_u[:, :, 0] += pull
    second[:, :, 0] += pull * (hazard - u[:, :, 0])
    return _collect(problem, value, slope_u, second, between, width)


def _probabilities(u: Floats, width: Floats, sigma: Floats, inactive: Mask) -> tuple[Floats, Floats, Floats]:
    """Return Δ_k, φ(u_k) and Φ(-u_0), of each row up to one factor common to the three."""
    deepest = float(u[:, :, 0].max(initial=0.0))
    half_square = u * u
    half_square *= -0.5
    if deepest > _DEEP:
        end = np.maximum(u[:, :, 0], 0)
        half_square += (0.5 * end * end)[:, :, None]
        density = np.exp(half_square)
        tail = erfcx(np.abs(u) * math.sqrt(0.5)) * density
        tail *= 0.5
    else:
        density = np.exp(half_square)
        tail = ndtr(np.copysign(u, -1.0))
    density *= _DENSITY
    # The nearer tail of every edge with the edge's sign: neighbours subtract, and an interval that holds 0 gains 1.
    signed = np.copysign(tail, u)
    below = np.signbit(signed)
    share = np.empty_like(u)
    np.subtract(signed[:, :, :-1], signed[:, :, 1:], out=share[:, :, :-1])
    share[:, :, :-1] += below[:, :, :-1] ^ below[:, :, 1:]
    survival = signed[:, :, 0] + below[:, :, 0]
    np.add(signed[:, :, -1], below[:, :, -1], out=share[:, :, -1])
    if width.size and float(width.min()) < _NARROW:
        _mend_narrow(share, u, width, sigma, deepest > _DEEP)
    if inactive.any():
        share += inactive[:, None]
    np.maximum(share, _LEAST, out=share)
    return share, density, survival


def _mend_narrow(share: Floats, u: Floats, width: Floats, sigma: Floats, scaled: bool) -> None:
    """Replace the probability of narrow intervals by the midpoint rule with its first correction."""
    across = width[:, None] * sigma[:, :, None]
    middle = u[:, :, :-1] + 0.5 * across
    narrow = across * (1 + np.abs(middle)) < _NARROW
    place = np.nonzero(narrow)
    across, middle = across[place], middle[place]
    exponent = -0.5 * middle * middle
    if scaled:
        end = np.maximum(u[place[0], place[1], 0, place[3]], 0)
        exponent += 0.5 * end * end
    curve = 1 + (middle * middle - 1) * across * across / 24
    share[place] = _DENSITY * np.exp(exponent) * across * curve


def _collect(
    problem: Problem, value: Floats, slope_u: Floats, second: Floats, between: Floats, width: Floats
) -> Evaluation:
    """Turn derivatives by u into derivatives by x and the edges (chain rule, rows added)."""
    sigma, pull = problem.sigma, problem.pull
    row_sum = slope_u.sum(axis=2)
    row_curvature = second.copy()
    row_curvature[:, :, :-1] += between
    row_curvature[:, :, 1:] += between
    square = sigma * sigma
    mixed = (sigma * pull)[:, :, None] * row_curvature[:, :, 1:]
    return Evaluation(
        value=value, gradient_x=-np.einsum("src,src->c", pull, row_sum),
        curvature_x=np.einsum("src,src->c", pull * pull, row_curvature.sum(axis=2)),
        gradient_e=np.einsum("src,srkc->skc", sigma, slope_u[:, :, 1:]),
        diagonal=np.einsum("src,srkc->skc", square, second[:, :, 1:]), mixed=-(mixed[:, 0] + mixed[:, 1]),
        beside=np.einsum("src,srkc->skc", square, between[:, :, 1:]), row_sum=row_sum,
        row_curvature=row_curvature, width=width,
    )  # fmt: skip
