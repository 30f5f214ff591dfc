"""Principal components of standardised columns."""

import numpy as np
import pytest

from metacog_pipeline.stats.estimate import OK
from metacog_pipeline.stats.pca import NO_SPREAD, TOO_FEW, pca


def test_explained_shares_are_those_of_the_correlation_matrix():
    table = np.random.default_rng(0).random((50, 4)) @ np.array(
        [[1, 0.9, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.5], [0, 0, 0, 1]]
    )
    found = pca(table)
    expected = np.sort(np.linalg.eigvalsh(np.corrcoef(table.T)))[::-1] / 4
    assert found.explained == pytest.approx(expected, abs=1e-12)
    assert found.explained.sum() == pytest.approx(1.0)
    assert found.loadings @ found.loadings.T == pytest.approx(np.eye(4), abs=1e-12)
    assert (found.status, found.n) == (OK, 50)


def test_columns_in_step_are_one_component_whatever_their_units():
    step = np.arange(10.0)
    found = pca(np.column_stack([step, 100 * step + 3, -step]))
    assert found.explained == pytest.approx([1, 0, 0], abs=1e-12)
    assert np.abs(found.loadings[0]) == pytest.approx([3**-0.5] * 3)


def test_a_column_without_spread_takes_no_part():
    found = pca(np.column_stack([np.arange(6.0), np.full(6, 0.3)]))
    assert found.explained == pytest.approx([1, 0])
    assert pca(np.full((6, 2), 0.3)).status == NO_SPREAD
    assert pca(np.ones((1, 3))).status == TOO_FEW


def test_the_sign_of_a_principal_component_does_not_hang_on_the_last_bit_of_equal_loadings():
    """Two columns that mirror each other load equally: the first one decides, and is positive."""
    x = np.arange(8.0)
    for table in (np.column_stack([x, -x]), np.column_stack([x, -x * (1 + 1e-15)])):
        assert pca(table).loadings[0, 0] > 0
