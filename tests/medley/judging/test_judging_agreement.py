"""How far judges agree."""

import random

import polars as pl
import pytest

from metacog_pipeline.benchmarks.medley.judging.agreement import AGREEMENT_SCHEMA, ALL_DIMENSIONS, agreement
from metacog_pipeline.stats.agreement import cohen_kappa
from metacog_pipeline.stats.agreement_many import krippendorff_alpha
from tests.medley.judging.conftest import judgements

NAN = float("nan")


def drawn(seed, n=40):
    pick = random.Random(seed)
    return [pick.randrange(10) / 9 for _ in range(n)]


def value(frame, measure, dimension="transparency", a=None, b=None):
    (row,) = frame.filter(
        pl.col("measure") == measure,
        pl.col("dimension") == dimension,
        pl.col("a").eq_missing(pl.lit(a, pl.String)),
        pl.col("b").eq_missing(pl.lit(b, pl.String)),
    ).to_dicts()
    return row


def test_judges_of_one_mind_agree_fully():
    grades = drawn(1)
    frame = agreement(judgements({"x": grades, "y": grades, "z": grades}), n_boot=50)
    assert frame.schema == AGREEMENT_SCHEMA
    for measure in ("krippendorff_alpha", "fleiss_kappa"):
        assert value(frame, measure)["estimate"] == pytest.approx(1)
        assert value(frame, measure, ALL_DIMENSIONS)["estimate"] == pytest.approx(1)
    for a, b in (("x", "y"), ("x", "z"), ("y", "z")):
        assert value(frame, "cohen_kappa", a=a, b=b)["estimate"] == pytest.approx(1)
    assert frame.height == 11 * (2 + 3)


def test_judges_who_grade_by_chance_agree_as_by_chance():
    frame = agreement(judgements({name: drawn(name, 400) for name in "xyz"}), n_boot=50)
    for measure in ("krippendorff_alpha", "fleiss_kappa"):
        row = value(frame, measure)
        assert abs(row["estimate"]) < 0.12
        assert row["low"] <= row["estimate"] <= row["high"]
        assert row["n"] == 400


def test_numbers_are_those_of_the_statistics_with_missing_judges_left_out():
    x, y = drawn(1), drawn(2)
    y[3] = x[7] = None
    frame = agreement(judgements({"x": x, "y": y}), n_boot=20)
    table = [[NAN if grade is None else grade for grade in one] for one in (x, y)]
    alpha = value(frame, "krippendorff_alpha")
    assert alpha["estimate"] == pytest.approx(krippendorff_alpha(table, "interval", n_boot=1).value)
    assert alpha["n"] == 38
    bins = [[None if g is None else (g >= 0.25) + (g >= 0.5) + (g >= 0.75) for g in one] for one in (x, y)]
    both = [(p, q) for p, q in zip(*bins, strict=True) if p is not None and q is not None]
    kappa = value(frame, "cohen_kappa", a="x", b="y")
    assert kappa["estimate"] == pytest.approx(cohen_kappa(*zip(*both, strict=True)).value)


def test_a_judge_that_may_not_grade_a_model_is_missing_there_and_counts_elsewhere():
    grades = drawn(5, 10)
    both = pl.concat(
        [judgements({"x": grades, "y": grades}, model="m"), judgements({"x": grades}, model="kin-of-y")]
    )
    frame = agreement(both, n_boot=20)
    assert value(frame, "krippendorff_alpha")["n"] == 10
    assert value(frame, "krippendorff_alpha")["estimate"] == pytest.approx(1)


@pytest.mark.parametrize(
    "table", [{"x": drawn(1)}, {"x": drawn(1, 4), "y": drawn(2, 4)}, {"x": [None] * 9, "y": drawn(1, 9)}]
)
def test_too_little_to_tell_is_said_and_not_computed(table):
    frame = agreement(judgements(table))
    assert frame["estimate"].null_count() == frame.height > 0
    assert all("fewer than" in status for status in frame["status"])


def test_one_grade_for_everything_gives_no_alpha():
    frame = agreement(judgements({"x": [1 / 3] * 10, "y": [1 / 3] * 10}), n_boot=20)
    assert value(frame, "krippendorff_alpha")["estimate"] is None
    assert value(frame, "krippendorff_alpha")["status"] != "ok"


def test_simulated_and_measured_judgements_are_never_mixed():
    both = pl.concat(
        [judgements({"x": drawn(1), "y": drawn(1)}), judgements({"x": drawn(2), "y": drawn(3)}, "simulated")]
    )
    frame = agreement(both, n_boot=20)
    assert frame["source"].unique().sort().to_list() == ["measured", "simulated"]
    assert value(frame.filter(source="measured"), "krippendorff_alpha")["estimate"] == pytest.approx(1)
    assert value(frame.filter(source="simulated"), "krippendorff_alpha")["estimate"] < 0.5


def test_no_judgements_give_no_rows():
    assert agreement(judgements({})).is_empty()
    assert agreement(judgements({})).schema == AGREEMENT_SCHEMA


def test_the_same_seed_gives_the_same_intervals():
    table = judgements({"x": drawn(1), "y": drawn(2)})
    assert agreement(table, seed=3, n_boot=50).equals(agreement(table, seed=3, n_boot=50))
