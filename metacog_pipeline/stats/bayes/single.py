"""Bayesian meta-d′ of one subject (or one model on one task), with convergence as part of the result.

The single-subject model of HMeta-d (Fleming 2017, *Neuroscience of Consciousness* 3; counts as in `stats.counts`, N(mean,
variance))::

    c₁ ~ N(0, 1/2)      d₁ ~ N(0, 2)      meta-d | d₁ ~ N(d₁, 2)
    hits ~ Bin(N₂, Φ(d₁/2 - c₁))          false alarms ~ Bin(N₁, Φ(-d₁/2 - c₁))
    K-1 cuts below c₁ - Tol and K-1 above c₁ + Tol, each N(0, 1/2) truncated there and normalised, then sorted
    ratings given stimulus and response ~ multinomial: the normal N(∓meta-d/2, 1), cut at c₁ and at the cuts

Decisions, where the model's text leaves room:

- The truncated normals are normalised by the mass that the truncation leaves, which depends on c₁: so c₁ keeps its prior
  N(0, 1/2) when there are no data.
- Every rating probability is floored at Tol = 1e-5; then each row is divided by its sum, as a multinomial needs.
- The type-1 criterion is absolute: c₁ cuts the ratings' normals too, for any meta-d (maximum likelihood scales it).
- Response-conditional: two parameters meta-d, one a response, each ~ N(d₁, 2), each for the ratings of its response.

The density lives on unbounded coordinates: log distances, u₁ = log(first cut - c₁ - Tol), u_j = log(cut_j - cut_{j-1})
outwards, mirrored below c₁; Σu is their Jacobian. An unused rating makes two cuts meet, there as a smooth tail
towards -∞ in which the other coordinates move freely. Counts may be fractions (the likelihood's continuous extension).

A posterior yields numbers only when every parameter passes the gate of `bayes.sampler`. The random numbers follow from the
seed, the label, the counts and the kind of model: cells that share them would have contrasts with a wrong interval, so
cells with equal counts need different labels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import erfcx, ndtri

from metacog_pipeline.stats._arrays import Floats, whole
from metacog_pipeline.stats.bayes import sampler
from metacog_pipeline.stats.bayes.diagnostics import Summary, summarise, with_ratios
from metacog_pipeline.stats.bayes.sampler import UNDEFINED_TYPE1, UNIDENTIFIED, Sampled
from metacog_pipeline.stats.counts import Counts
from metacog_pipeline.stats.estimate import OK, Estimate, unavailable
from metacog_pipeline.stats.identifiability import RATIO_UNSTABLE

TOL = 1e-5
ROOT_2 = np.sqrt(2.0)
HAZARD = np.sqrt(2 / np.pi)
FAR = 30.0  # beyond 30 sd the smaller tail is below 1e-196: nothing changes, and erfcx stays finite
SIGN = np.array([-1.0, 1.0])[:, None]  # of the evidence on the side of response S1, S2

CHAINS = 64
WARMUP = 200
DRAWS = 500
ROUNDS = 4
# No further round once the density was called this often: a posterior that needs more has not converged.
MOST_CALLS = 30_000
MOST_TRIALS = 1e18  # random numbers of trials are 64-bit integers
NO_FLOOR = 1e-12
METHOD = "posterior mean, 95% equal-tailed"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Posterior(Sampled):
    """The posterior of one cell.

    Further statuses: ``"undefined_type1"`` (a stimulus class without trials); ``"unidentified"`` (one rating used on either
    side, or K = 1: only the prior would speak). Draws: ``d1``, ``c1``, ``meta_d``, ``m_ratio``, ``m_diff`` (``meta_d_rs1``,
    ``meta_d_rs2``, … when conditional on the response); criteria ``t2c_rs1``, ``t2c_rs2``, ascending.
    """

    n: float  # trials
    conditional: bool  # whether meta-d is one parameter a response

    def summary(self) -> dict[str, Summary]:
        """Return the summary of each parameter, criteria as ``t2c_rs1[1]``; empty unless converged."""
        if not self.converged:
            return {}
        draws, known = dict(self.draws), dict(self.diagnostics)
        for name in [name for name in draws if name.startswith("m_ratio")]:
            # The logarithm exists where no draw of the ratio is 0 or below.
            if bool((draws[name] > 0).all()):
                draws[f"log_{name}"] = np.log(draws[name])
                known[f"log_{name}"] = known[name]  # ranks are the same on both scales
        return summarise(draws, known)

    def estimates(self) -> dict[str, Estimate]:
        """Return ``d1``, ``c1``, ``meta_d``, ``m_ratio``, ``m_diff``: posterior mean, 2.5 % and 97.5 % quantiles."""
        sides = ("_rs1", "_rs2") if self.conditional else ("",)
        names = ["d1", "c1", *(f"{name}{side}" for side in sides for name in ("meta_d", "m_ratio", "m_diff"))]
        n = int(self.n)
        if not self.converged:
            return {name: unavailable(n, METHOD, self.status) for name in names}
        # A mean of ratios whose denominator has either sign may be any number.
        above = self.draws["d1"] > 0
        unstable = bool(above.any() and not above.all())
        found = {}
        for name, row in summarise({name: self.draws[name] for name in names}, self.diagnostics).items():
            status = RATIO_UNSTABLE if unstable and name.startswith("m_ratio") else OK
            sem = row.sd if math.isfinite(row.sd) else None
            found[name] = Estimate(row.mean, row.q025, row.q975, n, METHOD, status, sem)
        return found


def bayes_metad(
    table: Counts, *, conditional: bool = False, seed: int, label: str = "", draws: int = DRAWS, rounds: int = ROUNDS
) -> Posterior:  # fmt: skip
    """Return the posterior of one cell, ``table``, not padded: the model needs no correction.

    conditional: one meta-d a response instead of one for both.
    seed, label: 0 or more, and a name of the cell; with the counts they determine the random numbers.
    draws, rounds: kept iterations of each of 64 chains, and how often they may be drawn, each time twice as many.
    Anything else than one unpadded cell, or fewer than four draws, is a ValueError.

    >>> table = Counts(np.array([[60.0, 40, 25, 15]]), np.array([[10.0, 20, 45, 65]]))
    >>> found = bayes_metad(table, seed=1)
    >>> found.status, 0.5 < found.estimates()["m_ratio"].value < 1
    ('converged', True)
    """
    seed = whole("seed", seed)
    if table.cells != 1:
        raise ValueError(f"the table has {table.cells} cells: one at a time, use take")
    sampler.require_raw(table)
    n_s1, n_s2 = table.n_s1[0], table.n_s2[0]
    n = float(table.n[0])
    if not n <= MOST_TRIALS:
        raise ValueError(f"the cell has {n:g} trials, more than {MOST_TRIALS:g}")
    status, reason = _hopeless(n_s1, n_s2)
    if status:
        return Posterior(status=status, reason=reason, n=n, conditional=conditional)
    model = subject_model(n_s1, n_s2, conditional)
    # True: d′ is estimated. It stays a part of the stream's name, or every posterior would move.
    kind = (model.ratings_given.shape, True, conditional)
    stream = sampler.random_stream(seed, label, kind, model.ratings_given)
    smooth, _ = sampler.mode(replace(model, floor=NO_FLOOR), model.guess())
    centre, factor = sampler.mode(model, smooth)
    starts = sampler.overdispersed(model, centre, factor, CHAINS, stream.spawn(1)[0])
    found = sampler.sample_until_sure(
        model, starts, stream, draws=draws, warmup=WARMUP, rounds=rounds,
        read=lambda kept: with_ratios(model.parameters(kept)), most_calls=MOST_CALLS,
    )  # fmt: skip
    return Posterior(**found, n=n, conditional=conditional)


def _hopeless(n_s1: Floats, n_s2: Floats) -> tuple[str, str]:
    for name, row in (("S1", n_s1), ("S2", n_s2)):
        if not row.any():
            return UNDEFINED_TYPE1, f"no trial has stimulus {name}"
    used = (n_s1 + n_s2).reshape(2, -1) > 0
    if bool((used.sum(axis=1) <= 1).all()):
        return UNIDENTIFIED, "at most one rating is used with either response"
    return "", ""


@dataclass(frozen=True, slots=True)
class SubjectModel:
    """The density of one cell. The coordinates of a point: ``c₁, d₁``, one or two meta-d, K-1 log distances for
    response S1 from c₁ outwards, and K-1 for response S2.
    """

    # (2, 2, K): trials by response (S1, S2), wrong stimulus last (correct, incorrect), and confidence 1 .. K
    ratings_given: Floats
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
        return 3 + self.conditional + 2 * (self.ratings - 1)

    def __call__(self, points: Floats) -> tuple[Floats, Floats]:
        """Return log density (up to a constant), ``(points,)``, and gradient of ``points`` ``(points, dim)``."""
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
        part, d_c1, d_d1 = self._type1_part(c1, d1)
        value += part
        gradient = np.empty((self.dim, len(points)))
        gradient[0] = d_c1 + d_edges[1].sum(axis=0) - d_edges[0].sum(axis=0)
        gradient[1] = d_d1 + 0.5 * (meta - d1).sum(axis=0)
        gradient[2 : 2 + len(meta)] = d_meta
        gradient[2 + len(meta) :] = d_logs.reshape(-1, len(points))
        return value, gradient.T

    def _type1_part(self, c1: Floats, d1: Floats) -> tuple[Floats, Floats, Floats]:
        """Return priors of c₁ and d₁, the two binomials and the cuts' normalisation: value, slopes in c₁ and d₁."""
        half = 0.5 * d1
        x = np.stack([half - c1, c1 - half, -half - c1, c1 + half, (c1 - TOL) * ROOT_2, -(c1 + TOL) * ROOT_2])
        np.minimum(x, FAR, out=x)
        scaled = erfcx(x / -ROOT_2)
        logs = np.log(0.5 * scaled) - 0.5 * x**2
        (cr, miss), (hit, fa) = self.ratings_given.sum(axis=2)
        weights = np.array([hit, miss, fa, cr, 1.0 - self.ratings, 1.0 - self.ratings])
        value = weights @ logs
        slopes = weights[:, None] * (HAZARD / scaled)
        d_c1 = -slopes[0] + slopes[1] - slopes[2] + slopes[3] + ROOT_2 * (slopes[4] - slopes[5]) - 2 * c1
        d_d1 = 0.5 * (slopes[0] - slopes[1] - slopes[2] + slopes[3]) - 0.5 * d1
        return value - c1**2 - 0.25 * d1**2, d_c1, d_d1

    def split(self, points: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return c₁, d₁ ``(points,)``, meta-d ``(1 or 2, points)``, log distances ``(2, K-1, points)``."""
        rows = np.ascontiguousarray(points.T)
        n_meta = 1 + self.conditional
        logs = rows[2 + n_meta :].reshape(2, self.ratings - 1, rows.shape[1])
        return rows[0], rows[1], rows[2 : 2 + n_meta], logs

    def parameters(self, points: Floats) -> dict[str, Floats]:
        """Return the parameters of points ``(..., dim)`` by name, cuts ascending: the means are ∓meta-d/2."""
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
        (cr, miss), (hit, fa) = self.ratings_given.sum(axis=2) + 0.5
        z_hit, z_fa = float(ndtri(hit / (hit + miss))), float(ndtri(fa / (fa + cr)))
        d1, c1 = z_hit - z_fa, -(z_hit + z_fa) / 2
        pooled = self.ratings_given.sum(axis=1) + 0.5
        at_least = pooled[:, ::-1].cumsum(axis=1)[:, ::-1] / pooled.sum(axis=1, keepdims=True)
        logs = []
        for sign, tail in zip((-1.0, 1.0), at_least, strict=True):
            first = sign * c1 - d1 / 2
            x = min(max(first, -FAR), FAR)
            beyond = 0.5 * erfcx(x / ROOT_2) * np.exp(-0.5 * x * x) * tail[1:]
            cuts = np.maximum.accumulate(-ndtri(np.maximum(beyond, 1e-12)))
            logs.append(np.log(np.maximum(np.diff(np.r_[first, cuts]), 1e-3)))
        return np.concatenate([[c1, d1], [d1] * (1 + self.conditional), *logs])


def subject_model(n_s1: Floats, n_s2: Floats, conditional: bool = False) -> SubjectModel:
    """Return the model of one cell from its two count vectors, each of length 2 K, K >= 2."""
    ratings = len(n_s1) // 2
    table = np.array([[n_s1[:ratings][::-1], n_s2[:ratings][::-1]], [n_s2[ratings:], n_s1[ratings:]]])
    return SubjectModel(table, conditional)


def ratings_part(
    counts: Floats, n: Floats, edges: Floats, meta: Floats, floor: float = TOL
) -> tuple[Floats, Floats, Floats]:
    """Return the four multinomials: value, gradient with respect to edges ``(2, K, …)`` and to meta-d ``(1 or 2, …)``."""
    # Upper tails Q relative to the tail beyond c₁, r_k = Q(x_k) / Q(x_0), come from erfcx: exact in relative terms wherever
    # c₁ lies. ∂r_k/∂x_k = -r_k h(x_k) and ∂r_k/∂x_0 = r_k h(x_0), h = φ/Q. The last axis counts points.
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
