"""Trimmed means, double steps, resampled ranks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metacog_pipeline.stats import robust
from metacog_pipeline.stats.estimate import NO_ITEMS, SINGLE_ITEM

scores = st.lists(st.floats(0, 1, width=32), min_size=1, max_size=140)


@settings(max_examples=50, deadline=None)
@given(scores)
def test_locations_are_those_of_their_definitions(values):
    row = np.array(values, dtype=float)
    assert robust.location([row])[0] == pytest.approx(stats.trim_mean(row, 0.1), abs=1e-12)
    assert robust.location([row], "median")[0] == pytest.approx(np.median(row), abs=1e-12)
    assert robust.location([row], "mean")[0] == pytest.approx(row.mean(), abs=1e-12)
    assert robust.location([row], "double_step")[0] == pytest.approx(row.mean() - row.std(), abs=1e-12)


@pytest.mark.parametrize("statistic", robust.LOCATIONS)
def test_missing_items_are_left_out_of_their_row_alone(statistic):
    row = [0.3, 0.9, 0.1, 0.4]
    with_gap = robust.location([[0.3, np.nan, 0.9, 0.1, 0.4], [0.5] * 5, [np.nan] * 5], statistic)
    assert with_gap[0] == pytest.approx(robust.location([row], statistic)[0])
    assert with_gap[1] == 0.5
    assert np.isnan(with_gap[2])


def of_mean(row, **options):
    return robust.location_estimate(row, "mean", **options)


def test_an_interval_holds_its_value_and_comes_from_the_seed():
    row = np.linspace(0.2, 0.8, 60)
    found = of_mean(row, seed=3)
    assert found.low < found.value < found.high
    assert found == of_mean(row, seed=3) != of_mean(row, seed=4)
    assert found.high - found.low == pytest.approx(4 * row.std() / np.sqrt(60), rel=0.3)


def test_nothing_and_one_item_say_so():
    assert of_mean([np.nan]).status == NO_ITEMS
    one = of_mean([0.4, np.nan])
    assert (one.value, one.low, one.status) == (0.4, None, SINGLE_ITEM)
    assert np.isnan(robust.resampled_locations(np.zeros((2, 0)), n_boot=3)).all()


def test_models_are_resampled_over_the_same_items():
    base = np.random.default_rng(0).random(40)
    draws = robust.resampled_locations(np.stack([base, base + 0.001]), "mean", n_boot=200, seed=1)
    assert np.allclose(draws[:, 1] - draws[:, 0], 0.001)
    ranks = robust.rank_distribution(robust.location(np.stack([base, base + 0.001]), "mean"), draws)
    assert ranks.observed.tolist() == [2, 1]
    assert ranks.low.tolist() == ranks.high.tolist() == [2, 1]
    assert ranks.share.tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_rank_shares_sum_to_one_and_equal_models_share_the_better_rank():
    draws = np.random.default_rng(5).random((500, 4))
    found = robust.rank_distribution(
        [0.5, 0.5, 0.2, np.nan], np.where([True, True, True, False], draws, np.nan)
    )
    assert found.observed.tolist() == [1, 1, 3, 0]
    assert found.share.sum(axis=1) == pytest.approx([1, 1, 1, 0])
    assert found.low.tolist() == [1, 1, 1, 0] and found.high.tolist() == [3, 3, 3, 0]
