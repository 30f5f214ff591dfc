"""Risk against coverage: held against every order of tied answers and rejection curves integrated by hand."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.stats.auroc import auroc
from metacog_pipeline.stats.selective import aurc_statistic, curve, excess_aurc_statistic, of_trials
from metacog_pipeline.stats.trials import trials
from tests.tables import every


def selective(*answers, **drawn):
    return of_trials(trials(*answers, **drawn))


ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1)), min_size=1, max_size=60)
FEW = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=6)


def table(rows, levels=5):
    return np.bincount([2 * level + right for level, right in rows], minlength=2 * levels).astype(float)[None]


def orders(rows):
    """Yield whether each answer is wrong, surest first, in every order that the confidences allow."""
    for order in permutations(rows):
        if all(a[0] >= b[0] for a, b in pairwise(order)):
            yield np.array([1 - right for _, right in order])


@given(FEW)
@settings(max_examples=60, deadline=None)
def test_the_area_is_the_mean_over_every_order_of_tied_answers(rows):
    risks = [np.cumsum(wrong) / np.arange(1, len(rows) + 1) for wrong in orders(rows)]
    assert aurc_statistic(table(rows, 3))[0] == pytest.approx(np.mean(risks), abs=1e-12)
    best = np.sort([1 - right for _, right in rows])
    least = (np.cumsum(best) / np.arange(1, len(rows) + 1)).mean()
    assert excess_aurc_statistic(table(rows, 3))[0] == pytest.approx(np.mean(risks) - least, abs=1e-12)


@given(FEW)
@settings(max_examples=60, deadline=None)
def test_the_curve_is_the_mean_risk_over_every_order_of_tied_answers(rows):
    risks = np.mean([np.cumsum(w) / np.arange(1, len(rows) + 1) for w in orders(rows)], axis=0)
    found = curve(trials(*zip(*rows, strict=True), stream=1, n_draws=20))
    assert found.risk == pytest.approx(risks, abs=1e-12)
    assert found.coverage == pytest.approx(np.arange(1, len(rows) + 1) / len(rows))


def rejection_area(wrong):
    """Return the area under the share of all answers that is wrong and kept, against the share rejected, surest last."""
    kept = np.r_[0, np.cumsum(wrong)][::-1] / len(wrong)
    return np.trapezoid(kept, dx=1 / len(wrong))


@given(ROWS)
@settings(max_examples=40, deadline=None)
def test_the_ratio_is_that_of_the_areas_between_rejection_curves(rows):
    right = np.array([right for _, right in rows])
    found = selective(*zip(*rows, strict=True), n_draws=20).prr
    if found.value is None:
        assert right.all() or not right.any() or len({level for level, _ in rows}) == 1
        return
    share = (1 - right).mean()
    at_random = share / 2
    best = rejection_area(np.sort(1 - right))
    # Within a tie every order is as likely: the curve is straight, which equal fractions of an error draw.
    level = np.array([level for level, _ in rows])
    spread = np.concatenate(
        [np.full((level == each).sum(), 1 - right[level == each].mean()) for each in sorted(set(level))[::-1]]
    )
    assert found.value == pytest.approx((at_random - rejection_area(spread)) / (at_random - best), abs=1e-9)
    assert found.value == pytest.approx(2 * auroc(level, right).value - 1, abs=1e-12)


def test_a_model_that_is_sure_of_the_right_answers_alone_has_no_excess_and_no_interval():
    found = selective([5, 4, 3, 2, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0, 0, 0, 0], stream=1)
    assert (found.excess_aurc.value, found.excess_aurc.low) == (0.0, None)
    assert found.excess_aurc.status == "few correct: 4"
    perfect = selective(np.repeat([2, 1], 10), np.repeat([1, 0], 10), stream=1)
    assert (perfect.excess_aurc.value, perfect.excess_aurc.status) == (0.0, "perfect separation")
    assert perfect.prr.value == 1.0


@every(
    ("confidence", "correct", "status"),
    [
        ([], [], "no items"),
        ([1, 2, 3], [1, 1, 1], "all correct"),
        ([1, 2, 3], [0, 0, 0], "all wrong"),
        ([2, 2, 2], [0, 1, 0], "one confidence level"),
        ([0.5], [1], "all correct"),
    ],
)
def test_without_an_order_to_judge_there_is_a_reason_and_no_number(confidence, correct, status):
    found = selective(confidence, correct, stream=1, n_draws=20)
    for each in (found.aurc, found.excess_aurc, found.prr):
        assert (each.value, each.low, each.status) == (None, None, status)
