"""The ideal observer of a choice among m, exactly: how likely each strength of evidence is, when right and when wrong.

The true alternative gives evidence N(d, 1), each of the m - 1 others N(0, 1); the largest is chosen and its posterior
is the confidence. With y the evidence of the chosen one and a_j = y - x_j >= 0 its lead over rival j, the posterior log
odds are L = -log sum_j exp(-d a_j), and given y the rivals are independent. So the density of L is built up rival by
rival: with T_k the log odds against the first k,

    h_1(t; y) = phi(y - t/d) / d                                                                t >= 0
    h_k(t; y) = (1/d) int phi(y - a) h_{k-1}(T; y) d delta,  a = (t + softplus(delta)) / d,  T = t + softplus(-delta)

    f_C(l) = int phi(y - d) h_{m-1}(l; y) dy   (correct)          f_I(l) = exp(-l) f_C(l)   (wrong)

The second line of densities is the identity of calibration: whoever says p is right in a share p of cases.

This is the reference: it makes (``python -m tests.stats.ideal_observer``) and tests the table that fits read. One
sensitivity costs about a second.
Source: Maniscalco & Lau (2012) for two alternatives; the recursion is this project's.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse, special

from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats.mafc.accuracy import accuracy
from metacog_pipeline.stats.mafc.table import D_NODES, FILE, LARGEST_M, Z_END, Z_NODES, d_nodes
from metacog_pipeline.stats.meta_information import entropy_bits

NODES = 12  # of a panel, for interpolating (Chebyshev) and for integrating (Gauss)
GROWTH = 1.7  # of a panel's width over the one before it
GRADING = 8.0  # of the panels towards a point below which a density is not analytic
GRADED_POINTS = 5  # beyond -log 5 the singularity is too weak to be seen in double precision
RESOLUTION = 1e-11  # of a density, which the grading needs to reach
Y_PANEL = 2.4
# Standard deviations beyond which a normal distribution holds nothing.
Y_BELOW, Y_ABOVE, LEAD = 5.5, 7.5, 14.5
_CHEBYSHEV = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)[::-1]
_TO_COEFFICIENTS = np.linalg.inv(np.polynomial.chebyshev.chebvander(_CHEBYSHEV, NODES - 1))
_GAUSS, _GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(NODES)
_LOG_PHI_0 = -0.5 * math.log(2 * math.pi)


@dataclass(frozen=True, slots=True)
class Density:
    """log f_C on panels of L, for one m and d.

    ``edges`` shape ``(P + 1,)``; ``logs`` shape ``(P, NODES)``: log f_C less its behaviour at the lower edge,
    ``(m - 2) log(1 - exp(-tau))`` with ``tau = l + log(m - 1)``, at the Chebyshev nodes of each panel.
    """

    m: int
    d: float
    edges: Floats
    logs: Floats

    def log_correct(self, odds: Floats) -> Floats:
        """Return log f_C at log odds ``odds``, any shape, inside the edges."""
        panel, basis = _interpolation(self.edges, odds.ravel())
        smooth = (basis * self.logs[panel]).sum(axis=1)
        return np.asarray((smooth + _edge(self.m - 1, odds.ravel())).reshape(odds.shape))

    def masses(self) -> tuple[Floats, Floats]:
        """Return the shares of each panel when correct and when wrong, shape ``(P,)``; they sum to A and 1 - A."""
        return self.mass_between(self.edges[:-1], self.edges[1:])

    def mass_between(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return the shares between ``low`` and ``high``, each pair inside one panel, when correct and when wrong."""
        half = ((high - low) / 2)[:, None]
        odds = ((high + low) / 2)[:, None] + half * _GAUSS
        correct = np.exp(self.log_correct(odds)) * _GAUSS_WEIGHTS * half
        return correct.sum(axis=1), (correct * np.exp(-odds)).sum(axis=1)

    def expectation_nodes(self) -> tuple[Floats, Floats]:
        """Return log odds and their shares when correct, flat, rising: nodes for any integral over f_C."""
        half = (np.diff(self.edges) / 2)[:, None]
        odds = ((self.edges[1:] + self.edges[:-1]) / 2)[:, None] + half * _GAUSS
        return odds.ravel(), (np.exp(self.log_correct(odds)) * _GAUSS_WEIGHTS * half).ravel()


