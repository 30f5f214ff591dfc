"""From the shipped texts to the tasks that are asked. Nothing here asks anybody anything."""

from dagster import AssetCheckResult, AssetCheckSpec, DataVersion, MaterializeResult, asset

from assets.automation import FOLLOW
from assets.reporting import ROWS, one_line_failure
from assets.showing import preview
from assets.study_file import current_study
from metacog_pipeline.benchmarks.metacogbench import stages
from metacog_pipeline.files import canonical_json, sha256_hex


@asset(
    group_name="metacogbench_tasks",
    kinds={"parquet"},
    code_version=stages.CONSTRUCTION_VERSION,
    automation_condition=FOLLOW,
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
        asked = [[item.item_id, item.item_hash] for item in stages.items(study)]
    return MaterializeResult(
        metadata={**built.facts, ROWS: built.facts["rows"], "preview": preview(built.frame)},
        data_version=DataVersion(sha256_hex(canonical_json(asked))),
        check_results=[
            AssetCheckResult(
                check_name="invariants_hold",
                passed=not built.violations,
                metadata={"violations": list(built.violations[:50])},
            )
        ],
    )
