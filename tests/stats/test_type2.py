import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats.auroc import auroc, auroc_from_patterns, auroc_statistic
from metacog_pipeline.stats.counts import counts, padded
from metacog_pipeline.stats.resampling import Patterns
from metacog_pipeline.stats.type2 import auroc2, bin_confidence, type2_rates

vectors = st.integers(1, 6).flatmap(
    lambda k: st.tuples(*[st.lists(st.integers(0, 20), min_size=2 * k, max_size=2 * k)] * 2)
)
scored = st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1, max_size=60)


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


@given(vectors, st.integers(0, 5))
def test_a_rating_nobody_used_changes_no_area(pair, place):
    k = len(pair[0]) // 2
    place = min(place, k)
    wider = [[*side[: k - place], 0, *side[k - place : k + place], 0, *side[k + place :]] for side in pair]
    one, other = auroc2(counts(*pair)), auroc2(counts(*wider))
    assert np.allclose(one.value, other.value, equal_nan=True)
    assert np.allclose(one.sem, other.sem, equal_nan=True) and one.status[0] == other.status[0]


@given(vectors)
def test_rates_fall_with_the_rating_asked_for(pair):
    result = type2_rates(counts(*pair))
    for rates in result:
        assert rates.shape == (1, 2, len(pair[0]) // 2 - 1)
        assert all((np.diff(row[~np.isnan(row)]) <= 1e-12).all() for row in rates[0])


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


@given(scored)
def test_continuous_confidence_is_ranked_with_ties_at_their_middle(rows):
    confidence, correct = (np.array(column) for column in zip(*rows, strict=True))
    result = auroc(confidence, correct)
    n_right, n_wrong = correct.sum(), (~correct).sum()
    if result.value is not None:
        ranks = rankdata(confidence)[correct].sum()
        area = (ranks - n_right * (n_right + 1) / 2) / (n_right * n_wrong)
        assert result.value == pytest.approx(area)


def bootstrap(confidence, correct, items, n_draws):
    levels, index = np.unique(confidence, return_inverse=True)
    patterns = resampling.patterns_of(items, 2 * index + correct, 2 * len(levels))
    draws = auroc_statistic(resampling.patterns(patterns, n_draws, 4))
    return resampling.from_draws(0.5, draws, len(items), "bootstrap")


@pytest.mark.parametrize("levels", [5, 10**6])
def test_the_bootstrap_interval_is_about_the_scaled_score(levels):
    rng = np.random.default_rng(3)
    correct = rng.random(800) < 0.6
    confidence = np.floor(rng.normal(0.8 * correct, 1) * levels / 5)
    delong = auroc(confidence, correct)
    boot = bootstrap(confidence, correct, np.arange(800), 3000)
    assert boot.sem == pytest.approx(delong.sem, rel=0.08)
    assert (boot.low, boot.high) == pytest.approx((delong.low, delong.high), abs=0.006)


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
