"""What assets show of sources and items: their figures, and whether a rule is broken."""

from __future__ import annotations

import polars as pl
import pytest
from dagster import AssetCheckResult

from metacog_assets.constructing import MOST_VIOLATIONS, built_items, facts_of
from metacog_assets.reporting import ROWS
from metacog_pipeline.benchmarks.common.files import BuiltItems, Shown

FRAME = pl.DataFrame({"item_id": ["a"], "text": ["<b>"]})


def test_rows_stand_where_dagster_plots_them_beside_figures_and_preview() -> None:
    shown = facts_of(Shown({"rows": 7, "origin": "here"}, FRAME))
    assert shown[ROWS] == 7 and shown["origin"] == "here"
    assert "\\<b\\>" in shown["preview"].md_str


@pytest.mark.parametrize("broken", [0, 1, 3 * MOST_VIOLATIONS])
def test_items_that_break_a_rule_fail_the_first_check_and_name_some(broken: int) -> None:
    built = BuiltItems({"rows": 1}, FRAME, {"A": 1}, tuple(f"rule {i}" for i in range(broken)))
    own = AssetCheckResult(check_name="own", passed=True)
    found = built_items(built, "digest", own)
    assert found.data_version is not None and found.data_version.value == "digest"
    first, second = found.check_results or ()
    assert first.check_name == "invariants_hold" and first.passed == (broken == 0)
    assert first.metadata["violations"].value == list(built.violations[:MOST_VIOLATIONS])
    assert second is own
