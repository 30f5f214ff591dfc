"""Calibration in the large, its slope and the equal-mass error, each against a short computation of another kind."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logit

from metacog_pipeline.stats.calibration_line import (
    CLIP,
    in_the_large,
    logistic,
    mass_ece_statistic,
    slope,
)
from metacog_pipeline.stats.trials import trials
from tests.tables import every

ROWS = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 1)), min_size=1, max_size=60)


def counted(rows, **more):
    level, right = zip(*rows, strict=True)
    return trials(np.array(level) / 10, right, stream=1, n_draws=50, **more)


@given(ROWS)
@settings(max_examples=60, deadline=None)
def test_the_slope_maximises_the_likelihood(rows):
    made = counted(rows)
    found = slope(made)
    x, right = (
        logit(np.clip([level / 10 for level, _ in rows], CLIP, 1 - CLIP)),
        np.array([r for _, r in rows]),
    )
    if found.value is None:
        parted = (
            not right.any()
            or right.all()
            or x[right == 0].max() <= x[right == 1].min()
            or x[right == 1].max() <= x[right == 0].min()
        )
        assert parted and found.status != "ok"
        return

    def loss(at):
        z = at[0] + at[1] * x
        return np.logaddexp(0, z).sum() - right @ z

    best = minimize(loss, [0.0, 0.0], method="BFGS", options={"gtol": 1e-9})
    (a,), (b,) = logistic(np.unique(x), made.totals[None].astype(float))
    assert loss([a, b]) <= best.fun + 1e-8
    assert found.value == b


def test_an_observer_of_known_slope_and_shift_is_found_again():
    rng = np.random.default_rng(4)
    confidence = rng.uniform(0.05, 0.95, 40_000)
    correct = rng.random(40_000) < expit(0.3 + 0.6 * logit(confidence))
    made = trials(confidence, correct, stream=1, n_draws=50)
    found = slope(made)
    assert found.low < 0.6 < found.high and found.high - found.low < 0.1
    large = in_the_large(made)
    assert large.value == pytest.approx(confidence.mean() - correct.mean())
    assert large.low < confidence.mean() - expit(0.3 + 0.6 * logit(confidence)).mean() < large.high


def test_the_standard_error_of_the_slope_is_the_sandwich():
    rng = np.random.default_rng(5)
    confidence = rng.choice([0.5, 0.7, 0.8, 0.9], 300)
    item = rng.integers(0, 120, 300)
    right = (rng.random(300) < confidence).astype(float)
    found = slope(trials(confidence, right, item, stream=1, n_draws=50))
    x = np.column_stack([np.ones(300), logit(confidence)])
    (a,), (b,) = logistic(
        logit(np.array([0.5, 0.7, 0.8, 0.9])),
        np.bincount(
            2 * np.searchsorted([0.5, 0.7, 0.8, 0.9], confidence) + right.astype(int), minlength=8
        ).astype(float)[None],
    )
    p = expit(x @ [a, b])
    bread = np.linalg.inv((x * (p * (1 - p))[:, None]).T @ x)
    share = ((x @ bread) * x).sum(axis=1) * p * (1 - p)
    parts = [
        ((right - p)[:, None] * x)[item == i].sum(axis=0) / (1 - share[item == i].sum()) for i in set(item)
    ]
    variance = (bread @ (np.stack(parts).T @ np.stack(parts)) @ bread)[1, 1]
    assert found.sem == pytest.approx(np.sqrt(variance), rel=1e-9)


@every(
    ("rows", "status"),
    [
        ([(5, 1), (8, 1)], "all correct"),
        ([(5, 0), (8, 0)], "all wrong"),
        ([(8, 0), (8, 1)], "one confidence level"),
        ([(5, 0), (8, 1), (9, 1)], "perfect separation"),
        ([(9, 0), (5, 1), (5, 1)], "perfect separation"),
    ],
)
def test_a_slope_that_does_not_exist_has_a_reason(rows, status):
    assert (slope(counted(rows)).value, slope(counted(rows)).status) == (None, status)


@given(ROWS)
@settings(max_examples=60, deadline=None)
def test_calibration_in_the_large_is_mean_confidence_minus_accuracy_inside_its_interval(rows):
    found = in_the_large(counted(rows))
    level, right = map(np.array, zip(*rows, strict=True))
    assert found.value == pytest.approx(level.mean() / 10 - right.mean())
    if len(rows) == 1:
        assert (found.low, found.status) == (None, "single item")
        return
    assert -1 <= found.low <= found.value + 1e-12 and found.value - 1e-12 <= found.high <= 1
    assert found.high > found.low


@given(ROWS)
@settings(max_examples=40, deadline=None)
def test_with_as_many_bins_as_answers_in_order_the_error_of_equal_mass_is_that_of_groups_of_equal_size(rows):
    """Ten copies of a row are one bin: groups of equal size that no cut divides."""
    rows = sorted(rows)[:10]
    level, right = map(np.array, zip(*[row for row in rows for _ in range(10)], strict=True))
    made = trials(level / 10, right, stream=1, n_draws=20)
    totals = made.totals[None].astype(float)
    groups = []
    for start in range(0, len(level), 10):
        same = [np.mean(right[level == each]) for each in level[start : start + 10]]
        groups.append(abs(np.mean(same) - level[start : start + 10].mean() / 10))
    assert mass_ece_statistic(made.stated, len(rows))(totals)[0] == pytest.approx(np.mean(groups), abs=1e-12)
