"""From published texts to the trials that are asked. Nothing here asks anybody anything."""

from dagster import AssetCheckResult, AssetCheckSpec, MaterializeResult, asset

from metacog_assets.automation import FOLLOW, FREE
from metacog_assets.constructing import built_items, facts_of
from metacog_assets.reporting import one_line_failure
from metacog_assets.study_file import current_study
from metacog_pipeline.benchmarks.signaldetection import stages

GROUP = "signaldetection_trials"


@asset(
    group_name=GROUP,
    kinds={"parquet"},
    code_version=stages.CONSTRUCTION_VERSION,
    automation_condition=FOLLOW,
    tags=FREE,
)
def signaldetection_sources() -> MaterializeResult:
    """Labelled sentences: film reviews (task A), oral and written sentences (tasks B and C), or the sample's."""
    with one_line_failure():
        found = stages.fetch_sources(current_study())
    return MaterializeResult(metadata=facts_of(found))


@asset(
    group_name=GROUP,
    deps=[signaldetection_sources],
    kinds={"parquet"},
    code_version=stages.CONSTRUCTION_VERSION,
    automation_condition=FOLLOW,
    tags=FREE,
    check_specs=[
        AssetCheckSpec(
            "invariants_hold",
            asset="signaldetection_items",
            blocking=True,
            description="Every text is its source's, and lacks one 'the' exactly where its label says so.",
        ),
        AssetCheckSpec(
            "both_labels",
            asset="signaldetection_items",
            description="Each task has trials of both labels; without, nothing can be discriminated.",
        ),
    ],
)
def signaldetection_items() -> MaterializeResult:
    """The trials of the tasks: a text and one of two labels, the same for every model, run and condition."""
    with one_line_failure():
        study = current_study()
        built = stages.build(study)
        digest = stages.items_digest(study)
    both_labels = AssetCheckResult(
        check_name="both_labels",
        passed=all(built.counts.values()),
        metadata={"trials by task and label": dict(built.counts)},
    )
    return built_items(built, digest, both_labels)
