"""The published numbers: composites follow from their parts but for the rows that cannot."""

import polars as pl
import pytest

from metacog_pipeline.benchmarks.metacogbench.published import PUBLISHED, audit_tables
from metacog_pipeline.files import shipped
from metacog_pipeline.scoring.published import AUDIT_SCHEMA


@pytest.fixture(scope="module")
def audit():
    return audit_tables(shipped("data", "published", "metacogbench"))


def test_one_row_per_check(audit):
    assert audit.schema == AUDIT_SCHEMA
    assert not audit.select("place", "subject", "quantity", "method").is_duplicated().any()
    assert audit.null_count().drop("note").sum_horizontal().item() == 0


def test_what_does_not_follow_is_listed_and_nothing_else(audit):
    found = set(audit.filter(~pl.col("follows")).select("place", "subject", "quantity", "method").iter_rows())
    assert {row[:3] for row in found} == {
        ("table 7", "gpt-4o", "saf"),
        ("table 7", "gpt-4o", "overall"),
    }


def test_the_tiers_of_gpt_4o_give_another_saf(audit):
    row = audit.filter(pl.col("subject") == "gpt-4o", pl.col("quantity") == "saf").row(0, named=True)
    assert row["recomputed"] == pytest.approx(0.9585)
    assert "t2b alone" in row["note"]


def test_printed_values_are_shares_named_apart_from_our_sets(audit):
    values, claims = PUBLISHED.values(None), PUBLISHED.claims(None)
    assert set(values["dataset"]) == {"paper 41", "paper 147"} and values["value"].is_between(0, 1).all()
    assert not values.select("dataset", "model", "measure", "place").is_duplicated().any()
    checked = claims.filter(pl.col("place") != "headline")
    assert set(checked["verdict"]) == {"follows", "differs"} and checked.height == audit.height
    row = values.filter(model="gpt-4o", measure="overall", dataset="paper 147").row(0, named=True)
    assert row["place"] == "table 7" and row["sd"] is not None and row["n"] == 147
