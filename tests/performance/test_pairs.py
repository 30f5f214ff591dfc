"""All pairs of a hundred models at once."""

import time
from itertools import combinations

import numpy as np
import pytest

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import ratio
from metacog_pipeline.stats.paired_many import paired_shares
from metacog_pipeline.stats.resampling.products import shared_draws

pytestmark = pytest.mark.bench

MODELS, ITEMS, DRAWS = 100, 10_000, 1_000


def differences(drawn, statistic):
    """Return the differences of each pair in every resample, (pairs, draws); a side is measured once for all its pairs."""
    sides = ([side.once("drawn", lambda own: statistic(own.drawn)) for side in pair.sides] for pair in drawn)
    return np.stack([one - two for one, two in sides])


def test_all_pairs_of_a_hundred_models_and_ten_thousand_items(figure):
    rng = np.random.default_rng(0)
    hits = (rng.random((ITEMS, MODELS)) < 0.7).astype(np.int64)
    asked, pairs = np.ones_like(hits), list(combinations(range(MODELS), 2))
    start = time.process_time()
    shares = paired_shares(hits, asked, pairs)

    def share(totals):
        return ratio(totals[:, 0], totals[:, 1])

    drawn = shared_draws(np.stack([hits, asked], axis=2), pairs, DRAWS, 1)
    ends = np.quantile(differences(drawn, share), resampling.ENDS, axis=1).T
    taken = time.process_time() - start
    assert np.isfinite(ends).all() and np.isfinite(shares.p).all() and len(ends) == 4950
    figure(
        f"difference, p and interval ({DRAWS:,} resamples) of all 4,950 pairs of {MODELS} models on {ITEMS:,} items",
        "< 1.5 s CPU", f"{taken:.2f} s", taken < 1.5,
    )  # fmt: skip
