"""The published tables, checked against their own parts."""

from dagster import MaterializeResult, asset

from metacog_assets.automation import FOLLOW_WHAT_THERE_IS, FREE
from metacog_assets.reporting import computed
from metacog_pipeline.benchmarks.medley.published import VERSION, audit_published


@asset(
    group_name="medley",
    kinds={"parquet"},
    code_version=VERSION,
    automation_condition=FOLLOW_WHAT_THERE_IS,
    tags=FREE,
)
def medley_published() -> MaterializeResult:
    """Table 1 and Tables S5 to S10: each number that can be computed from others of the paper, and whether it follows."""
    return computed(audit_published)
