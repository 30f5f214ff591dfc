"""From published question sets to the questions that are asked. Nothing here asks anybody anything."""

from dagster import AssetCheckResult, AssetCheckSpec, MaterializeResult, asset

from metacog_assets.automation import FOLLOW, FREE
from metacog_assets.constructing import built_items, facts_of
from metacog_assets.reporting import one_line_failure
from metacog_assets.study_file import current_study
from metacog_pipeline.benchmarks.selfknowledge import stages

GROUP = "selfknowledge_questions"


@asset(
    group_name=GROUP,
    kinds={"json"},
    code_version=stages.CONSTRUCTION_VERSION,
    automation_condition=FOLLOW,
    tags=FREE,
)
def selfknowledge_sources() -> MaterializeResult:
    """Short-answer questions with all accepted answers: a published set, verified, or the facts of the sample."""
    with one_line_failure():
        found = stages.fetch_sources(current_study())
    return MaterializeResult(metadata=facts_of(found))


@asset(
    group_name=GROUP,
    deps=[selfknowledge_sources],
    kinds={"parquet"},
    code_version=stages.CONSTRUCTION_VERSION,
    automation_condition=FOLLOW,
    tags=FREE,
    check_specs=[
        AssetCheckSpec(
            "invariants_hold",
            asset="selfknowledge_items",
            blocking=True,
            description="Every question and its answers are those of its source; no blank answer would match everything.",
        ),
        AssetCheckSpec(
            "mostly_answerable",
            asset="selfknowledge_items",
            description="Nine in ten questions have an answer; the others count as wrong, and accuracy says so apart.",
        ),
    ],
)
def selfknowledge_items() -> MaterializeResult:
    """The questions, in every language they have, the same for every model, run and condition."""
    with one_line_failure():
        study = current_study()
        built = stages.build(study)
        digest = stages.items_digest(study)
    without = sum(not any(accepted for _, accepted in item.answers) for item in stages.items(study))
    mostly_answerable = AssetCheckResult(
        check_name="mostly_answerable",
        passed=10 * without <= built.facts["rows"],
        metadata={"questions without an answer": without, "questions": built.facts["rows"]},
    )
    return built_items(built, digest, mostly_answerable)
