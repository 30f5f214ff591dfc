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
from metacog_pipeline.stats.estimate import NO_ITEMS, OK
from metacog_pipeline.stats.type1 import Texts, type1
from metacog_pipeline.stats.type2 import outcome_status

# Nodes of the quadrature of meta-I₁ʳ: relative error below 1e-10 for |d'| from 1e-6 to 16.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)


@dataclass(frozen=True, slots=True)
class MetaInformation:
    """Information in bits, of many cells; arrays of shape ``(cells,)``, NaN where a status says why."""

    meta_i: Floats
    meta_i_signed: Floats
    i_src: Floats
    h_accuracy: Floats
    meta_i1r: Floats
    meta_i2r: Floats
    rmi: Floats
    n: Floats
    status: Texts
    status_i1r: Texts
    status_i2r: Texts
    status_rmi: Texts


def meta_information(table: Counts) -> MetaInformation:
    """Return the information measures of every cell of ``table``; raw counts for the published measures.

    d' of meta-I₁ʳ comes from the same counts, uncorrected.

    >>> found = meta_information(Counts(np.array([[60.0, 40, 25, 15]]), np.array([[10.0, 20, 45, 65]])))
    >>> found.meta_i.round(4), found.meta_i2r.round(4), found.rmi.round(4)
    (array([0.031]), array([0.0402]), array([0.1047]))
    """
    joint = np.stack([table.n_s1, table.n_s2], axis=1)
    sensitivity = type1(table)
    values = _information(joint)
    right, wrong = (part.sum(axis=1) for part in table.by_confidence)
    n = right + wrong
    entropy = entropy_bits(right, wrong)
    outcome = outcome_status(right, wrong)
    half = np.where((outcome == OK) & (right == wrong), "accuracy of one half", outcome)
    room = np.where(half == OK, entropy - 2 * ratio(np.minimum(right, wrong), n), 0.0)
    d = np.where(sensitivity.status == OK, sensitivity.d, 0.0)
    ideal = np.where(d != 0, ideal_information(d), 0.0)
    status = np.where(n > 0, OK, NO_ITEMS)
    return MetaInformation(
        meta_i=values[0], meta_i_signed=values[1], i_src=values[2], h_accuracy=entropy,
        meta_i1r=ratio(values[1], ideal), meta_i2r=ratio(values[1], np.where(outcome == OK, entropy, 0.0)),
        rmi=ratio(values[1], room), n=n, status=status,
        status_i1r=np.where(status == OK, sensitivity.status, status), status_i2r=outcome, status_rmi=half,
    )  # fmt: skip


def ideal_information(d: ArrayLike) -> Floats:
    """Return norm(d), the bits of an ideal Gaussian observer's confidence about its correctness; even in d.

    Computed as the mean divergence of the posterior from the accuracy, ∫ KL(logistic(d x) ‖ Φ(d/2)), so nothing
    cancels for small d. Shape of ``d``; d must be finite.
    """
    size = np.abs(np.atleast_1d(np.asarray(d, dtype=np.float64)))
    if not bool(np.isfinite(size).all()):
        raise ValueError("d must be finite")
    # Nodes spread evenly in log(1 + scale x): dense near 0, where the posterior turns, and reaching past the hump.
    scale, top = np.maximum(size, 1.0)[:, None], size[:, None] / 2 + 9.0
    span = np.log1p(scale * top)
    x = np.expm1(span * (_NODES + 1) / 2) / scale
    weight = span / 2 * (x + 1 / scale) * _WEIGHTS
    middle = size[:, None] / 2
    density = (np.exp(-((x - middle) ** 2) / 2) + np.exp(-((x + middle) ** 2) / 2)) / math.sqrt(2 * math.pi)
    log_odds = size[:, None] * x
    right, wrong = ndtr(middle), ndtr(-middle)
    # (p - a) / a and (q - b) / b from logarithms: exact where p is close to a and where q is far below b.
    up = np.expm1(log_expit(log_odds) - log_ndtr(middle))
    down = np.expm1(log_expit(-log_odds) - log_ndtr(-middle))
    divergence = right * _excess(up) + wrong * _excess(down)
    result: Floats = (weight * density * divergence).sum(axis=1) / math.log(2)
    return result


def entropy_bits(first: Floats, second: Floats) -> Floats:
    """Return the entropy of a two-way split given as counts, in bits; NaN where both are 0."""
    total = first + second
    p, q = ratio(first, total), ratio(second, total)
    result: Floats = -(xlogy(p, p) + xlogy(q, q)) / math.log(2)
    return result


def _excess(t: Floats) -> Floats:
    """(1 + t) log(1 + t) - t, 0 or more, for t >= -1."""
    series = t**2 * (0.5 - t / 6 + t**2 / 12)
    return np.where(np.abs(t) < 1e-4, series, xlog1py(1 + t, t) - t)


def _information(joint: Floats) -> Floats:
    """Return I(A;C), I(A;R,C), I(S;R,C) in bits, shape ``(3, …)``, of tables ``(…, 2, 2 K)``."""
    k = joint.shape[-1] // 2
    first, second = joint[..., 0, :], joint[..., 1, :]
    right = np.concatenate([first[..., :k], second[..., k:]], axis=-1)
    wrong = np.concatenate([second[..., :k], first[..., k:]], axis=-1)
    # Index j and 2 K - 1 - j hold the same confidence under the two responses.
    pooled = [side[..., :k] + side[..., ::-1][..., :k] for side in (right, wrong)]
    return np.stack([_mutual(pooled[0], pooled[1]), _mutual(right, wrong), _mutual(first, second)])


def _mutual(first: Floats, second: Floats) -> Floats:
    """Bits that a column has about the row of a table of two rows; each column adds its divergence, 0 or more."""
    column = first + second
    total = column.sum(axis=-1)
    result = np.zeros(total.shape)
    for row in (first, second):
        share = ratio(row.sum(axis=-1), total)
        expected = column * share[..., None]
        excess = ratio(row - expected, expected)
        result = result + np.where(expected > 0, expected * _excess(np.nan_to_num(excess)), 0.0).sum(axis=-1)
    return ratio(result, total * math.log(2))
