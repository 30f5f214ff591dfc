"""The published results, computed again from the published counts."""

from dagster import AssetCheckResult, AssetCheckSpec, MaterializeResult, asset

from metacog_assets.automation import FOLLOW_WHAT_THERE_IS, FREE
from metacog_assets.reporting import ROWS, one_line_failure
from metacog_assets.showing import preview
from metacog_assets.study_file import current_study
from metacog_pipeline.benchmarks.signaldetection.published import VERSION, refit_published


@asset(
    group_name="signaldetection",
    kinds={"parquet"},
    code_version=VERSION,
    automation_condition=FOLLOW_WHAT_THERE_IS,
    tags=FREE,
    check_specs=[
        AssetCheckSpec(
            "chains_converged",
            asset="signaldetection_published",
            description="Every Bayesian fit converged, so that each cell has a number.",
        )
    ],
)
def signaldetection_published() -> MaterializeResult:
    """Tables S1 and S2 fitted anew from the authors' counts: published, recomputed, and where they part."""
    with one_line_failure():
        study = current_study()
        found = refit_published(study.home.path, study.study.seed)
    missing = found.metad.filter(found.metad["recomputed"].is_null())
    return MaterializeResult(
        metadata={ROWS: found.metad.height + found.criteria.height, "preview": preview(found.metad)},
        check_results=[
            AssetCheckResult(
                check_name="chains_converged",
                passed=missing.is_empty(),
                metadata={"cells without a number": missing.height},
            )
        ],
    )
