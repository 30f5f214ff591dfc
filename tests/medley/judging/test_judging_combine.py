"""Several judges, one grade per dimension."""

from statistics import mean, median

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.medley.judging.combine import COMBINED_SCHEMA, combine, grades
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


def test_the_median_of_three_the_mean_of_two_and_a_single_one_that_is_marked():
    frame = combine(
        judgements({"x": [0.0, 0.2, 0.9, None], "y": [1.0, 0.4, None, None], "z": [0.9, None, None, None]})
    )
    assert frame.schema == COMBINED_SCHEMA
    assert frame["transparency"].to_list() == pytest.approx([0.9, 0.3, 0.9, None])
    assert frame["n_judges"].to_list() == [3, 2, 1, 0]
    assert frame["status"].to_list() == ["ok", "ok", "single judge", "no judge"]
    assert frame["judges"].to_list() == ["x, y, z", "x, y", "x", ""]
    assert frame["n_eligible"].to_list() == [3] * 4


def test_the_mean_and_the_first_judge_are_options():
    table = {"x": [0.0, None], "y": [0.9, 0.9], "z": [0.9, 0.9]}
    assert combine(judgements(table), "mean")["transparency"].to_list() == pytest.approx([0.6, 0.9])
    single = combine(judgements(table), "single")
    assert single["transparency"].to_list() == [0.0, None]
    assert single["status"].to_list() == ["single judge", "no judge"]
    assert single["judges"].to_list() == ["x", ""]
    assert single["how"].unique().to_list() == ["single"]


def test_an_unknown_way_is_refused_with_those_there_are():
    with pytest.raises(StudyError, match="median, mean, single"):
        combine(judgements({"x": [1.0]}), "mode")


def test_a_dimension_only_some_judges_graded_is_combined_from_these():
    one = judgements({"x": [0.0], "y": [0.6]})
    frame = combine(
        one.with_columns(
            transparency=pl.when(pl.col("judge") == "x").then(None).otherwise(pl.col("transparency"))
        )
    )
    assert (frame["transparency"][0], frame["attribution_depth"][0]) == pytest.approx((0.6, 0.3))
    assert frame["n_judges"][0] == 2


def test_models_with_other_judges_are_combined_each_by_its_own():
    both = pl.concat([judgements({"x": [0.0], "y": [1.0]}, "m"), judgements({"y": [1.0]}, "n")])
    frame = combine(both)
    assert frame.select("model", "transparency", "n_eligible").rows() == [("m", 0.5, 2), ("n", 1.0, 1)]


def test_nothing_judged_gives_no_rows():
    assert combine(judgements({})).schema == COMBINED_SCHEMA
    assert combine(judgements({})).is_empty()


def test_one_simulated_judge_makes_the_grade_simulated():
    both = pl.concat([judgements({"x": [0.0]}), judgements({"y": [1.0]}, source="simulated")])
    assert combine(both)["source"].to_list() == ["simulated"]


def test_grades_are_found_by_instance_and_condition():
    found = grades(combine(judgements({"x": [0.25, None]})))
    assert found["I0", "normal"] == dict.fromkeys(JUDGE_DIMENSIONS, 0.25)
    assert set(found["I1", "normal"].values()) == {None}


GRADES = st.lists(st.none() | st.integers(0, 9).map(lambda n: n / 9), min_size=3, max_size=3)


@given(st.lists(GRADES, min_size=1, max_size=5))
def test_the_order_of_judges_decides_nothing_and_no_grade_is_made_up(table):
    by_judge = dict(zip("xyz", zip(*table, strict=True), strict=True))
    forward = combine(judgements(by_judge))["transparency"].to_list()
    backward = combine(judgements(dict(reversed(by_judge.items()))))["transparency"].to_list()
    assert forward == backward
    for row, value in zip(table, forward, strict=True):
        known = [grade for grade in row if grade is not None]
        assert value == (pytest.approx(median(known)) if known else None)
    means = combine(judgements(by_judge), "mean")["transparency"].to_list()
    for row, value in zip(table, means, strict=True):
        known = [grade for grade in row if grade is not None]
        assert value == (pytest.approx(mean(known)) if known else None)
