"""Cells of counts that the tests of meta-d' share."""

import numpy as np
import pytest

from metacog_pipeline.stats.counts import Counts, counts
from metacog_pipeline.stats.observers import simulate

CLASSIC = ([36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39])


def observers(cells: int, seed: int, ratings: int = 4, n: int = 1000) -> Counts:
    """Simulate observers of different sensitivity, efficiency and criterion."""
    rng = np.random.default_rng(seed)
    d, ratio, c = rng.uniform(0.5, 2.5, cells), rng.uniform(0.3, 1.2, cells), rng.uniform(-0.6, 0.6, cells)
    steps = np.arange(1, ratings) * 1.6 / ratings
    middle = (ratio * c)[:, None]
    return simulate(d, ratio, c, middle - steps[::-1], middle + steps, n, seed)


@pytest.fixture
def classic():
    """The example of the original papers: 4 ratings, 260 trials."""
    return counts(*CLASSIC)


@pytest.fixture
def make_observers():
    """The function that simulates observers."""
    return observers
