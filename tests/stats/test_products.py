"""Pairs over shared draws are those of each pair alone, whoever else is there, on the items both answered."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from metacog_pipeline.stats import intervals, resampling
from metacog_pipeline.stats._arrays import ratio
from metacog_pipeline.stats.paired_many import paired_shares
from metacog_pipeline.stats.resampling.products import shared_draws


def hit_share(totals):
    return ratio(totals[:, 0], totals[:, 1])


SIZES = st.tuples(st.integers(1, 40), st.integers(2, 6), st.integers(0, 2**32 - 1))


def crowd(items: int, models: int, seed: int, runs: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    asked = runs * (rng.random((items, models)) < rng.choice([0.5, 1.0], models)).astype(np.int64)
    return rng.binomial(asked, rng.random(models)), asked


@given(SIZES, st.sampled_from([1, 3]))
def test_a_pair_has_the_same_bytes_alone_and_among_others(size, runs):
    hits, asked = crowd(*size, runs)
    tables = np.stack([hits, asked], axis=2)
    every = list(combinations(range(hits.shape[1]), 2))
    together = {(each.first, each.second): each for each in shared_draws(tables, every, 20, 7)}
    of_all = paired_shares(hits, asked, every)
    for at, (i, j) in enumerate(every):
        (alone,) = shared_draws(tables[:, [i, j]], [(0, 1)], 20, 7)
        found = together[i, j]
        assert alone.n_items == found.n_items and alone.lost == found.lost
        for one, other in zip(alone.sides, found.sides, strict=True):
            assert one.drawn.tobytes() == other.drawn.tobytes()
            assert one.observed.tobytes() == other.observed.tobytes()
        own = paired_shares(hits[:, [i, j]], asked[:, [i, j]], [(0, 1)])
        assert all(
            getattr(own, name)[0].tobytes() == getattr(of_all, name)[at].tobytes()
            for name in ("n", "value", "low", "high", "sem", "p", "first_only", "second_only")
        )


def difference_and_error(hits1, runs1, hits2, runs2):
    """Return the difference of two shares, and its linearised standard error over items."""
    n, first, second = len(hits1), hits1.sum() / max(runs1.sum(), 1), hits2.sum() / max(runs2.sum(), 1)
    moved = (hits1 - first * runs1) / max(runs1.sum(), 1) - (hits2 - second * runs2) / max(runs2.sum(), 1)
    return first - second, np.sqrt(n / max(n - 1, 1) * (moved**2).sum())


@given(SIZES, st.sampled_from([1, 3]))
def test_differences_are_those_of_two_respondents_on_their_shared_items(size, runs):
    hits, asked = crowd(*size, runs)
    for i, j in combinations(range(hits.shape[1]), 2):
        (pair,) = shared_draws(np.stack([hits, asked], axis=2), [(i, j)], 5, 7)
        both = (asked[:, i] > 0) & (asked[:, j] > 0)
        value, sem = difference_and_error(*(each[both, k] for k in (i, j) for each in (hits, asked)))
        many = paired_shares(hits, asked, [(i, j)])
        assert pair.n_items == many.n[0] == both.sum()
        assert pair.lost == (((asked[:, i] > 0) & ~both).sum(), ((asked[:, j] > 0) & ~both).sum())
        if not both.any():
            continue
        assert np.subtract(*(hit_share(each.observed)[0] for each in pair.sides)) == pytest.approx(value)
        assert many.value[0] == pytest.approx(value)
        if both.sum() > 1:
            assert many.sem[0] == pytest.approx(sem, abs=1e-9)
            if sem > 1e-12:
                p = 2 * scipy_stats.t.sf(abs(value / sem), both.sum() - 1)
                assert many.p[0] == pytest.approx(p, abs=1e-6)
            else:
                assert np.isnan(many.p[0]) if abs(value) > 1e-12 else many.p[0] == 1.0
            sides = [resampling.Patterns(np.column_stack([h, a - h])[both], np.ones(both.sum(), dtype=int))
                     for h, a in ((hits[:, i], asked[:, i]), (hits[:, j], asked[:, j]))]  # fmt: skip
            one, two = (intervals.ratio(side, [1.0, 0.0], [1.0, 1.0]) for side in sides)
            moved = [
                side.counts[:, 0] - each.value * side.counts.sum(axis=1)
                for side, each in zip(sides, (one, two), strict=True)
            ]
            together = np.sqrt((moved[0] @ moved[0]) * (moved[1] @ moved[1]))
            r = (moved[0] @ moved[1]) / together if together > 0 else 0.0
            low, high, _ = intervals.difference(one, two, r)
            assert (many.low[0], many.high[0]) == pytest.approx((low, high), abs=1e-6)


def test_respondents_on_the_same_items_share_their_sides_and_others_their_own():
    hits, asked = np.ones((6, 4), dtype=int), np.ones((6, 4), dtype=int)
    asked[0, 3] = hits[0, 3] = 0
    pairs = shared_draws(np.stack([hits, asked], axis=2), combinations(range(4), 2), 10, 1)
    found = {(each.first, each.second): each for each in pairs}
    assert found[0, 1].sides[0] is found[0, 2].sides[0] is not found[0, 3].sides[0]
    assert found[0, 3].n_items == 5 and found[0, 3].lost == (1, 0)
    assert found[0, 3].sides[0].observed.tolist() == [[5.0, 5.0]]
