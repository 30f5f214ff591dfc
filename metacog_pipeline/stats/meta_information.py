"""The information, in bits, that confidence has about correctness: meta-I and its relatives, model-free.

Source: P. Dayan (2023), "Metacognitive information theory", *Open Mind* 7; the signed form and RMI as the R package
statConfR documents them. With A correctness, C confidence, R response, S stimulus, a = P(A = 1), h the binary entropy in
bits, from the joint frequencies of a table::

    meta-I          = I(A; C)   = h(a) - Σ_k p(k) h(P(A=1 | k))
    meta-I, signed  = I(A; R,C) = h(a) - Σ_rk p(r,k) h(P(A=1 | r,k))
    I(S; R,C)                   = h(P(S=1)) - Σ_rk p(r,k) h(P(S=1 | r,k))
    meta-I₂ʳ = signed / h(a)         share of the uncertainty that is left
    RMI      = signed / (h(a) - 2 min(a, 1 - a))     share of the most there can be at accuracy a, equal priors
    meta-I₁ʳ = signed / norm(d')     norm(d) = h(Φ(|d|/2)) - E h(logistic(d x)), x ~ ½ N(-d/2, 1) + ½ N(d/2, 1):
                                     what an ideal Gaussian observer of the same d' has

Plug-in values are too high by about (B - 1) / (2 N ln 2) bits, B being the bins in use; whoever resamples can subtract the
mean excess of the resamples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_expit, log_ndtr, ndtr, xlog1py, xlogy

from metacog_pipeline.stats._arrays import Floats, ratio
from metacog_pipeline.stats.counts import Counts
from metacog_pipeline.stats.estimate import OK
from metacog_pipeline.stats.type1 import type1
from metacog_pipeline.stats.type2 import outcome_status

# Relative error of meta-I₁ʳ below 1e-10 for |d'| from 1e-6 to 16.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)


@dataclass(frozen=True, slots=True)
class MetaInformation:
    """Information in bits, of many cells; arrays of shape ``(cells,)``, NaN where a measure does not exist."""

    meta_i: Floats
    meta_i_signed: Floats
    i_src: Floats
    h_accuracy: Floats
    meta_i1r: Floats
    meta_i2r: Floats
    rmi: Floats


def meta_information(table: Counts) -> MetaInformation:
    """Return the information measures of every cell of ``table``; d' of meta-I₁ʳ comes from the same counts, uncorrected.

    >>> found = meta_information(Counts(np.array([[60.0, 40, 25, 15]]), np.array([[10.0, 20, 45, 65]])))
    >>> found.meta_i.round(4), found.meta_i2r.round(4), found.rmi.round(4)
    (array([0.031]), array([0.0402]), array([0.1047]))
    """
    k, first, second = table.ratings, table.n_s1, table.n_s2
    right, wrong = np.hstack([first[:, :k], second[:, k:]]), np.hstack([second[:, :k], first[:, k:]])
    signed = _mutual(right, wrong)
    by_confidence = table.by_confidence
    n_right, n_wrong = (part.sum(axis=1) for part in by_confidence)
    entropy, outcome = entropy_bits(n_right, n_wrong), outcome_status(n_right, n_wrong)
    some = (outcome == OK) & (n_right != n_wrong)
    room = np.where(some, entropy - 2 * ratio(np.minimum(n_right, n_wrong), n_right + n_wrong), 0.0)
    sensitivity = type1(table)
    d = np.where(sensitivity.status == OK, sensitivity.d, 0.0)
    return MetaInformation(
        meta_i=_mutual(*by_confidence), meta_i_signed=signed, i_src=_mutual(first, second), h_accuracy=entropy,
        meta_i1r=ratio(signed, np.where(d != 0, ideal_information(d), 0.0)),
        meta_i2r=ratio(signed, np.where(outcome == OK, entropy, 0.0)), rmi=ratio(signed, room),
    )  # fmt: skip


def ideal_information(d: ArrayLike) -> Floats:
    """Return norm(d), the bits of an ideal Gaussian observer's confidence about its correctness; even in d."""
    # The mean divergence of the posterior from the accuracy, ∫ KL(logistic(d x) ‖ Φ(d/2)): nothing cancels for small d.
    size = np.abs(np.atleast_1d(np.asarray(d, dtype=np.float64)))
    # Nodes spread evenly in log(1 + scale x): dense near 0, where the posterior turns, and reaching past the hump.
    scale, top = np.maximum(size, 1.0)[:, None], size[:, None] / 2 + 9.0
    span = np.log1p(scale * top)
    x = np.expm1(span * (_NODES + 1) / 2) / scale
    weight = span / 2 * (x + 1 / scale) * _WEIGHTS
    middle = size[:, None] / 2
    density = (np.exp(-((x - middle) ** 2) / 2) + np.exp(-((x + middle) ** 2) / 2)) / math.sqrt(2 * math.pi)
    log_odds = size[:, None] * x
    # (p - a) / a and (q - b) / b from logarithms: exact where p is close to a and where q is far below b.
    up = np.expm1(log_expit(log_odds) - log_ndtr(middle))
    down = np.expm1(log_expit(-log_odds) - log_ndtr(-middle))
    divergence = ndtr(middle) * _excess(up) + ndtr(-middle) * _excess(down)
    return np.asarray((weight * density * divergence).sum(axis=1) / math.log(2))


def entropy_bits(first: Floats, second: Floats) -> Floats:
    """Return the entropy of a two-way split given as counts, in bits; NaN where both are 0."""
    total = first + second
    p, q = ratio(first, total), ratio(second, total)
    return np.asarray(-(xlogy(p, p) + xlogy(q, q)) / math.log(2))


def _excess(t: Floats) -> Floats:
    """(1 + t) log(1 + t) - t, 0 or more, for t >= -1."""
    series = t**2 * (0.5 - t / 6 + t**2 / 12)
    return np.where(np.abs(t) < 1e-4, series, xlog1py(1 + t, t) - t)


def _mutual(first: Floats, second: Floats) -> Floats:
    """Bits that a column has about the row of a table of two rows; each column adds its divergence, 0 or more."""
    column = first + second
    total = column.sum(axis=-1)
    result = np.zeros(total.shape)
    for row in (first, second):
        expected = column * ratio(row.sum(axis=-1), total)[..., None]
        excess = ratio(row - expected, expected)
        result += np.where(expected > 0, expected * _excess(np.nan_to_num(excess)), 0.0).sum(axis=-1)
    return ratio(result, total * math.log(2))
