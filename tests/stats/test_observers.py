import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from metacog_pipeline.stats.observers import expected_counts
from metacog_pipeline.stats.type1 import type1
from tests.observers import criteria_around

observers = st.tuples(
    st.floats(-3, 3), st.floats(-1, 2), st.floats(-1.5, 1.5), st.lists(st.floats(0.05, 1), max_size=4)
)


def cell_probabilities(*observer):
    """P(response, confidence | stimulus), ``(cells, 2, 2 K)``."""
    table = expected_counts(*observer, 2)
    return np.stack([table.n_s1, table.n_s2], axis=1)


def built(observer):
    d, ratio, c, gaps = observer
    return (d, ratio, c, *criteria_around(ratio, c, np.cumsum(gaps)))


@given(observers)
def test_expected_answers_give_back_d_and_c_exactly(observer):
    table = expected_counts(*built(observer), 10**6)
    result = type1(table)
    assert result.d[0] == pytest.approx(observer[0], abs=1e-9)
    assert result.c[0] == pytest.approx(observer[2], abs=1e-9)
    assert table.n[0] == pytest.approx(10**6)


@given(observers)
def test_ratings_follow_the_normal_of_meta_d_beyond_the_relative_criterion(observer):
    d, ratio, c, low, high = built(observer)
    p = cell_probabilities(d, ratio, c, low, high)
    k = p.shape[2] // 2
    m, meta_c = ratio * d, ratio * c
    for stimulus, mean in enumerate((-m / 2, m / 2)):
        assert p[0, stimulus].sum() == pytest.approx(1)
        upper = np.concatenate(([meta_c], high[0], [np.inf]))
        given_s2 = np.diff(norm.cdf(upper, mean)) / norm.sf(meta_c, mean)
        answer = norm.sf(c, (-d / 2, d / 2)[stimulus])
        assert p[0, stimulus, k:] == pytest.approx(answer * given_s2, abs=1e-9)


def test_far_tails_keep_their_digits_and_unused_ratings_are_zero():
    p = cell_probabilities(2, 10, 3, [20.0, 25.0], [31.0, np.inf])
    assert np.isfinite(p).all() and (p >= 0).all()
    assert p.sum(axis=2) == pytest.approx(1)
    assert (p[0, :, 5] == 0).all()
    merged = cell_probabilities(1, 1, 0, [-1.0, -1.0], [1.0, 1.0])
    assert (merged[0, :, 1] == 0).all() and (merged[0, :, 4] == 0).all()
