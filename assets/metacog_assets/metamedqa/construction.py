"""From raw sources to the questions as they are asked. Nothing here asks anybody anything."""

from dagster import AssetCheckResult, AssetCheckSpec, DataVersion, MaterializeResult, asset

from metacog_assets.automation import FOLLOW, FREE
from metacog_assets.constructing import facts_of
from metacog_assets.reporting import one_line_failure
from metacog_assets.study_file import current_study
from metacog_pipeline.benchmarks.metamedqa import stages

GROUP = "metamedqa_questions"


@asset(
    group_name=GROUP,
    kinds={"jsonl"},
    code_version=stages.CONSTRUCTION_VERSION,
    automation_condition=FOLLOW,
    tags=FREE,
)
def medqa_source() -> MaterializeResult:
    """The parent questions: four options each, as published (or those of the sample)."""
    with one_line_failure():
        return MaterializeResult(metadata=facts_of(stages.parent_source(current_study())))


@asset(
    group_name=GROUP,
    kinds={"jsonl"},
    code_version=stages.CONSTRUCTION_VERSION,
    automation_condition=FOLLOW,
    tags=FREE,
)
def glianorex_source() -> MaterializeResult:
    """Questions about an organ that does not exist."""
    with one_line_failure():
        return MaterializeResult(metadata=facts_of(stages.fictional_source(current_study())))


@asset(
    group_name=GROUP,
    deps=[medqa_source],
    kinds={"jsonl"},
    code_version=stages.CONSTRUCTION_VERSION,
    automation_condition=FOLLOW,
    tags=FREE,
)
def metamedqa_edits() -> MaterializeResult:
    """What was changed in the parent questions; derived from the published file where that is the data set."""
    with one_line_failure():
        return MaterializeResult(metadata=facts_of(stages.edit_table(current_study())))


@asset(
    group_name=GROUP,
    deps=[medqa_source, glianorex_source, metamedqa_edits],
    kinds={"parquet"},
    code_version=stages.CONSTRUCTION_VERSION,
    automation_condition=FOLLOW,
    tags=FREE,
    check_specs=[
        AssetCheckSpec(
            "counts_add_up",
            asset="metamedqa_items",
            blocking=True,
            description="Kinds and keys sum to the items.",
        ),
        AssetCheckSpec(
            "invariants_hold",
            asset="metamedqa_items",
            blocking=True,
            description="Every rule of a question holds, but for the known oddities of the published data.",
        ),
    ],
)
def metamedqa_items() -> MaterializeResult:
    """The benchmark as it is asked: six options, the key, the kind of each item."""
    with one_line_failure():
        study = current_study()
        built = stages.build(study)
        asked, digest = len(stages.selected_items(study)), stages.selected_digest(study)
    return MaterializeResult(
        metadata={**facts_of(built), "asked": asked},
        data_version=DataVersion(digest),
        check_results=[
            AssetCheckResult(
                check_name="counts_add_up", passed=built.counts_add_up, metadata={"counts": built.counts}
            ),
            AssetCheckResult(
                check_name="invariants_hold",
                passed=not built.unexpected,
                metadata={"unexpected": list(built.unexpected), "known": list(built.known)},
            ),
        ],
    )
