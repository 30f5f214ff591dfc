"""Small, lopsided and empty tables through every estimator of items over confidence cells."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.stats.auroc import auroc_from_patterns
from metacog_pipeline.stats.calibration import brier_from_patterns, ece_estimate, level_probability
from metacog_pipeline.stats.intervals import ratio as ratio_estimate
from metacog_pipeline.stats.resampling import patterns as resample
from metacog_pipeline.stats.resampling import patterns_of

LEVEL, RIGHT, ONE = np.repeat(np.arange(1.0, 6.0), 2), np.tile([0.0, 1.0], 5), np.ones(10)
few_cells = st.lists(st.integers(0, 9), min_size=1, max_size=3)


@given(few_cells, st.data(), st.integers(0, 12), st.integers(0, 99))
def test_every_estimate_has_a_value_or_a_reason_and_an_interval_around_it(cells, data, n_items, seed):
    rows = data.draw(st.lists(st.tuples(st.integers(0, n_items), st.sampled_from(cells)), max_size=30))
    patterns = patterns_of([item for item, _ in rows], [cell for _, cell in rows], 10)
    draws = resample(patterns, 40, seed)
    high = 1.0 * (LEVEL == 5)
    for estimate in (
        ratio_estimate(patterns, RIGHT, ONE),
        ratio_estimate(patterns, RIGHT * high, high),
        ratio_estimate(patterns, LEVEL * RIGHT, RIGHT),
        ratio_estimate(patterns, LEVEL * RIGHT, LEVEL),
        ratio_estimate(patterns, LEVEL, ONE),
        ece_estimate(patterns, level_probability(5), draws),
        brier_from_patterns(patterns, level_probability(5)),
        auroc_from_patterns(patterns),
    ):
        assert (estimate.value is not None and estimate.low is not None) == (estimate.status == "ok")
        if estimate.low is not None:
            assert estimate.low - 1e-9 <= estimate.value <= estimate.high + 1e-9
