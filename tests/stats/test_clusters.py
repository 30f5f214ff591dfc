import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.stats.clusters import (
    Patterns,
    cluster_bootstrap,
    merge_patterns,
    patterns_of,
    percentile_interval,
    resample,
)

observations = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), min_size=1, max_size=60)


def as_set(patterns):
    return {(tuple(map(int, c)), int(w)) for c, w in zip(patterns.counts, patterns.weights, strict=True)}


def share_of_last(totals):
    return totals[:, -1] / totals.sum(axis=1)


@given(observations, st.randoms(use_true_random=False))
def test_patterns_keep_every_item_and_observation_in_any_order(rows, random):
    items, cells = zip(*rows, strict=True)
    patterns = patterns_of(items, cells, 4)
    expected = {}
    for item, cell in rows:
        expected.setdefault(item, [0, 0, 0, 0])[cell] += 1
    by_vector = {}
    for vector in expected.values():
        by_vector[tuple(vector)] = by_vector.get(tuple(vector), 0) + 1
    assert as_set(patterns) == set(by_vector.items())
    assert patterns.n_items == len(expected)
    assert patterns.totals.tolist() == np.bincount(cells, minlength=4).tolist()
    shuffled = random.sample(rows, len(rows))
    assert as_set(patterns_of(*zip(*shuffled, strict=True), 4)) == as_set(patterns)


@given(observations)
@settings(max_examples=50)
def test_the_order_of_the_rows_does_not_change_one_byte_of_the_resamples(rows):
    items, cells = map(np.array, zip(*rows, strict=True))
    forward, backward = patterns_of(items, cells, 4), patterns_of(items[::-1], cells[::-1], 4)
    assert np.array_equal(resample(forward, 20, 7), resample(backward, 20, 7))


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others():
    patterns = patterns_of(np.arange(100), np.arange(100) % 3, 3)
    assert resample(patterns, 50, 1).tobytes() == resample(patterns, 50, 1).tobytes()
    assert resample(patterns, 50, 1).tobytes() != resample(patterns, 50, 2).tobytes()


def test_splitting_the_draws_into_blocks_does_not_change_them(monkeypatch):
    patterns = patterns_of(np.repeat(np.arange(40), 2), np.random.default_rng(0).integers(0, 4, 80), 4)
    whole = resample(patterns, 30, 5)
    monkeypatch.setattr("metacog_pipeline.stats.clusters._CHUNK", 13)
    assert np.array_equal(whole, resample(patterns, 30, 5))


def test_resampling_patterns_is_resampling_items():
    rng = np.random.default_rng(3)
    items = np.repeat(np.arange(60), 3)
    cells = (rng.random(180) < np.repeat(rng.random(60), 3)).astype(int)
    by_item = np.bincount(items * 2 + cells, minlength=120).reshape(60, 2)
    naive = np.array([share_of_last(by_item[rng.integers(0, 60, 60)].sum(0)[None])[0] for _ in range(4000)])
    draws = share_of_last(resample(patterns_of(items, cells, 2), 4000, 1))
    assert draws.mean() == pytest.approx(naive.mean(), abs=0.005)
    assert draws.std() == pytest.approx(naive.std(), rel=0.06)


def test_an_item_asked_three_times_alike_counts_once():
    cells = np.array([0] * 30 + [1] * 70)
    once = patterns_of(np.arange(100), cells, 2)
    thrice = patterns_of(np.repeat(np.arange(100), 3), np.repeat(cells, 3), 2)
    one = cluster_bootstrap(once.counts, once.weights, share_of_last, 500, 4)
    three = cluster_bootstrap(thrice.counts, thrice.weights, share_of_last, 500, 4)
    assert one == pytest.approx(three, abs=0.02)
    assert one[0] < 0.7 < one[1]


def test_degenerate_tables_have_no_interval():
    assert cluster_bootstrap(np.zeros((0, 2)), [], share_of_last, 10, 0) == (None, None)
    assert cluster_bootstrap([[1, 0]], [1], share_of_last, 10, 0) == (None, None)
    assert cluster_bootstrap([[1, 0]], [0], share_of_last, 10, 0) == (None, None)
    assert percentile_interval(np.array([np.nan, np.nan, 1.0])) == (None, None)
    assert percentile_interval(np.array([np.nan, 1.0])) == (1.0, 1.0)
    assert percentile_interval(np.array([])) == (None, None)


def test_collapsing_cells_merges_patterns_and_drops_on_request():
    patterns = Patterns(np.eye(4, dtype=int), np.array([5, 6, 7, 0]))
    assert as_set(patterns.collapse([0, 0, 1, -1], 2)) == {((1, 0), 11), ((0, 1), 7)}
    assert as_set(patterns.collapse([0, -1, -1, -1], 1)) == {((1,), 5), ((0,), 13)}


@given(observations, st.lists(st.integers(-1, 1), min_size=4, max_size=4))
def test_collapsing_patterns_equals_counting_coarser_cells(rows, groups):
    items, cells = map(np.array, zip(*rows, strict=True))
    collapsed = patterns_of(items, cells, 4).collapse(groups, 2)
    kept = np.array(groups)[cells]
    assert collapsed.totals.tolist() == [int((kept == 0).sum()), int((kept == 1).sum())]
    assert collapsed.n_items == len(set(items.tolist()))


@pytest.mark.parametrize(
    "call",
    [
        lambda: patterns_of([1, 2], [0], 2),
        lambda: patterns_of([1], [2], 2),
        lambda: patterns_of([1], [-1], 2),
        lambda: patterns_of([[1]], [0], 2),
        lambda: Patterns(np.eye(2), np.array([1])),
        lambda: Patterns(np.eye(2), np.array([1, -1])),
        lambda: Patterns(np.array([[0.5]]), np.array([1])),
        lambda: merge_patterns([[1, 2]], [1, 2]),
        lambda: Patterns(np.eye(2), np.array([1, 1])).collapse([0], 1),
        lambda: Patterns(np.eye(2), np.array([1, 1])).collapse([0, 2], 2),
        lambda: resample(Patterns(np.eye(2), np.array([1, 1])), 0, 1),
        lambda: resample(Patterns(np.eye(2), np.array([1, 1])), 5, -1),
        lambda: cluster_bootstrap(np.eye(2), [1, 1], lambda t: t, 5, 1),
    ],
)
def test_wrong_shapes_and_numbers_are_value_errors(call):
    with pytest.raises(ValueError, match=r"\w"):
        call()
