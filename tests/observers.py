"""Drawn counts and single trials of simulated observers, and criteria for them."""

from dataclasses import dataclass

import numpy as np

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats.counts import Counts
from metacog_pipeline.stats.observers import expected_counts


@dataclass(frozen=True)
class Trials:
    """Drawn trials, each array of shape ``(N,)``: stimulus and response 0 (S1) or 1 (S2), confidence 1 .. K."""

    stimulus: np.ndarray
    response: np.ndarray
    confidence: np.ndarray


def simulate(d, m_ratio, c, criteria_s1, criteria_s2, n, seed, p_s2=0.5, cells=None):
    """Return drawn counts of many observers at once; stimulus, answer and rating of each trial are drawn."""
    d = d if cells is None else np.full(cells, d)
    table = expected_counts(d, m_ratio, c, criteria_s1, criteria_s2, 2)
    rng = resampling.generator(seed)
    n2 = rng.binomial(n, p_s2, table.cells)
    return Counts(*(rng.multinomial(size, side) for size, side in ((n - n2, table.n_s1), (n2, table.n_s2))))


def simulate_trials(d, m_ratio, c, criteria_s1, criteria_s2, n, seed, p_s2=0.5):
    """Return single trials of one observer, in random order."""
    table = expected_counts(d, m_ratio, c, criteria_s1, criteria_s2, 2)
    rng = np.random.default_rng(seed)
    stimulus = (rng.random(n) < p_s2).astype(np.int64)
    upto = np.vstack([table.n_s1, table.n_s2]).cumsum(axis=1)[:, :-1]
    place = (rng.random(n)[:, None] > upto[stimulus]).sum(axis=1)
    k = table.ratings
    response = (place >= k).astype(np.int64)
    return Trials(stimulus, response, np.where(response == 0, k - place, place - k + 1))


def criteria_around(m_ratio, c, steps):
    """Return confidence criteria, each ``(cells, K - 1)``, at the same distances on both sides of meta-c."""
    middle, distance = np.atleast_1d(np.multiply(m_ratio, c))[:, None], np.atleast_1d(steps)
    return middle - distance[::-1], middle + distance
