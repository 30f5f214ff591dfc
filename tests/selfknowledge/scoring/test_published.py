"""The printed tables follow from their own parts; a single yes is named as what made a number."""

import polars as pl
import pytest

from metacog_pipeline.benchmarks.selfknowledge import published
from metacog_pipeline.scoring.published import audit_frame

GIVEN = published.tables_of(published.DATA)


@pytest.fixture(scope="module")
def audit():
    return audit_frame(published.audit(GIVEN))


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


def test_a_changed_figure_is_found():
    wrong = pl.when(pl.col("d_prime") == 0.94).then(1.04).otherwise("d_prime")
    table = GIVEN["table_1"].with_columns(d_prime=wrong)
    odd = audit_frame(published.audit({**GIVEN, "table_1": table})).filter(~pl.col("follows"))
    assert ("table 1", "OpenAI GPT 5.2", "d_prime") in odd.select("place", "subject", "quantity").rows()
