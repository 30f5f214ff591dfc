"""Resamples fitted from the sample's own maximum are those fitted from nowhere."""

import numpy as np
import pytest

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats.mafc.fit import fit
from metacog_pipeline.stats.mafc.intervals import Cell
from metacog_pipeline.stats.mafc.refit import refit

CELLS = [
    ([40, 60, 90, 160, 300], [60, 50, 40, 30, 20], 4),  # clearly above chance
    ([300, 160, 90, 60, 40], [20, 30, 40, 50, 60], 4),  # confidence turned round
    ([50, 50, 50, 50], [16, 18, 17, 15], 5),  # meta-d' near zero
    ([0, 2, 40, 60], [1, 1, 1, 0], 2),  # few errors: resamples at a boundary
]


@pytest.mark.parametrize(("right", "wrong", "m"), CELLS)
def test_a_refit_from_the_sample_is_the_fit_of_the_resample(right, wrong, m):
    own = np.array([right], float), np.array([wrong], float)
    drawn = resampling.table(np.hstack(own), 300, 1)[:, 0]
    again = drawn[:, None, : len(right)], drawn[:, None, len(right) :]
    cold = fit(*again, np.full((300, 1), m))
    warm = refit(*again, [m], fit(own[0][None], own[1][None], m), own)
    for name, tolerance in (("d", 1e-8), ("meta_d", 1e-4), ("m_ratio", 1e-4)):
        expected, made = getattr(cold, name), getattr(warm, name)
        known = np.isfinite(expected)
        assert (known == np.isfinite(made)).all()
        np.testing.assert_allclose(made[known], expected[known], rtol=tolerance, atol=tolerance)


def test_criteria_are_found_where_newton_steps_go_to_and_fro():
    right = [
        498,
        708,
        764,
        1081,
        827,
        1293,
        1124,
        770,
        1226,
        1357,
        1415,
        904,
        1396,
        1304,
        1644,
        1109,
        1318,
        1452,
        1366,
        1622,
    ]
    wrong = [
        1089,
        775,
        647,
        648,
        449,
        527,
        424,
        268,
        352,
        328,
        253,
        178,
        245,
        228,
        214,
        130,
        141,
        100,
        79,
        50,
    ]
    around = Cell(right, wrong, 4).m_ratio_interval()
    assert around.low < around.value < around.high < around.low + 0.2
