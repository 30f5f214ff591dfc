"""From the shipped texts to the tasks that are asked. Nothing here asks anybody anything."""

from dagster import AssetCheckSpec, MaterializeResult, asset

from metacog_assets.automation import FOLLOW, FREE
from metacog_assets.constructing import built_items
from metacog_assets.reporting import one_line_failure
from metacog_assets.study_file import current_study
from metacog_pipeline.benchmarks.metacogbench import stages


@asset(
    group_name="metacogbench_tasks",
    kinds={"parquet"},
    code_version=stages.CONSTRUCTION_VERSION,
    automation_condition=FOLLOW,
    tags=FREE,
    check_specs=[
        AssetCheckSpec(
            "invariants_hold",
            asset="metacogbench_items",
            blocking=True,
            description="Every answer is the computed one, every twin has its partner, no hint names what is hidden.",
        )
    ],
)
def metacogbench_items() -> MaterializeResult:
    """The tasks of the five tiers, all written for this project; answers computed wherever they can be."""
    with one_line_failure():
        study = current_study()
        built = stages.build(study)
        digest = stages.items_digest(study)
    return built_items(built, digest)
