"""Several judges, one grade per dimension."""

from statistics import mean, median

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.medley.judging.combine import combined
from metacog_pipeline.benchmarks.medley.judging.rows import JUDGEMENT_SCHEMA
from metacog_pipeline.benchmarks.medley.parsing import JUDGE_DIMENSIONS
from metacog_pipeline.errors import StudyError


def judgements(table, model="m", source="measured", dimensions=JUDGE_DIMENSIONS):
    """Rows from {judge: [grade of instance 1, 2, …]}; None for no grade."""
    rows = [
        {
            "benchmark": "medley_judgements",
            "dataset": "published",
            "domain": "medical",
            "condition": "normal",
            "model": model,
            "run": 1,
            "judge": judge,
            "judge_family": judge,
            "judge_place": place,
            "item_id": f"I{number}",
            "position": number,
            **dict.fromkeys(dimensions, value),
            "status": "ok" if value is not None else "not_run",
            "reading": "strict",
            "source": source,
        }
        for place, (judge, values) in enumerate(table.items())
        for number, value in enumerate(values)
    ]
    return pl.DataFrame(rows, schema=JUDGEMENT_SCHEMA)


def transparency(table, how="median"):
    return [grades["transparency"] for grades in combined(judgements(table), how).values()]


def test_the_median_of_three_the_mean_of_two_and_what_nobody_graded_stays_missing():
    table = {"x": [0.0, 0.2, 0.9, None], "y": [1.0, 0.4, None, None], "z": [0.9, None, None, None]}
    assert transparency(table) == pytest.approx([0.9, 0.3, 0.9, None])


def test_the_mean_and_the_first_judge_are_options():
    table = {"x": [0.0, None], "y": [0.9, 0.9], "z": [0.9, 0.9]}
    assert transparency(table, "mean") == pytest.approx([0.6, 0.9])
    assert transparency(table, "single") == [0.0, None]
    with pytest.raises(StudyError, match="median, mean, single"):
        transparency(table, "mode")


def test_a_dimension_only_some_judges_graded_is_combined_from_these():
    one = judgements({"x": [0.0], "y": [0.6]})
    unsaid = pl.when(pl.col("judge") == "x").then(None).otherwise(pl.col("transparency"))
    (found,) = combined(one.with_columns(transparency=unsaid)).values()
    assert (found["transparency"], found["attribution_depth"]) == pytest.approx((0.6, 0.3))


def test_models_with_other_judges_are_combined_each_by_its_own():
    both = pl.concat([judgements({"x": [0.0], "y": [1.0]}, "m"), judgements({"y": [1.0]}, "n")])
    found = combined(both)
    assert set(found["m", 1, "normal", "I0"].values()) == {0.5}
    assert set(found["n", 1, "normal", "I0"].values()) == {1.0}
    assert combined(judgements({})) == {}


GRADES = st.lists(st.none() | st.integers(0, 9).map(lambda n: n / 9), min_size=3, max_size=3)


@given(st.lists(GRADES, min_size=1, max_size=5))
def test_the_order_of_judges_decides_nothing_and_no_grade_is_made_up(table):
    by_judge = dict(zip("xyz", zip(*table, strict=True), strict=True))
    assert transparency(by_judge) == transparency(dict(reversed(by_judge.items())))
    for how, rule in (("median", median), ("mean", mean)):
        for row, value in zip(table, transparency(by_judge, how), strict=True):
            known = [grade for grade in row if grade is not None]
            assert value == (pytest.approx(rule(known)) if known else None)
