"""The M-ratio of a choice among m leaves as a number with an interval, or with the reason why not."""

import numpy as np
import polars as pl
import pytest

from metacog_pipeline.scoring.calibration import efficiency_of
from metacog_pipeline.scoring.harmonised import OF_CHOICES
from metacog_pipeline.stats.mafc import intervals
from metacog_pipeline.stats.mafc.efficiency import Choices, efficiency
from tests.tables import every


def of(right, wrong, m=4, draws=None):
    right, wrong = np.atleast_2d(np.asarray(right, float)), np.atleast_2d(np.asarray(wrong, float))
    return efficiency(Choices(right, wrong, np.atleast_1d(m), draws))


def test_an_ordinary_table_gives_numbers_with_intervals():
    found = of([4, 18, 26, 64, 126], [7, 8, 13, 15, 19])
    for name in OF_CHOICES:
        assert found[name].status == "ok" and found[name].value is not None, name
    assert found["m_ratio_mafc"].low == pytest.approx(0.284, abs=2e-3)


@every(
    ("right", "wrong", "reason"),
    [
        ([0, 0, 0], [0, 0, 0], "no items"),
        ([5, 5, 5], [0, 0, 0], "all correct"),
        ([0, 0, 0], [5, 5, 5], "all wrong"),
        ([0, 0, 30], [0, 0, 10], "one confidence level"),
        ([5, 5, 5], [20, 20, 20], "at chance or below"),
        ([0, 0, 90], [6, 4, 0], "lower limit only: at least 1.7"),
        ([0, 0, 90], [2, 2, 0], "lower limit only"),
        ([10, 20, 60], [2, 1, 1], "fewer than five"),
        ([8, 6, 8], [22, 15, 9], "d' may be 0"),
    ],
)
def test_what_is_no_ratio_says_why(right, wrong, reason):
    found = of(right, wrong)["m_ratio_mafc"]
    assert found.value is None and reason in found.status


def test_few_errors_keep_their_interval():
    found = of([10, 20, 60], [2, 1, 1])["m_ratio_mafc"]
    assert found.value is None and found.low is not None and found.low < 1


def test_no_known_alternatives_is_a_reason_of_its_own():
    found = efficiency(Choices(np.zeros((0, 1)), np.zeros((0, 1)), np.zeros(0, dtype=int)))
    assert all("alternatives" in found[name].status for name in OF_CHOICES)


def several_runs():
    """Three runs of 90 items of five alternatives, some harder than others."""
    rng = np.random.default_rng(6)
    hard, levels = np.tile(rng.normal(0, 1, 90), 3), rng.integers(0, 5, 270)
    right = rng.random(270) < 1 / (1 + np.exp(hard - 0.6 * levels))
    return pl.DataFrame(
        {
            "cluster": [f"q{n % 90}" for n in range(270)],
            "confidence": levels / 4,
            "correct": right.astype(float),
            "n_alternatives": pl.Series([5] * 270, dtype=pl.Int32),
        }
    )


def test_the_ends_of_a_resampled_interval_hardly_hang_on_the_seed():
    found = [efficiency_of(several_runs(), seed)["m_ratio_mafc"] for seed in range(6)]
    width = np.mean([each.high - each.low for each in found])
    for ends in ([each.low for each in found], [each.high for each in found]):
        assert np.std(ends) < 0.025 * width


def test_the_same_answers_have_the_same_interval_in_whatever_order_they_come():
    answers = several_runs()
    found = efficiency_of(answers, 1)
    assert found == efficiency_of(answers.sample(fraction=1.0, shuffle=True, seed=2), 1)


def test_eta_takes_the_shares_of_all_used_ratings_also_of_those_that_hold_only_right_answers():
    right, wrong = [2, 6, 20, 30, 40], [4, 5, 9, 0, 0]
    rows = [
        (level / 4, side)
        for side, counts in ((1.0, right), (0.0, wrong))
        for level, n in enumerate(counts)
        for _ in range(n)
    ]
    answers = pl.DataFrame(
        {
            "cluster": [f"q{n}" for n in range(len(rows))],
            "confidence": [confidence for confidence, _ in rows],
            "correct": [side for _, side in rows],
            "n_alternatives": pl.Series([5] * len(rows), dtype=pl.Int32),
        }
    )
    found, told = efficiency_of(answers, 1)["eta_mafc"], intervals.eta(right, wrong, 5)
    assert (found.value, found.low, found.high) == pytest.approx((told.value, told.low, told.high), rel=1e-12)
    joined = intervals.eta([2, 6, 20, 70], [4, 5, 9, 0], 5)
    assert abs(joined.value - told.value) > 1e-3