def densities(d: float, m_most: int) -> list[Density]:
    """Return the density of each m from 2 to ``m_most`` at sensitivity ``d`` > 0 (m-AFC units; up to 6 is tested)."""
    y, y_weights = _y_nodes(d)
    found = []
    edges, logs = _first(d, y)
    for m in range(2, m_most + 1):
        if m > 2:
            edges, logs = _next(d, m - 1, y, edges, logs)
        peak = logs.max(axis=1, keepdims=True)
        weights = y_weights * np.exp(_LOG_PHI_0 - (y - d) ** 2 / 2)
        mixed = np.log(np.exp(logs - peak) @ weights) + peak[:, 0]
        found.append(Density(m, d, edges, mixed.reshape(-1, NODES)))
    return found


def _y_nodes(d: float) -> tuple[Floats, Floats]:
    panels = math.ceil((d + Y_BELOW + Y_ABOVE) / Y_PANEL)
    edges = np.linspace(-Y_BELOW, d + Y_ABOVE, panels + 1)
    half = np.diff(edges)[:, None] / 2
    return ((edges[1:] + edges[:-1])[:, None] / 2 + half * _GAUSS).ravel(), (half * _GAUSS_WEIGHTS).ravel()


def _first(d: float, y: Floats) -> tuple[Floats, Floats]:
    edges = _panels(d, 1)
    t = _nodes(edges)
    return edges, _LOG_PHI_0 - (y - t[:, None] / d) ** 2 / 2 - math.log(d)


def _next(d: float, k: int, y: Floats, edges: Floats, logs: Floats) -> tuple[Floats, Floats]:
    """Return edges and logs ``(nodes, y)`` of h_k from those of h_{k-1}."""
    new = _panels(d, k)
    t = _nodes(new)
    values = np.empty((len(t), len(y)))
    for start in range(0, len(t), NODES):
        part = slice(start, start + NODES)
        values[part] = _step(d, k, y, edges, logs, t[part])
    return new, values - _edge(k, t)[:, None]


def _step(d: float, k: int, y: Floats, edges: Floats, logs: Floats, t: Floats) -> Floats:
    """Return log h_k at ``t``, shape ``(t, y)``."""
    pieces = [_delta_nodes(d, k, float(each)) for each in t]
    counts = np.array([len(nodes) for nodes, _ in pieces])
    delta = np.concatenate([nodes for nodes, _ in pieces])
    log_weight = np.log(np.concatenate([weights for _, weights in pieces]))
    at = np.repeat(t, counts)
    lead, rest = (at + _softplus(delta)) / d, at + _softplus(-delta)
    if k == 2:  # exact: h_1 needs no interpolation
        before = _LOG_PHI_0 - (y - rest[:, None] / d) ** 2 / 2 - math.log(d)
    else:
        inside = np.clip(rest, edges[0], edges[-1])
        panel, basis = _interpolation(edges, inside)
        columns = panel[:, None] * NODES + np.arange(NODES)
        pointer = np.arange(0, columns.size + 1, NODES)
        matrix = sparse.csr_matrix((basis.ravel(), columns.ravel(), pointer), (len(rest), logs.shape[0]))
        before = matrix @ logs + _edge(k - 1, inside)[:, None]
    terms = before + (_LOG_PHI_0 + log_weight - math.log(d))[:, None] - (y - lead[:, None]) ** 2 / 2
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    peak = np.maximum.reduceat(terms, starts, axis=0)
    total = np.add.reduceat(np.exp(terms - np.repeat(peak, counts, axis=0)), starts, axis=0)
    return np.asarray(np.log(total) + peak)


