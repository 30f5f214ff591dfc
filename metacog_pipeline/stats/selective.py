"""What is gained by answering only where confidence is high: risk against coverage, and three numbers of that curve.

Answers are kept in the order of their confidence, highest first. At coverage k / n the k surest are kept; their risk is
the share of them that is wrong. Sources: Geifman & El-Yaniv (2017), "Selective classification for deep neural networks",
NeurIPS; Geifman, Uziel & El-Yaniv (2019), "Bias-reduced uncertainty estimation for deep neural classifiers", ICLR, for the
area and its excess; Malinin & Gales (2021), "Uncertainty estimation in autoregressive structured prediction", ICLR, for the
ratio.

The estimator, with E(k) the wrong answers among the k surest of n, E = E(n)::

    AURC   = 1/n Σ_{k=1..n} E(k) / k
    excess = AURC - AURC of the order that puts every wrong answer last
           = AURC - 1/n [E - (n - E) (H(n) - H(n - E))]            H(k) = 1 + 1/2 + … + 1/k
    PRR    = [area between the rejection curve and that of rejecting at random] / [the same of the best order]

Equal confidences leave the order open. AURC is its mean over all orders of the tied answers: within a group of m answers
of which e are wrong, after N of which E are wrong, E(N + j) is E + j e / m on average, and the sum over j is
e + (E - N e / m) (H(N + m) - H(N)). The rejection curve is the share of all answers that is wrong and kept; rejected
answers are put right. It is straight within ties, and the areas under it are those of trapezoids: so PRR is
2 AUROC2 - 1, exactly, and has that interval. A ratio of areas under the risk among kept answers is another number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats, Ints, ratio, whole
from metacog_pipeline.stats.estimate import OK, PERFECT, Estimate, unavailable
from metacog_pipeline.stats.intervals import LOSS, loss_ends
from metacog_pipeline.stats.trials import Trials

POINTS = 100


@dataclass(frozen=True, slots=True)
class Curve:
    """Risk against coverage, at most `POINTS` coverages in rising order; every array has shape ``(P,)``."""

    coverage: Floats
    risk: Floats
    low: Floats
    high: Floats
    threshold: Floats
    kept: Ints


@dataclass(frozen=True, slots=True)
class Selective:
    """The areas, 0..1 and less is better; the ratio, -1..1, 1 is the best order and 0 a random one; and the curve."""

    aurc: Estimate
    excess_aurc: Estimate
    prr: Estimate
    curve: Curve


def of_trials(made: Trials) -> Selective:
    """Return the same of answers that are drawn already."""
    prr = made.area
    scaled = prr
    if prr.value is not None and prr.low is not None and prr.high is not None:
        ends = 2 * prr.low - 1, 2 * prr.high - 1
        sem = None if prr.sem is None else 2 * prr.sem
        scaled = Estimate(2 * prr.value - 1, *ends, prr.n, prr.method, made.few or OK, sem)
    return Selective(
        _estimate(made, aurc_statistic), _estimate(made, excess_aurc_statistic), scaled, curve(made)
    )


def aurc_statistic(totals: Floats) -> Floats:
    """Return the area under risk against coverage of each row of totals ``(B, 2 L)``; NaN for a row without answers.

    Columns are level × (wrong, correct), levels in rising order.
    """
    wrong = totals[:, -2::-2]
    size = wrong + totals[:, ::-2]
    after, errors = np.cumsum(size, axis=1), np.cumsum(wrong, axis=1)
    share = np.divide(wrong, size, out=np.zeros_like(wrong), where=size > 0)
    before = after - size
    harmonic = digamma(after + 1)
    harmonic[:, 1:] -= harmonic[:, :-1].copy()
    harmonic[:, 0] -= digamma(1.0)
    area = (wrong + (errors - wrong - before * share) * harmonic).sum(axis=1)
    return ratio(np.maximum(area, 0.0), after[:, -1])


def excess_aurc_statistic(totals: Floats) -> Floats:
    """Return how far each area of `aurc_statistic` is above that of the best order."""
    wrong, n = totals[:, 0::2].sum(axis=1), totals.sum(axis=1)
    best = wrong - (n - wrong) * (digamma(n + 1) - digamma(n - wrong + 1))
    return np.maximum(aurc_statistic(totals) - ratio(best, n), 0.0)


def curve(made: Trials, points: int = POINTS) -> Curve:
    """Return risk at ``points`` coverages of equal distance, or at every one where there are fewer answers (``made``).

    >>> from metacog_pipeline.stats.trials import trials
    >>> curve(trials([0.9, 0.5, 0.5], [1, 1, 0], stream=1)).risk.round(3)
    array([0.   , 0.25 , 0.333])
    """
    n = made.n
    size = min(n, whole("points", points, 1))
    kept: Ints = -(-np.arange(1, size + 1) * n // max(size, 1))
    wrong = made.totals[-2::-2]
    after = np.cumsum(wrong + made.totals[::-2])
    risk = np.interp(kept, np.r_[0.0, after], np.r_[0.0, np.cumsum(wrong)]) / kept if n else np.zeros(0)
    low, high = (np.full(size, np.nan) for _ in range(2))
    if n and made.n_items > 1:
        found = _drawn_risk(made.draws, kept / n)
        low, high = np.quantile(found, [0.025, 0.975], axis=0)
        low, high = np.minimum(low, risk), np.maximum(high, risk)
    threshold = made.stated[::-1][np.searchsorted(after, kept)] if n else np.zeros(0)
    return Curve(kept / max(n, 1), risk, low, high, threshold, kept)


def _drawn_risk(draws: Floats, coverage: Floats) -> Floats:
    draws = draws[draws.sum(axis=1) > 0]
    wrong = draws[:, -2::-2]
    after = np.pad(np.cumsum(wrong + draws[:, ::-2], axis=1), ((0, 0), (1, 0)))
    after /= after[:, -1:]
    errors = np.pad(np.cumsum(wrong, axis=1), ((0, 0), (1, 0))) / draws.sum(axis=1, keepdims=True)
    # One interpolation for all rows: row b lies between 2 b and 2 b + 1.
    shift = 2.0 * np.arange(len(draws))[:, None]
    at = np.interp((coverage + shift).ravel(), (after + shift).ravel(), errors.ravel())
    found: Floats = np.clip(at.reshape(len(draws), -1) / coverage, 0.0, 1.0)
    return found


def _estimate(made: Trials, statistic: resampling.Statistic) -> Estimate:
    """Return an area with its `loss_ends`; none where the order is perfect."""
    if made.why_not is not None:
        return unavailable(made.n, LOSS, made.why_not)
    value = float(statistic(made.totals[None].astype(np.float64))[0])
    drawn = statistic(made.draws)
    spread = float(np.nanstd(drawn))
    low, high = loss_ends(value, spread, made.rarer)
    if low is None:
        return Estimate(value, None, None, made.n, LOSS, made.few or PERFECT)
    return Estimate(value, low, high, made.n, LOSS, made.few or OK, spread)
