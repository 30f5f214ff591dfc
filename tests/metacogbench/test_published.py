"""The published numbers: composites follow from their parts but for the rows that cannot."""

import polars as pl
import pytest

from metacog_pipeline.benchmarks.metacogbench.published import audit_tables
from metacog_pipeline.files import shipped


@pytest.fixture(scope="module")
def audit():
    return audit_tables(shipped("data", "published", "metacogbench"))


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
