"""Small parameter recovery; the full grid is part of the benchmarks."""

import numpy as np
import pytest

from metacog_pipeline.stats.metad import bootstrap_metad
from metacog_pipeline.stats.observers import simulate


@pytest.mark.parametrize(("d", "ratio", "c", "n", "k"), [(1.6, 0.8, 0.3, 600, 4), (1.0, 1.0, 0.0, 400, 3)])
def test_the_truth_lies_inside_most_intervals(d, ratio, c, n, k):
    steps = np.arange(1, k) * 1.6 / k
    table = simulate(d, ratio, c, ratio * c - steps[::-1], ratio * c + steps, n, seed=5, cells=150)
    rows = bootstrap_metad(table, 200, 2, padding=1 / (2 * k))
    for name, truth in (("da", d), ("meta_da", d * ratio), ("m_ratio", ratio)):
        found = [row[name] for row in rows if row[name].low is not None]
        assert len(found) > 0.95 * len(rows)
        assert 0.88 <= np.mean([each.low <= truth <= each.high for each in found]) <= 0.995
        error = np.array([each.value for each in found]) - truth
        assert abs(np.median(error)) < 4 * error.std() / np.sqrt(len(error))
