"""The published tables, checked against their own parts."""

from dagster import MaterializeResult, asset

from metacog_assets.automation import FOLLOW_WHAT_THERE_IS, FREE
from metacog_assets.reporting import computed
from metacog_pipeline.benchmarks.selfknowledge.published import VERSION, audit_published


@asset(
    group_name="selfknowledge",
    kinds={"parquet"},
    code_version=VERSION,
    automation_condition=FOLLOW_WHAT_THERE_IS,
    tags=FREE,
)
def selfknowledge_published() -> MaterializeResult:
    """Tables 1 to 7: each number computed again from its neighbours, and the whole answers that print so."""
    return computed(audit_published)
