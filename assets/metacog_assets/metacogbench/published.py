"""The published tables, checked against their own parts."""

from dagster import MaterializeResult, asset

from metacog_assets.automation import FOLLOW_WHAT_THERE_IS, FREE
from metacog_assets.reporting import computed
from metacog_pipeline.benchmarks.metacogbench.published import VERSION, audit_published


@asset(
    group_name="metacogbench",
    kinds={"parquet"},
    code_version=VERSION,
    automation_condition=FOLLOW_WHAT_THERE_IS,
    tags=FREE,
)
def metacogbench_published() -> MaterializeResult:
    """Tables 3 to 7: every composite computed again from its parts, and whether it follows."""
    return computed(audit_published)
