"""The log likelihood of meta-d' with its gradient and Hessian, many cells at once.

For one row (see :mod:`problem`) with u_k = σ (e_k - κ m), Δ_k = Φ(u_{k+1}) - Φ(u_k) and total n::

    ℓ = Σ_k n_k log Δ_k - n log Φ(-u_0)

Everything inside Φ is linear in the edges and in m, so all derivatives are closed: with A = φ(lower) / Δ,
B = φ(upper) / Δ and the hazard λ = φ(u_0) / Φ(-u_0),

    ∂ℓ/∂u_k = n_{k-1} B_{k-1} - n_k A_k   (+ n λ at k = 0)          ∂²ℓ/∂u_k ∂u_{k+1} = n_k A_k B_k
    ∂²ℓ/∂u_k² = n_k (u_k A_k - A_k²) - n_{k-1} (u_k B_{k-1} + B_{k-1}²)   (+ n λ (λ - u_0) at k = 0)

Given m the Hessian in the edges is tridiagonal and negative definite, and the two sides do not meet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, ndtr

from metacog_pipeline.stats._arrays import Floats
from metacog_pipeline.stats.metad.problem import Mask, Problem

_DENSITY = 1 / math.sqrt(2 * math.pi)
# Below this width (times 1 + |u|) a difference of two tails loses digits that the midpoint rule keeps.
_NARROW = 1e-3
# Beyond this lower end, tails are scaled by the density at the end before they underflow.
_DEEP = 12.0
# Stands for a probability of 0: its square does not overflow when it is divided by.
_LEAST = 1e-140


@dataclass(slots=True)
class Evaluation:
    """Value and derivatives at one point per cell; e_k is the edge above rating k."""

    value: Floats  # (C,): log likelihood per trial
    gradient_x: Floats  # gradient_x, curvature_x: (C,): first and second derivative by x
    curvature_x: Floats
    # gradient_e, diagonal, mixed: (S, K - 1, C): first derivative by the edges, second, and mixed with x
    gradient_e: Floats
    diagonal: Floats
    mixed: Floats
    beside: Floats  # (S, K - 2, C): second derivatives by neighbouring edges
    # row_sum, row_curvature: (S, 2, C) and (S, 2, K, C): Σ_k ∂ℓ/∂u_k, and Σ_j ∂²ℓ/∂u_k ∂u_j, of each row: what
    # derivatives by other parameters are made from
    row_sum: Floats
    row_curvature: Floats
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
