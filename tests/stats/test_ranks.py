"""Average ranks and guarded Spearman correlations, row by row."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metacog_pipeline.stats import ranks
from metacog_pipeline.stats._arrays import mean_ranks
from metacog_pipeline.stats.resampling import Z95

pairs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=9)


def test_ties_share_their_mean_rank_and_missing_values_move_no_other():
    assert mean_ranks(np.array([[3.0, 1.0, 3.0, 2.0]])).tolist() == [[3.5, 1.0, 3.5, 2.0]]
    ranked = mean_ranks(np.array([[3.0, np.nan, 1.0]]))
    assert ranked[0, [0, 2]].tolist() == [2.0, 1.0] and np.isnan(ranked[0, 1])


@settings(max_examples=60, deadline=None)
@given(pairs)
def test_rho_and_p_are_those_of_scipy(values):
    x, y = (np.array(column) / 7 for column in zip(*values, strict=True))
    found = ranks.spearman_rows([x], [y])
    if x.std() < 1e-10 or y.std() < 1e-10:
        assert found.status[0] == ranks.NO_SPREAD and found.rho[0] == 0 and found.p[0] == 1
        return
    expected = stats.spearmanr(x, y)
    assert found.rho[0] == pytest.approx(expected.statistic, abs=1e-12)
    assert found.p[0] == pytest.approx(max(expected.pvalue, 2 / math.factorial(len(x))), abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(st.lists(pairs, min_size=1, max_size=5))
def test_a_row_with_missing_pairs_is_the_row_without_them(tables):
    width = max(map(len, tables)) + 1
    x, y = np.full((len(tables), width), np.nan), np.full((len(tables), width), 0.5)
    for row, table in enumerate(tables):
        x[row, : len(table)], y[row, : len(table)] = zip(*table, strict=True)
    together = ranks.spearman_rows(x, y)
    for row, table in enumerate(tables):
        alone = ranks.spearman_rows(*([column] for column in zip(*table, strict=True)))
        assert together.rho[row] == pytest.approx(alone.rho[0], abs=1e-12)
        assert (together.n[row], together.status[row]) == (alone.n[0], alone.status[0])


def test_the_guard_gives_zero_and_a_reason():
    few, flat = ranks.spearman_rows([[1.0, 2.0]], [[1.0, 2.0]]), ranks.spearman_rows([[1, 1, 1]], [[1, 2, 3]])
    assert (few.rho[0], few.p[0], few.status[0]) == (0.0, 1.0, ranks.TOO_FEW)
    assert (flat.rho[0], flat.p[0], flat.status[0]) == (0.0, 1.0, ranks.NO_SPREAD)
    assert ranks.spearman([1, 1, 1], [1, 2, 3]).value is None
    assert ranks.spearman_rows(np.zeros((0, 4)), np.zeros((0, 4))).rho.shape == (0,)
    assert ranks.spearman_rows(np.zeros((2, 0)), np.zeros((2, 0))).status.tolist() == [
        ranks.TOO_FEW,
        ranks.TOO_FEW,
    ]


def test_the_interval_goes_through_fishers_z():
    found = ranks.fisher_interval(0.5, 28)
    assert found.low == pytest.approx(np.tanh(np.arctanh(0.5) - Z95 / 5))
    assert found.high == pytest.approx(np.tanh(np.arctanh(0.5) + Z95 / 5))
    assert (
        ranks.fisher_interval(1.0, 10).status == ranks.PERFECT and ranks.fisher_interval(1.0, 10).low is None
    )
    assert ranks.fisher_interval(0.3, 3).low is None
