"""What the assets that bring home sources and build items show, alike for every benchmark."""

from __future__ import annotations

from dagster import AssetCheckResult, DataVersion, MaterializeResult

from metacog_assets.reporting import ROWS, Fact
from metacog_assets.showing import preview
from metacog_pipeline.benchmarks.common.files import BuiltItems, Shown

MOST_VIOLATIONS = 50


def facts_of(found: Shown) -> dict[str, Fact]:
    """Return the figures of a stage, its number of rows where Dagster plots it, and a preview."""
    return {**found.facts, ROWS: found.facts["rows"], "preview": preview(found.frame)}


def built_items(built: BuiltItems, digest: str, *checks: AssetCheckResult) -> MaterializeResult:
    """Return finished items with the check that they break no rule of theirs, and the benchmark's own ``checks``.

    ``digest`` is that of all items: what is downstream is out of date when it changes.
    """
    invariants = AssetCheckResult(
        check_name="invariants_hold",
        passed=not built.violations,
        metadata={"violations": list(built.violations[:MOST_VIOLATIONS])},
    )
    return MaterializeResult(
        metadata=facts_of(built), data_version=DataVersion(digest), check_results=[invariants, *checks]
    )
