"""What all benchmarks of the study have in common: confidence measured alike, and whether they agree."""

from dagster import MaterializeResult, asset
from metacog_pipeline.across.stages import FOLDER, VERSION, publish

from metacog_assets.automation import FOLLOW_WHAT_THERE_IS, FREE
from metacog_assets.benchmarks import ENABLED
from metacog_assets.reporting import ROWS, one_line_failure
from metacog_assets.study_file import current_study


@asset(
    group_name="across",
    deps=[each.measured.comparisons for each in ENABLED],
    kinds={"parquet"},
    code_version=VERSION,
    automation_condition=FOLLOW_WHAT_THERE_IS,
    tags=FREE,
)
def across_benchmarks() -> MaterializeResult:
    """Accuracy, ECE, Brier, AUROC2 and meta-d' by one rule for all; correlations between benchmarks over models."""
    with one_line_failure():
        facts = publish(current_study())
    return MaterializeResult(metadata={**facts, ROWS: facts["confidence"]})


ASSETS = (across_benchmarks,)
DATASETS = {f"estimates/{FOLDER}/": (across_benchmarks.key,)}
