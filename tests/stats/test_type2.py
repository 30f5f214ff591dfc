import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.stats.auroc import auroc_from_patterns
from metacog_pipeline.stats.counts import counts, padded
from metacog_pipeline.stats.resampling import Patterns
from metacog_pipeline.stats.type2 import auroc2, bin_confidence

vectors = st.integers(1, 6).flatmap(
    lambda k: st.tuples(*[st.lists(st.integers(0, 20), min_size=2 * k, max_size=2 * k)] * 2)
)


@given(vectors)
def test_area_and_interval_of_counts_are_those_of_the_trials(pair):
    table = counts(*pair)
    right, wrong = table.by_confidence
    one = auroc2(table).estimate()
    pooled = np.column_stack([wrong[0], right[0]]).astype(int).ravel()
    other = auroc_from_patterns(Patterns(np.eye(len(pooled), dtype=int), pooled))
    assert (one.n, one.status) == (other.n, other.status)
    if other.value is not None:
        assert one.value == pytest.approx(other.value)
        assert (one.low, one.high, one.sem) == pytest.approx((other.low, other.high, other.sem), abs=1e-4)


def test_the_plus_one_variant_pulls_towards_one_half_and_is_not_applied_on_top_of_padding():
    table = counts([36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39])
    assert auroc2(table).value[0] == pytest.approx(0.70967198, abs=1e-8)
    assert auroc2(table, plus_one=True).value[0] == pytest.approx(0.69980643, abs=1e-8)
    with pytest.raises(ValueError, match="twice"):
        auroc2(padded(table), plus_one=True)


@pytest.mark.parametrize(
    ("pair", "value", "status"),
    [
        (([0, 0], [0, 0]), np.nan, "no items"),
        (([4, 0, 0, 0], [0, 0, 0, 4]), np.nan, "all correct"),
        (([0, 0, 4, 0], [0, 4, 0, 0]), np.nan, "all wrong"),
        (([3, 0, 0, 3], [3, 0, 0, 3]), 0.5, "one confidence level"),
    ],
)
def test_cells_without_area_or_interval_say_why(pair, value, status):
    result = auroc2(counts(*pair))
    assert result.status[0] == status
    assert result.value[0] == pytest.approx(value, nan_ok=True)
    assert np.isnan([result.low[0], result.high[0], result.sem[0]]).all()


values = st.lists(st.one_of(st.integers(-5, 5), st.just(float("nan"))), max_size=50)


@given(values, st.integers(1, 7))
def test_bins_keep_order_and_ties_together_and_lose_nobody(numbers, bins):
    confidence = np.array(numbers, dtype=float)
    rating, status = bin_confidence(confidence, bins)
    there = ~np.isnan(confidence)
    assert ((rating >= 1) == there).all() and (rating <= bins).all()
    rated = dict(zip(confidence[there].tolist(), rating[there].tolist(), strict=True))
    assert [rated[value] for value in confidence[there].tolist()] == rating[there].tolist()
    assert [rated[value] for value in sorted(rated)] == sorted(rated.values())
    assert (status[0] == "ok") == (len(set(rated.values())) == bins)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=50, unique=True), st.integers(1, 7))
def test_bins_without_ties_are_of_equal_size_whatever_the_scale(numbers, bins):
    rating, _ = bin_confidence(numbers, bins)
    sizes = np.bincount(rating, minlength=bins + 1)[1:]
    assert sizes.max() - sizes.min() <= 1
    assert (bin_confidence(np.exp(np.array(numbers) / 10), bins)[0] == rating).all()


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=50))
def test_groups_are_binned_each_on_their_own(rows):
    confidence, group = (np.array(column) for column in zip(*rows, strict=True))
    together, status = bin_confidence(confidence, 3, group)
    for one in set(group.tolist()):
        rating, own = bin_confidence(confidence[group == one], 3)
        assert (together[group == one] == rating).all() and status[one] == own[0]
