"""Estimates: what is counted, what is left out, and what has no number says why."""

import polars as pl
import pytest

from metacog_pipeline.benchmark import groups


def values(frame: pl.DataFrame, **only: object) -> dict[str, dict[str, object]]:
    """Return measure → row of the one cell that is left."""
    return {row["measure"]: row for row in frame.filter(**only).iter_rows(named=True)}


@pytest.fixture
def estimates(scoring, monkeypatch):
    """Return ``estimates(responses, …)``: measure → row, from fewer draws."""
    monkeypatch.setattr(groups, "N_DRAWS", 400)
    return lambda frame, **settings: values(scoring.score(frame, **settings))


# One "yes" in 1,797 answers, to a right one.
ONE_YES = ([1] * 918 + [0] * 879, [1] + [0] * 1796)


def test_one_yes_in_1797_answers_is_no_sensitivity(rows, estimates):
    found = estimates(rows(*ONE_YES))
    assert found["d_type2_reference"]["estimate"] == pytest.approx(0.654, abs=5e-4)
    assert "made by the clip" in str(found["d_type2_reference"]["status"])
    assert found["d_type2_reference"]["low"] is None
    headline = found["d_type2"]
    assert headline["estimate"] == pytest.approx(0.31, abs=5e-3)
    assert headline["low"] < 0 < headline["high"]  # type: ignore[operator]
    assert "correction" in str(headline["status"])
    assert headline["high"] - headline["low"] > 1.5  # type: ignore[operator]


def test_what_cannot_be_formed_has_a_status_and_no_number(rows, estimates):
    for correct, yes, why in (
        ([1] * 5, [1, 1, 0, 1, 0], dict.fromkeys(("d_type2", "c_type2", "false_alarm_rate"), "all correct")),
        ([0] * 5, [1, 1, 0, 1, 0], {"d_type2_reference": "all wrong", "hit_rate": "all wrong"}),
        ([1, 0, 1], [0, 0, 0], {"yfr": "never answered yes"}),
        ([1, 0, 1], [1, 1, 1], {"nfr": "never answered no"}),
        ([1, 0, 1], [None] * 3, dict.fromkeys(("yes_ratio", "raw_alignment", "d_type2"), "no items")),
    ):
        found = estimates(rows(correct, yes))
        for measure, status in why.items():
            assert found[measure]["estimate"] is None
            assert found[measure]["status"] == status


def test_an_unreadable_meta_reply_counts_in_accuracy_alone(rows, estimates):
    found = estimates(rows([1, 0, 1, 0], [1, 0, None, None]))
    assert (found["accuracy"]["estimate"], found["accuracy"]["n"]) == (0.5, 4)
    assert (found["raw_alignment"]["estimate"], found["raw_alignment"]["n"]) == (1.0, 2)
    assert found["invalid_share"]["estimate"] == 0.5
    assert found["accuracy"]["n_unreadable"] == 2
    assert found["coverage"]["estimate"] == 0.5


def test_the_published_readings_take_the_published_matching_whatever_the_study_takes(rows, estimates):
    frame = rows([1, 0, 1, 0], [1, 0, 1, None], yes_reference=[1, 0, 1, 1], correct_inclusion=[1, 1, 1, 0])
    found, other = estimates(frame), estimates(frame.with_columns(matching=pl.lit("entities")))
    assert found["d_type2_reference"]["n"] == 4 and found["accuracy_inclusion"]["estimate"] == 0.75
    assert other["d_type2_reference"] == found["d_type2_reference"]


def test_without_log_probabilities_the_graded_measures_say_so(rows, observer, estimates):
    bare = estimates(rows([1, 0], [1, 0]))
    assert bare["auroc2"]["estimate"] is None
    assert "log-probabilities" in str(bare["auroc2"]["status"])
    graded = estimates(observer(400, 0.5, 1.0))
    assert graded["auroc2"]["estimate"] == pytest.approx(0.76, abs=0.06)


def test_the_criterion_says_how_often_yes_is_said(observer, estimates):
    often, seldom = (estimates(observer(600, 0.5, 1.0, 1, shift=shift)) for shift in (-1.0, 1.0))
    assert often["c_type2"]["estimate"] == pytest.approx(-1.0, abs=0.2)
    assert seldom["c_type2"]["estimate"] == pytest.approx(1.0, abs=0.2)
    assert often["d_type2"]["estimate"] == pytest.approx(seldom["d_type2"]["estimate"], abs=0.4)


def test_abstaining_is_a_hit_where_the_answer_was_not_known(rows, scoring):
    knew = [1] * 40 + [0] * 40
    abstained = [0] * 30 + [1] * 10 + [1] * 30 + [0] * 10
    idk = rows([0] * 80, [1 - each for each in abstained], condition="idk")
    found = values(scoring.score(pl.concat([rows(knew, knew), idk])), condition="idk")
    assert found["abstain_hits"]["estimate"] == 0.75 and found["abstain_false_alarms"]["estimate"] == 0.25
    assert found["abstain_d"]["estimate"] == pytest.approx(2 * 0.6745, abs=0.05)
    assert found["abstain_c"]["estimate"] == pytest.approx(0.0, abs=1e-9)
    always = idk.with_columns(abstained=pl.lit(1, pl.Int8))
    lifted = values(scoring.score(pl.concat([rows(knew, knew), always])), condition="idk")
    assert lifted["idk_alignment"]["estimate"] == lifted["abstain_hits"]["estimate"] == 1.0
    assert abs(lifted["abstain_d"]["estimate"]) < 0.1 and lifted["abstain_c"]["estimate"] < -2  # type: ignore[operator,arg-type]


def test_all_alignment_joins_each_question_with_itself(rows, scoring):
    dual = rows([1, 1, 0, 0], [1, 0, 0, 1])
    idk = rows([1, 1, 0, 1], [1, 1, 0, 1], condition="idk").reverse()
    found = values(scoring.score(pl.concat([dual, idk])), condition="idk")
    assert found["all_alignment"]["estimate"] == 0.5  # the first and the third
    assert found["idk_alignment"]["estimate"] == 1.0
    assert found["idk_rate"]["estimate"] == 0.25
    alone = values(scoring.score(idk))
    assert alone["all_alignment"]["status"] == "not asked under dual as well"


def test_all_alignment_waits_for_the_dual_answers(rows, scoring):
    dual = rows([1, 0], [1, 0], status=["ok", "transport_error"])
    found = values(scoring.score(pl.concat([dual, rows([1, 0], [1, 0], condition="idk")])), condition="idk")
    assert found["idk_alignment"]["estimate"] == 1.0 and found["all_alignment"]["estimate"] is None
    assert "under dual" in str(found["all_alignment"]["status"])
