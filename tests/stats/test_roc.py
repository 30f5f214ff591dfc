"""The type-2 ROC curve, densities, and differences of areas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.stats.auroc import auroc
from metacog_pipeline.stats.roc import (
    area_difference,
    confidence_densities,
    moved_area,
    roc_curve,
)

TRIALS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 1)), min_size=2, max_size=60)


@settings(max_examples=100, deadline=None)
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


def test_the_difference_of_areas_of_other_items_has_the_error_of_both():
    rng = np.random.default_rng(3)
    right = rng.integers(0, 2, (2, 400))
    stated = rng.normal(size=(2, 400)) + right
    items = np.arange(800).reshape(2, 400)
    found = area_difference(*(moved_area(*each) for each in zip(stated, right, items, strict=True)))
    alone = [auroc(stated[i], right[i], items[i]) for i in (0, 1)]
    assert found.value == pytest.approx(alone[0].value - alone[1].value)
    assert found.sem == pytest.approx(np.hypot(alone[0].sem, alone[1].sem), rel=0.01)


def test_shared_items_make_the_error_smaller_and_equal_answers_make_it_nothing():
    rng = np.random.default_rng(4)
    items, right = np.arange(300), rng.integers(0, 2, 300)
    stated = rng.normal(size=300) + right
    own = moved_area(stated, right, items)
    near = area_difference(own, moved_area(stated + 0.1 * rng.normal(size=300), right, items))
    far = area_difference(own, moved_area(rng.normal(size=300) + right, right, items))
    assert near.sem < far.sem / 2
    same = area_difference(own, own)
    assert (same.value, same.low, same.status) == (0.0, None, "the same in both")
    assert area_difference(moved_area(stated, np.ones(300), items), own).status == "all correct"


@settings(max_examples=60, deadline=None)
@given(TRIALS, TRIALS, st.integers(0, 30), st.integers(1, 4))
def test_the_difference_of_areas_has_the_error_of_its_definition(first, second, moved, runs):
    """Of answers to items that some, all or none share, in one run or several."""
    sides = [
        (
            np.array([t for t, _ in each]) / 8,
            np.array([r for _, r in each]),
            np.arange(len(each)) // runs + start,
        )
        for each, start in ((first, 0), (second, moved))
    ]
    items = np.unique(np.concatenate([each[2] for each in sides]))
    areas = [auroc(*each) for each in sides]
    found = area_difference(*(moved_area(*each) for each in sides))
    assert found.n == len(items)
    undefined = [area.status for area in areas if area.value is None]
    if undefined:
        assert found.value is None and found.status == undefined[0]
        return
    assert found.value == areas[0].value - areas[1].value
    if found.sem is not None:
        influence = np.zeros(len(items))
        for (stated, right, item), area, sign in zip(sides, areas, (1, -1), strict=True):
            for kind in (0, 1):
                other = stated[right != kind]
                for own in np.flatnonzero(right == kind):
                    beaten, beating = (stated[own] > other).mean(), (stated[own] < other).mean()
                    won = (beaten if kind else beating) + (stated[own] == other).mean() / 2
                    share = (won - area.value) / (right == kind).sum()
                    influence[np.searchsorted(items, item[own])] += sign * share
        expected = np.sqrt(len(items) / (len(items) - 1) * influence @ influence)
        assert found.sem == pytest.approx(expected, abs=1e-9)
