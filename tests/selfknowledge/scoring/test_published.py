"""The printed tables follow from their own parts; a single yes is named as what made a number."""

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.selfknowledge import published
from metacog_pipeline.benchmarks.selfknowledge.published import Answers, implied_rates, whole_answers
from metacog_pipeline.scoring.published import AUDIT_SCHEMA, audit_frame
from metacog_pipeline.stats.yes_no import clipped_dprime

GIVEN = published.tables_of(published.folder())


@pytest.fixture(scope="module")
def audit():
    return audit_frame(published.audit(GIVEN))


def test_one_row_per_check(audit):
    assert audit.schema == AUDIT_SCHEMA
    assert not audit.select("place", "subject", "quantity", "method").is_duplicated().any()
    assert audit.null_count().drop("note").sum_horizontal().item() == 0


def test_all_fourteen_rows_with_failures_follow_in_all_three_numbers(audit):
    own = audit.filter(method="yes ratio, YFR and NFR")
    distinct = own.filter((pl.col("place") == "table 1") | pl.col("subject").str.contains("SFT"))
    assert distinct.height == 3 * 14
    assert own["follows"].all()
    worst = dict(own.group_by("quantity").agg(pl.col("difference").abs().max()).iter_rows())
    assert worst["accuracy_pct"] < 0.02
    assert worst["raw_alignment_pct"] < 0.02
    assert worst["d_prime"] < 0.006


def test_only_the_share_of_the_gain_does_not_follow(audit):
    odd = audit.filter(~pl.col("follows")).row(0, named=True)
    assert audit["follows"].sum() == audit.height - 1
    assert odd["quantity"] == "share_of_gain_pct"
    assert odd["recomputed"] == pytest.approx(58.9, abs=0.05)


def test_one_yes_in_1797_answers_made_a_number_of_table_3(audit):
    note = audit.filter(place="table 3").filter(pl.col("subject").str.ends_with("ESMA"))["note"].item()
    assert "918 of 1,797 right, yes to 1 right and 0 wrong" in note
    assert "log-linear d′ 0.31" in note
    assert note.endswith("made by the clip")
    flagged = audit.filter(pl.col("note").str.contains("clip"))
    assert flagged.height == 1


@pytest.mark.parametrize("n", [916, 881])
def test_no_other_part_of_the_invented_facts_prints_so(n):
    for row in GIVEN["table_3"].iter_rows(named=True):
        assert not whole_answers(n, row["d_prime"], row["raw_alignment_pct"], row["accuracy_pct"])


def test_a_changed_figure_is_found():
    wrong = pl.when(pl.col("d_prime") == 0.94).then(1.04).otherwise("d_prime")
    table = GIVEN["table_1"].with_columns(d_prime=wrong)
    odd = audit_frame(published.audit({**GIVEN, "table_1": table})).filter(~pl.col("follows"))
    assert ("table 1", "OpenAI GPT 5.2", "d_prime") in odd.select("place", "subject", "quantity").rows()


@settings(max_examples=40, deadline=None)
@given(st.data(), st.integers(20, 300))
def test_whole_answers_are_found_again_from_what_they_print(data, n):
    correct = data.draw(st.integers(1, n - 1))
    hits, alarms = data.draw(st.integers(0, correct)), data.draw(st.integers(0, n - correct))
    d = round(float(clipped_dprime([hits], [alarms], [correct], [n - correct])[0]), 2)
    aligned = hits + n - correct - alarms
    found = whole_answers(n, d, round(100 * aligned / n, 2), round(100 * correct / n, 2))
    assert Answers(n, correct, hits, alarms) in found


@settings(max_examples=60, deadline=None)
@given(st.floats(0.05, 0.95), st.floats(0.02, 0.98), st.floats(0.02, 0.98))
def test_rates_are_found_again_from_what_they_make(accuracy, hit, alarm):
    assume(abs(hit - alarm) > 0.05)  # where yes says nothing, many rates print alike
    yes = accuracy * hit + (1 - accuracy) * alarm
    made = published.derived(yes, (1 - accuracy) * alarm / yes, accuracy * (1 - hit) / (1 - yes))
    assert made["accuracy_pct"] == pytest.approx(100 * accuracy)
    found = implied_rates(made["d_prime"], made["raw_alignment_pct"] / 100, accuracy)
    slack = 1e-3 * accuracy / (1 - accuracy) + 1e-3
    assert any(
        abs(each.hit_rate - hit) < 1e-3 and abs(each.false_alarm_rate - alarm) < slack for each in found
    )
