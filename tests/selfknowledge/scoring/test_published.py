"""The printed tables follow from their own parts; a single yes is named as what made a number."""

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.selfknowledge import published_audit
from metacog_pipeline.benchmarks.selfknowledge.implied import Answers, implied_rates, whole_answers
from metacog_pipeline.files import shipped
from metacog_pipeline.scoring.published import AUDIT_SCHEMA
from metacog_pipeline.stats.yes_no import clipped_dprime

DATA = shipped("data", "published", "selfknowledge")


@pytest.fixture(scope="module")
def audit():
    return published_audit.audit_tables(DATA)


@pytest.fixture(scope="module")
def rates():
    return published_audit.rates_behind(DATA)


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


def test_one_yes_in_1797_answers_made_a_number_of_table_3(audit, rates):
    note = audit.filter(place="table 3").filter(pl.col("subject").str.ends_with("ESMA"))["note"].item()
    assert "918 of 1,797 right, yes to 1 right and 0 wrong" in note
    assert "log-linear d′ 0.31" in note
    assert note.endswith("made by the clip")
    one = rates.filter(place="table 3", correct=918).row(0, named=True)
    assert (one["hits"], one["false_alarms"], one["n_solutions"]) == (1, 0, 1)
    assert one["d_clip"] == pytest.approx(0.654, abs=5e-4)
    original = rates.filter(place="table 3", correct=26).row(0, named=True)
    assert (original["hits"], original["false_alarms"], original["n_solutions"]) == (8, 410, 1)
    flagged = audit.filter(pl.col("note").str.contains("clip"))
    assert flagged.height == 1


@pytest.mark.parametrize("n", [916, 881])
def test_no_other_part_of_the_invented_facts_prints_so(n):
    for row in pl.read_csv(DATA / "table_3.csv").iter_rows(named=True):
        assert not whole_answers(n, row["d_prime"], row["raw_alignment_pct"], row["accuracy_pct"])


def test_rates_give_back_what_is_printed(rates):
    assert rates.schema == published_audit.RATES_SCHEMA
    shares = pl.col("hit_rate", "false_alarm_rate", "yes_ratio")
    assert rates.select(shares.is_between(0, 1).all()).row(0) == (True,) * 3
    several = rates.filter(pl.col("correct").is_null())
    n1 = several["n"] * 1.0
    d = clipped_dprime(several["hit_rate"] * n1, several["false_alarm_rate"] * n1, n1, n1)
    assert d == pytest.approx(several["d_clip"].to_numpy(), abs=1e-6)


def test_a_changed_figure_is_found(tmp_path):
    for name in published_audit.FILES:
        (tmp_path / name).write_text((DATA / name).read_text("utf-8"), "utf-8")
    table = tmp_path / "table_1.csv"
    table.write_text(table.read_text("utf-8").replace("0.94,84.66", "1.04,84.66"), "utf-8")
    odd = published_audit.audit_tables(tmp_path).filter(~pl.col("follows"))
    named = odd.select("place", "subject", "quantity").rows()
    assert ("table 1", "OpenAI GPT 5.2", "d_prime") in named


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
    made = published_audit.derived(yes, (1 - accuracy) * alarm / yes, accuracy * (1 - hit) / (1 - yes))
    assert made["accuracy_pct"] == pytest.approx(100 * accuracy)
    found = implied_rates(made["d_prime"], made["raw_alignment_pct"] / 100, accuracy)
    slack = 1e-3 * accuracy / (1 - accuracy) + 1e-3
    assert any(
        abs(each.hit_rate - hit) < 1e-3 and abs(each.false_alarm_rate - alarm) < slack for each in found
    )