def _delta_nodes(d: float, k: int, t: float) -> tuple[Floats, Floats]:
    """Return nodes and weights over the log odds between rival k and the rivals before it, for T_k = ``t``."""
    # A little beyond the panels, so that their last point has something to integrate over.
    most = d * (d + LEAD + 1)
    upper, lower = _inverse_softplus(most - t), -_inverse_softplus(most - math.log(k - 1) - t)
    if t < 0:
        lower = max(lower, _inverse_softplus(-t))
    room = -math.log(k - 1) - t  # T_{k-1} is never below -log(k - 1)
    if room > 0:
        upper = min(upper, -_inverse_softplus(room))
    breaks = [0.0] if lower < 0 < upper else []
    graded = []
    for j in range(1, k - 1):
        gap = -math.log(j) - t
        if gap > 0 and lower < (place := -_inverse_softplus(gap)) < upper:
            graded.append((place, j))
    edges = [lower, *sorted([*breaks, *(place for place, _ in graded)]), upper]
    parts = []
    depth = dict(graded)
    for low, high in itertools.pairwise(edges):
        if high <= low:
            continue
        grid = _graded(low, high, depth[low], d) if low in depth and depth[low] <= GRADED_POINTS else [low]
        parts += _grown(grid[-1], high, d, grid[:-1])
    edges_all = np.array([*parts, upper])
    half = np.diff(edges_all)[:, None] / 2
    nodes = (edges_all[1:] + edges_all[:-1])[:, None] / 2 + half * _GAUSS
    return nodes.ravel(), (half * _GAUSS_WEIGHTS).ravel()


def _grown(low: float, high: float, d: float, before: list[float]) -> list[float]:
    """Return ``before`` and the panel starts from ``low`` up to ``high``: narrow around 0, wide far from it."""
    narrow, wide = min(1.0, 1.2 * d), max(2.5 * d, min(1.0, 1.2 * d))
    starts = list(before)
    at = low
    while high - at > 1e-15 * max(1.0, abs(high)):
        starts.append(at)
        width = min(wide, max(narrow, abs(at) * (GROWTH - 1) / GROWTH))
        at += min(width, high - at)
    return starts


def _graded(low: float, high: float, j: int, d: float) -> list[float]:
    """Return edges that draw together towards ``low``: the density there is smooth in the log of the distance only."""
    first = min(high - low, min(1.0, 1.2 * d))
    finest = max(RESOLUTION ** (1 / j), math.exp(-d * (d + 13)))
    count = max(0, math.ceil(math.log(first / finest) / math.log(GRADING))) if first > finest else 0
    return [low, *(low + first * GRADING**-power for power in range(count, -1, -1) if power > 0)]


def _panels(d: float, k: int) -> Floats:
    """Return the edges of the panels of h_k, from -log k (all rivals level) up, graded below each -log j."""
    low = -math.log(k)
    most = low + d * (d + LEAD)
    points = sorted({low, *(-math.log(j) for j in range(1, k) if -math.log(j) < most), most})
    names = {-math.log(j): j for j in range(1, k)}
    edges: list[float] = []
    for start, end in itertools.pairwise(points):
        if end <= start:
            continue
        tail: list[float] = []
        if end in names and names[end] <= GRADED_POINTS:
            mirrored = _graded(-end, -start, names[end], d)
            tail = [-place for place in reversed(mirrored)][:-1]
        stop = tail[0] if tail else end
        edges += _grown_up(start, stop, d)
        edges += tail
    return np.array([*edges, most])


def _grown_up(start: float, end: float, d: float) -> list[float]:
    """Return panel starts from ``start`` up to ``end``, each wider than the one before it."""
    width, wide = min(1.0, 1.2 * d), max(2.5 * d, min(1.0, 1.2 * d))
    starts, at = [], start
    while end - at > 1e-15 * max(1.0, abs(end)):
        starts.append(at)
        at += min(width, end - at)
        width = min(wide, width * GROWTH)
    return starts


def _nodes(edges: Floats) -> Floats:
    half = np.diff(edges)[:, None] / 2
    return np.asarray(((edges[1:] + edges[:-1])[:, None] / 2 + half * _CHEBYSHEV).ravel())


def _interpolation(edges: Floats, x: Floats) -> tuple[Ints, Floats]:
    """Return for each ``x`` its panel and the weights of that panel's nodes, shape ``(x, NODES)``."""
    panel = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
    low, high = edges[panel], edges[panel + 1]
    place = np.clip((2 * x - low - high) / (high - low), -1.0, 1.0)
    return panel, np.polynomial.chebyshev.chebvander(place, NODES - 1) @ _TO_COEFFICIENTS


def _edge(k: int, t: Floats) -> Floats:
    """Return how h_k behaves at its lower edge: (k - 1) log(1 - exp(-tau)), tau = t + log k."""
    if k == 1:
        return np.zeros_like(t)
    tau = np.maximum(t + math.log(k), 1e-300)
    return (k - 1) * np.log(-np.expm1(-tau))


def _softplus(x: Floats) -> Floats:
    return np.logaddexp(0.0, x)


