"""Several judges, one grade per dimension."""

from statistics import median

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.medley.judging.combine import combined
from tests.medley.judging.conftest import judgements


def transparency(table):
    return [grades["transparency"] for grades in combined(judgements(table)).values()]


def test_the_median_of_three_the_mean_of_two_and_what_nobody_graded_stays_missing():
    table = {"x": [0.0, 0.2, 0.9, None], "y": [1.0, 0.4, None, None], "z": [0.9, None, None, None]}
    assert transparency(table) == pytest.approx([0.9, 0.3, 0.9, None])


def test_a_dimension_only_some_judges_graded_is_combined_from_these():
    one = judgements({"x": [0.0], "y": [0.6]})
    unsaid = pl.when(pl.col("judge") == "x").then(None).otherwise(pl.col("transparency"))
    (found,) = combined(one.with_columns(transparency=unsaid)).values()
    assert (found["transparency"], found["attribution_depth"]) == pytest.approx((0.6, 0.3))


def test_models_with_other_judges_are_combined_each_by_its_own():
    both = pl.concat([judgements({"x": [0.0], "y": [1.0]}), judgements({"y": [1.0]}, model="n")])
    found = combined(both)
    assert set(found["m", 1, "normal", "I0"].values()) == {0.5}
    assert set(found["n", 1, "normal", "I0"].values()) == {1.0}
    assert combined(judgements({})) == {}


GRADES = st.lists(st.none() | st.integers(0, 9).map(lambda n: n / 9), min_size=3, max_size=3)


@given(st.lists(GRADES, min_size=1, max_size=5))
def test_the_order_of_judges_decides_nothing_and_no_grade_is_made_up(table):
    by_judge = dict(zip("xyz", zip(*table, strict=True), strict=True))
    assert transparency(by_judge) == transparency(dict(reversed(by_judge.items())))
    for row, value in zip(table, transparency(by_judge), strict=True):
        known = [grade for grade in row if grade is not None]
        assert value == (pytest.approx(median(known)) if known else None)
