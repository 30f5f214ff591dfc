"""The type-2 ROC curve and densities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.stats.roc import confidence_densities, roc_curve

TRIALS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 1)), min_size=2, max_size=60)


@settings(max_examples=50, deadline=None)
@given(TRIALS)
def test_the_area_under_the_curve_counts_ties_one_half(trials):
    stated, right = np.array([t for t, _ in trials]) / 8, np.array([r for _, r in trials])
    curve = roc_curve(stated, right)
    if right.min() == right.max():
        assert curve.area is None
        assert curve.status in ("all correct", "all wrong")
        return
    pairs = stated[right == 1][:, None] - stated[right == 0][None, :]
    assert curve.area == pytest.approx(float((pairs > 0).mean() + (pairs == 0).mean() / 2))
    assert (np.diff(curve.hits) >= 0).all()
    assert (np.diff(curve.false_alarms) >= 0).all()
    assert (curve.hits[0], curve.hits[-1], curve.false_alarms[-1]) == (0, 1, 1)
    for place in range(1, len(curve.threshold)):
        assert curve.hits[place] == pytest.approx((stated[right == 1] >= curve.threshold[place]).mean())


def test_densities_have_an_area_of_one_each():
    rng = np.random.default_rng(2)
    found = confidence_densities(rng.random(500), rng.integers(0, 2, 500))
    assert len(found.correct) == 30
    assert found.correct.sum() / 30 == pytest.approx(1)
    assert found.wrong.sum() / 30 == pytest.approx(1)
    assert confidence_densities([1.0, 0.0], [1, 1]).wrong.sum() == 0
    with pytest.raises(ValueError, match=r"0\.\.1"):
        confidence_densities([1.2], [1])