def _inverse_softplus(x: float) -> float:
    return x + math.log(-math.expm1(-x)) if x > 0 else -math.inf


def curve(density: Density, zeta: Floats) -> Floats:
    """Return eta at each ``zeta`` of one exact observer."""
    return _Tails(density).eta(zeta)


_HALVINGS = 60  # of a bracket inside one panel: to the last bit


class _Tails:
    """The masses of one density accumulated from both ends, so that both tails keep their digits."""

    def __init__(self, density: Density) -> None:
        self.density = density
        correct, wrong = density.masses()
        self.share_correct, self.share_wrong = float(correct.sum()), float(wrong.sum())
        self.above = [np.append(np.cumsum(part[::-1])[::-1], 0.0) for part in (correct, wrong)]
        self.below = [np.append(0.0, np.cumsum(part)) for part in (correct, wrong)]

    def eta(self, zeta: Floats) -> Floats:
        """Return z(HR2) where z(FAR2) is ``zeta``."""
        upper = zeta < 0  # the smaller tail decides: false alarms above, or correct rejections below
        goal = special.ndtr(np.where(upper, zeta, -zeta)) * self.share_wrong
        edges = self.density.edges
        ends = np.where(
            upper,
            len(edges) - 1 - np.searchsorted(self.above[1][::-1], goal, side="right"),
            np.searchsorted(self.below[1], goal, side="right") - 1,
        )
        panel = np.clip(ends, 0, len(edges) - 2)
        low, high = edges[panel].copy(), edges[panel + 1].copy()
        anchor = np.where(upper, edges[panel + 1], edges[panel])
        rest = np.where(upper, self.above[1][panel + 1], self.below[1][panel])
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            inside = self.density.mass_between(np.minimum(middle, anchor), np.maximum(middle, anchor))[1]
            beyond = rest + inside > goal  # more than wanted: back towards the end the tail is counted from
            low = np.where(beyond == upper, middle, low)
            high = np.where(beyond == upper, high, middle)
        middle = (low + high) / 2
        inside = self.density.mass_between(np.minimum(middle, anchor), np.maximum(middle, anchor))[0]
        above = np.where(upper, self.above[0][panel + 1] + inside, 0.0)
        below = np.where(upper, 0.0, self.below[0][panel] + inside)
        total = self.share_correct
        above, below = np.where(upper, above, total - below), np.where(upper, total - above, below)
        with np.errstate(divide="ignore"):
            eta = np.where(above < below, special.ndtri(above / total), -special.ndtri(below / total))
        return np.asarray(eta)


def scalars(density: Density) -> tuple[float, float]:
    """Return the area under the type-2 ROC and the meta-information in bits of one exact observer."""
    odds, correct = density.expectation_nodes()
    wrong = correct * np.exp(-odds)
    grid = wrong.reshape(-1, NODES)
    before = np.concatenate([[0.0], np.cumsum(grid.sum(axis=1))[:-1]])
    half = np.diff(density.edges)[:, None] / 2
    centre = (density.edges[1:] + density.edges[:-1])[:, None] / 2
    # The mass of wrong answers below each node: whole panels before, and the part of its own.
    nodes = odds.reshape(-1, NODES)
    starts = np.broadcast_to(centre - half, nodes.shape).ravel()
    part = density.mass_between(starts, odds)[1].reshape(nodes.shape)
    share = float(correct.sum()), float(wrong.sum())
    area = float((correct * (before[:, None] + part).ravel()).sum()) / (share[0] * share[1])
    p = special.expit(odds)
    left = float(((correct + wrong) * entropy_bits(p, 1 - p)).sum())
    right = accuracy(density.d, density.m)
    return area, float(entropy_bits(right, 1 - right)) - left


def build() -> None:
    """Compute the table and write the file."""
    zeta = np.linspace(-Z_END, Z_END, Z_NODES)
    lifts = np.empty((LARGEST_M - 1, D_NODES, Z_NODES))
    numbers = np.empty((LARGEST_M - 1, 2, D_NODES))
    for column, d in enumerate(d_nodes()):
        for row, density in enumerate(densities(float(d), LARGEST_M)):
            lifts[row, column] = (curve(density, zeta) - zeta) / d
            numbers[row, :, column] = scalars(density)
    np.savez_compressed(FILE, lifts=lifts, scalars=numbers)


if __name__ == "__main__":
    build()
