import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats.resampling import Patterns, interval, patterns_of

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


def test_splitting_the_draws_into_blocks_does_not_change_them(monkeypatch):
    patterns = patterns_of(np.repeat(np.arange(40), 2), np.random.default_rng(0).integers(0, 4, 80), 4)
    whole = resampling.patterns(patterns, 30, 5)
    monkeypatch.setattr("metacog_pipeline.stats.resampling._CHUNK", 13)
    assert np.array_equal(whole, resampling.patterns(patterns, 30, 5))


def test_resampling_patterns_is_resampling_items():
    rng = np.random.default_rng(3)
    items = np.repeat(np.arange(60), 3)
    cells = (rng.random(180) < np.repeat(rng.random(60), 3)).astype(int)
    by_item = np.bincount(items * 2 + cells, minlength=120).reshape(60, 2)
    naive = np.array([share_of_last(by_item[rng.integers(0, 60, 60)].sum(0)[None])[0] for _ in range(4000)])
    draws = share_of_last(resampling.patterns(patterns_of(items, cells, 2), 4000, 1))
    assert draws.mean() == pytest.approx(naive.mean(), abs=0.005)
    assert draws.std() == pytest.approx(naive.std(), rel=0.06)


def test_what_is_often_undefined_has_no_interval():
    assert not resampling.patterns(Patterns(np.zeros((0, 2)), []), 10, 0).any()
    assert interval(np.array([np.nan, np.nan, 1.0])) == (None, None)
    assert interval(np.array([np.nan, 1.0])) == (None, None)
    assert interval(np.array([])) == (None, None)
    assert interval(np.full(3, np.nan), 0.5) == (None, None)


@given(observations, st.lists(st.integers(-1, 1), min_size=4, max_size=4))
def test_collapsing_patterns_equals_counting_coarser_cells(rows, groups):
    items, cells = map(np.array, zip(*rows, strict=True))
    collapsed = patterns_of(items, cells, 4).collapse(groups, 2)
    kept = np.array(groups)[cells]
    assert collapsed.totals.tolist() == [int((kept == 0).sum()), int((kept == 1).sum())]
    assert collapsed.n_items == len(set(items.tolist()))


# --- frozen bytes: the random numbers are part of every published interval -------------------------------------------


def digest(array):
    """Shape and bytes as doubles; the values below were taken from the resamplers this package replaced."""
    held = np.ascontiguousarray(np.asarray(array, dtype=np.float64))
    return hashlib.sha256(repr(held.shape).encode() + held.tobytes()).hexdigest()[:16]


@pytest.fixture
def luck():
    return np.random.default_rng(0)


def test_patterns_are_drawn_as_ever(luck):
    table = patterns_of(np.repeat(np.arange(40), 3), luck.integers(0, 6, 120), 6)
    assert digest(table.counts) == "4bb5c2663b247d7a"
    assert digest(resampling.patterns(table, 200, 7)) == "b7d7098799f9ba78"
    one_run = patterns_of(np.arange(300), np.arange(300) % 7, 7)
    assert digest(resampling.patterns(one_run, 50, 123456789012)) == "d5b934aa74c51c27"


def test_weights_and_indices_are_drawn_as_ever():
    assert digest(resampling.weights(25, 60, 7)) == "8f9bcdfe02e0cf00"
    assert digest(resampling.weights(25, 60, [7, 2])) == "a8add95003f48c79"
    assert digest(resampling.indices(25, 60, 7)) == "b1a51c320f3631c8"
    rng = resampling.generator(11)
    drawn = [
        resampling.occurrences(resampling.indices(25, size, rng)) for size in resampling.blocks(25, 25, 180)
    ]
    assert digest(np.concatenate(drawn)) == "9987826d3d8d2c8b"


# --- p values --------------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(-1, 1), min_size=20, max_size=60), st.floats(0.5, 2.0))
def test_a_p_of_resamples_is_never_below_its_floor_and_agrees_with_the_interval(drawn, shift):
    draws = np.array(drawn) + shift
    p = resampling.p_value(draws)
    assert 2 / (len(draws) + 1) <= p <= 1.0
    low, _ = interval(np.tile(draws, 200))
    assert not (low > 1e-9) or resampling.p_value(np.tile(draws, 200)) <= 0.0505


@pytest.mark.parametrize("undefined", [np.nan, np.inf, -np.inf])
def test_more_than_one_undefined_resample_in_twenty_leaves_no_interval_and_no_p(luck, undefined):
    draws = luck.normal(0.4, 0.2, 1000)
    few, many = draws.copy(), draws.copy()
    few[:50], many[:51] = undefined, undefined
    assert interval(few) == interval(draws[50:]) and interval(many) == (None, None)
    assert resampling.p_value(few) is not None and resampling.p_value(many) is None
    for kind in ("percentile", "widened"):
        found = resampling.from_draws(0.4, many, 10, "x", kind=kind)
        assert found.low is None and "5 %" in found.status and found.value == 0.4
    for wald in (False, True):
        told = resampling.difference(0.4, many, wald=wald)
        assert (told.low, told.se, told.p, told.statistic, told.usable) == (None, None, None, None, 949)


def test_p_of_a_share_has_a_floor_and_is_the_same_for_both_signs():
    draws = np.linspace(0.1, 0.9, 999)
    assert resampling.p_value(draws) == resampling.p_value(-draws) == 2 / 1000
    assert resampling.p_value(np.zeros(10)) == 1.0


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200))
def test_the_ends_of_an_interval_are_those_of_numpy_to_the_last_bit(drawn):
    assert resampling.interval(np.array(drawn)) == tuple(np.quantile(drawn, resampling.ENDS))
