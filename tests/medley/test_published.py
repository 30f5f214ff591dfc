"""What of the published numbers follows from their own parts."""

import shutil

import polars as pl
import pytest

from metacog_pipeline.benchmarks.medley.published_audit import FILES, audit_tables
from metacog_pipeline.files import shipped
from metacog_pipeline.scoring.published import AUDIT_SCHEMA


@pytest.fixture(scope="module")
def audit():
    return audit_tables(shipped("data", "published", "medley"))


def followed(audit, **where):
    rows = audit.filter(**where)
    return int(rows["follows"].sum()), rows.height


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"quantity": "mms", "method": "tiers, balance 1 - sd / mean"}, (6, 35)),
        ({"quantity": "mms", "method": "tiers, balance 1 - sd"}, (0, 35)),
        ({"quantity": "mas"}, (35, 35)),
        ({"quantity": "rank"}, (32, 35)),
        ({"place": "table S7", "quantity": "adversarial_delta"}, (2, 11)),
        ({"place": "table S7", "quantity": "profile"}, (10, 11)),
        ({"place": "table S10", "method": "ability - mean of ten dimensions"}, (60, 60)),
        ({"place": "table S10", "method": "ability - mean of four abilities"}, (16, 60)),
        ({"place": "table S9", "method": "agree + disagree"}, (8, 8)),
        ({"place": "table S9", "quantity": "agree", "method": "normal + known-answer"}, (0, 1)),
    ],
)
def test_as_many_rows_follow_as_arithmetic_allows(audit, where, expected):
    assert followed(audit, **where) == expected


def test_evaluation_is_the_weakest_ability_in_thirty_of_thirty_five(audit):
    row = audit.filter(quantity="models_evaluation_weakest").to_dicts()[0]
    assert row["recomputed"] == 30 and not row["follows"] and "Claude Haiku 4.5" in row["note"]


def test_the_correlation_of_both_scores_and_its_claim(audit):
    row = audit.filter(quantity="rho_mms_mas").to_dicts()[0]
    assert row["recomputed"] == pytest.approx(0.935, abs=5e-4) and not row["follows"]
    assert audit.filter(quantity="models_shifting_5_ranks")["follows"][0]


def test_a_row_that_follows_has_no_excuse(audit):
    assert audit.schema == AUDIT_SCHEMA
    assert audit.filter("follows")["note"].null_count() == audit["follows"].sum()


def test_a_mistake_put_into_a_table_is_found(tmp_path):
    folder = shipped("data", "published", "medley")
    for name in FILES:
        shutil.copy(folder / name, tmp_path / name)
    table = pl.read_csv(tmp_path / "table_1.csv")
    wrong = pl.when(pl.col("model") == "GPT-4.1").then(pl.col("mas") + 1).otherwise("mas").alias("mas")
    table.with_columns(wrong).write_csv(tmp_path / "table_1.csv")
    found = audit_tables(tmp_path).filter(~pl.col("follows"), quantity="mas")
    assert found["subject"].to_list() == ["GPT-4.1"]
