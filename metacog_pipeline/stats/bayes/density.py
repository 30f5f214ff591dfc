"""The posterior density of one subject's meta-d′, and its gradient, for many points at once.

The single-subject model of HMeta-d (Fleming 2017, *Neuroscience of Consciousness* 3; counts as in
:mod:`metacog_pipeline.stats.counts`, N(mean, variance))::

    c₁ ~ N(0, 1/2)      d₁ ~ N(0, 2)      meta-d | d₁ ~ N(d₁, 2)
    hits ~ Bin(N₂, Φ(d₁/2 - c₁))          false alarms ~ Bin(N₁, Φ(-d₁/2 - c₁))
    K-1 cuts below c₁ - Tol and K-1 above c₁ + Tol, each N(0, 1/2) truncated there and normalised, then sorted
    ratings given stimulus and response ~ multinomial: the normal N(∓meta-d/2, 1), cut at c₁ and at the cuts

Decisions, where the model's text leaves room:

- The truncated normals are normalised by the mass that the truncation leaves, which depends on c₁: so c₁ keeps its prior
  N(0, 1/2) when there are no data. A density without the mass would pull c₁ to the middle.
- Every rating probability is floored at Tol = 1e-5; then each row is divided by its sum, as a multinomial needs. Where no
  probability lies below Tol neither step does anything; in a row of n trials k floored empty ratings cost n k Tol.
- The type-1 criterion is absolute: c₁ cuts the ratings' normals too, whatever meta-d (maximum likelihood scales it).
- Fixed d′: d₁ and c₁ are the estimates from counts + 1/(2 K) a cell; the ratings are never padded.
- Response-conditional: two parameters meta-d, one a response, each ~ N(d₁, 2), each for the ratings of its response.

The density lives on unbounded coordinates: log distances, u₁ = log(first cut - c₁ - Tol), u_j = log(cut_j - cut_{j-1})
outwards, mirrored below c₁; Σu is their Jacobian. A rating nobody uses makes two cuts meet, there as a smooth tail
towards -∞ in which the other coordinates move freely. Counts may be fractions (the likelihood's continuous extension).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, ndtri

from metacog_pipeline.stats._arrays import Floats

TOL = 1e-5
ROOT_2 = np.sqrt(2.0)
HAZARD = np.sqrt(2 / np.pi)
FAR = 30.0  # beyond 30 sd the smaller tail is below 1e-196: nothing changes, and erfcx stays finite
SIGN = np.array([-1.0, 1.0])[:, None]  # of the evidence on the side of response S1, S2


@dataclass(frozen=True, slots=True)
class SubjectModel:
    """The density of one cell.

    The coordinates of a point are ``c₁, d₁`` (when estimated), one or two meta-d, K-1 log distances for response S1 from
    c₁ outwards, K-1 for response S2.
    """

    # (2, 2, K): trials by response (S1, S2), wrong stimulus last (correct, incorrect), and confidence 1 .. K
    ratings_given: Floats
    fixed: tuple[float, float] | None = None  # (d₁, c₁) where they are not estimated, else None
    conditional: bool = False  # whether meta-d is one parameter a response
    # least probability of a rating: Tol. A smaller one serves to look for the mode: where a probability is floored
    # the density is flat, and nothing shows the way out
    floor: float = TOL

    @property
    def ratings(self) -> int:
        """Number of confidence levels K."""
        return int(self.ratings_given.shape[2])

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return (0 if self.fixed else 2) + (2 if self.conditional else 1) + 2 * (self.ratings - 1)

    def __call__(self, points: Floats) -> tuple[Floats, Floats]:
        """Return log density (up to a constant), shape ``(points,)``, and gradient ``(points, dim)``.

        Points of shape ``(points, dim)``; far outside any mass the value may be -inf or NaN.
        """
        counts = self.ratings_given[..., None]
        c1, d1, meta, logs = self.split(points)
        widths = np.exp(logs)
        offsets = TOL + np.cumsum(widths, axis=1)
        edges = (SIGN * c1)[:, None] + np.concatenate([np.zeros_like(offsets[:, :1]), offsets], axis=1)
        value, d_edges, d_meta = ratings_part(
            counts, counts.sum(axis=2, keepdims=True), edges, meta, self.floor
        )
        cuts = edges[:, 1:]
        value += logs.sum(axis=(0, 1)) - (cuts**2).sum(axis=(0, 1)) - 0.25 * ((meta - d1) ** 2).sum(axis=0)
        d_edges[:, 1:] -= 2 * cuts
        d_meta -= 0.5 * (meta - d1)
        d_logs = 1 + widths * d_edges[:, :0:-1].cumsum(axis=1)[:, ::-1]
        gradient = np.empty((self.dim, len(points)))
        first = 0
        if self.fixed is None:
            part, d_c1, d_d1 = self._type1_part(c1, d1)
            value += part
            gradient[0] = d_c1 + d_edges[1].sum(axis=0) - d_edges[0].sum(axis=0)
            gradient[1] = d_d1 + 0.5 * (meta - d1).sum(axis=0)
            first = 2
        gradient[first : first + len(meta)] = d_meta
        gradient[first + len(meta) :] = d_logs.reshape(-1, len(points))
        return value, gradient.T

    def _type1_part(self, c1: Floats, d1: Floats) -> tuple[Floats, Floats, Floats]:
        """Return priors of c₁ and d₁, the two binomials and the cuts' normalisation: value, slopes in c₁ and d₁."""
        half = 0.5 * d1
        x = np.stack([half - c1, c1 - half, -half - c1, c1 + half, (c1 - TOL) * ROOT_2, -(c1 + TOL) * ROOT_2])
        np.minimum(x, FAR, out=x)
        scaled = erfcx(x / -ROOT_2)
        logs = np.log(0.5 * scaled) - 0.5 * x**2
        weights = self._type1_weights()
        value = weights @ logs
        slopes = weights[:, None] * (HAZARD / scaled)
        d_c1 = -slopes[0] + slopes[1] - slopes[2] + slopes[3] + ROOT_2 * (slopes[4] - slopes[5]) - 2 * c1
        d_d1 = 0.5 * (slopes[0] - slopes[1] - slopes[2] + slopes[3]) - 0.5 * d1
        return value - c1**2 - 0.25 * d1**2, d_c1, d_d1

    def _type1_weights(self) -> Floats:
        """Return how often each term of the type-1 part counts: hits, misses, alarms, rejections, cuts on either side."""
        (cr, miss), (hit, fa) = self.ratings_given.sum(axis=2)
        cuts = -float(self.ratings - 1)
        return np.array([hit, miss, fa, cr, cuts, cuts])

    def split(self, points: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return c₁, d₁ ``(points,)``, meta-d ``(1 or 2, points)``, log distances ``(2, K-1, points)``."""
        rows = np.ascontiguousarray(points.T)
        if self.fixed is None:
            c1, d1, rows = rows[0], rows[1], rows[2:]
        else:
            d1, c1 = np.broadcast_to(np.array(self.fixed)[:, None], (2, rows.shape[1]))
        n_meta = 2 if self.conditional else 1
        return c1, d1, rows[:n_meta], rows[n_meta:].reshape(2, self.ratings - 1, rows.shape[1])

    def parameters(self, points: Floats) -> dict[str, Floats]:
        """Return the model's parameters of points ``(..., dim)`` by name.

        ``d1``, ``c1``, ``meta_d`` (or ``meta_d_rs1``, ``meta_d_rs2``) of shape ``(...)``, and the cuts ``t2c_rs1``,
        ``t2c_rs2`` of shape ``(..., K-1)``, ascending, on the axis on which the means are ∓meta-d/2.
        """
        shape = points.shape[:-1]
        c1, d1, meta, logs = self.split(points.reshape(-1, self.dim))
        offsets = TOL + np.cumsum(np.exp(logs), axis=1)
        below, above = (c1 - offsets[0])[::-1], c1 + offsets[1]
        names = ("meta_d_rs1", "meta_d_rs2") if self.conditional else ("meta_d",)
        result = {"d1": d1.reshape(shape), "c1": c1.reshape(shape)}
        result |= {name: row.reshape(shape) for name, row in zip(names, meta, strict=True)}
        for name, cuts in (("t2c_rs1", below), ("t2c_rs2", above)):
            result[name] = np.moveaxis(cuts, 0, -1).reshape(*shape, self.ratings - 1)
        return result

    def guess(self) -> Floats:
        """Return a point near the mass: type-1 estimates, meta-d = d₁, cuts at quantiles of the ratings."""
        d1, c1 = self.fixed or point_estimates(self.ratings_given)
        n_meta = 2 if self.conditional else 1
        start = [] if self.fixed else [c1, d1]
        pooled = self.ratings_given.sum(axis=1) + 0.5
        at_least = pooled[:, ::-1].cumsum(axis=1)[:, ::-1] / pooled.sum(axis=1, keepdims=True)
        logs = []
        for sign, tail in zip((-1.0, 1.0), at_least, strict=True):
            first = sign * c1 - d1 / 2
            beyond = _upper(np.clip(first, -FAR, FAR)) * tail[1:]
            cuts = np.maximum.accumulate(-ndtri(np.maximum(beyond, 1e-12)))
            logs.append(np.log(np.maximum(np.diff(np.r_[first, cuts]), 1e-3)))
        return np.concatenate([start, [d1] * n_meta, *logs])


def subject_model(
    n_s1: Floats, n_s2: Floats, *, estimate_dprime: bool = True, conditional: bool = False
) -> SubjectModel:
    """Return the model of one cell from its two count vectors, each of length 2 K, K >= 2."""
    ratings = len(n_s1) // 2
    table = np.array([[n_s1[:ratings][::-1], n_s2[:ratings][::-1]], [n_s2[ratings:], n_s1[ratings:]]])
    return SubjectModel(table, None if estimate_dprime else point_estimates(table), conditional)


def point_estimates(table: Floats) -> tuple[float, float]:
    """Return d′ and c of the counts + 1/(2 K) a cell, from a table of shape ``(2, 2, K)``."""
    (cr, miss), (hit, fa) = table.sum(axis=2) + 0.5
    z_hit, z_fa = ndtri(hit / (hit + miss)), ndtri(fa / (fa + cr))
    return float(z_hit - z_fa), float(-(z_hit + z_fa) / 2)


def ratings_part(
    counts: Floats, n: Floats, edges: Floats, meta: Floats, floor: float = TOL
) -> tuple[Floats, Floats, Floats]:
    """Return the four multinomials: value, gradient with respect to edges ``(2, K, …)`` and to meta-d ``(1 or 2, …)``.

    The last axis of ``edges`` counts points; that of ``counts`` (by response, correctness and rating) and of ``n``, their
    sums over ratings, does too or has length 1. Axes between are cells.

    Upper tails Q relative to the tail beyond c₁, r_k = Q(x_k) / Q(x_0), from erfcx: exact in relative terms wherever c₁
    lies. ∂r_k/∂x_k = -r_k h(x_k) and ∂r_k/∂x_0 = r_k h(x_0) with the hazard h = φ/Q.
    """
    half = 0.5 * meta[:, None]
    # Arrays of all edges are written over where they are no longer needed: making one costs as much as filling it.
    x = np.empty((len(edges), 2, *edges.shape[1:]))
    np.subtract(edges, half, out=x[:, 0])
    np.add(edges, half, out=x[:, 1])
    np.maximum(x, -FAR, out=x)
    scaled = erfcx(x / ROOT_2)
    x *= x
    tails = x[:, :, :1] - x
    tails *= 0.5
    np.exp(tails, out=tails)
    tails *= np.divide(scaled, scaled[:, :, :1], out=x)
    p = tails.copy()
    p[:, :, :-1] -= tails[:, :, 1:]
    floored = np.maximum(p, floor, out=x)
    total = floored.sum(axis=2, keepdims=True)
    value = (counts * np.log(floored)).sum(axis=(0, 1, 2)) - (n * np.log(total)).sum(axis=(0, 1, 2))
    slope = counts / floored
    slope -= n / total
    np.copyto(slope, 0.0, where=~(p > floor))
    by_tail = slope[:, :, 1:] - slope[:, :, :-1]
    by_tail *= tails[:, :, 1:]
    d_x = p
    by_tail.sum(axis=2, out=d_x[:, :, 0])
    np.negative(by_tail, out=d_x[:, :, 1:])
    d_x *= np.divide(HAZARD, scaled, out=scaled)
    by_row = d_x.sum(axis=2)
    d_meta = 0.5 * (by_row[:, 1] - by_row[:, 0])
    if len(meta) == 1:
        d_meta = d_meta.sum(axis=0, keepdims=True)
    return value, d_x.sum(axis=1), d_meta


def _upper(x: float) -> float:
    return float(0.5 * erfcx(x / ROOT_2) * np.exp(-0.5 * x * x))
