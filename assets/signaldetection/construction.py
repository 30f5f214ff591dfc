"""From published texts to the trials that are asked. Nothing here asks anybody anything."""

from dagster import AssetCheckResult, AssetCheckSpec, DataVersion, MaterializeResult, asset

from assets.automation import FOLLOW
from assets.reporting import ROWS, one_line_failure
from assets.showing import preview
from assets.study_file import current_study
from metacog_pipeline.benchmarks.signaldetection import stages
from metacog_pipeline.files import canonical_json, sha256_hex

GROUP = "signaldetection_trials"


@asset(
    group_name=GROUP,
    kinds={"parquet"},
    code_version=stages.CONSTRUCTION_VERSION,
    automation_condition=FOLLOW,
)
def signaldetection_sources() -> MaterializeResult:
    """Labelled sentences: film reviews (task A), oral and written sentences (tasks B and C), or the sample's."""
    with one_line_failure():
        found = stages.fetch_sources(current_study())
    return MaterializeResult(
        metadata={**found.facts, ROWS: found.facts["rows"], "preview": preview(found.frame)}
    )


@asset(
    group_name=GROUP,
    deps=[signaldetection_sources],
    kinds={"parquet"},
    code_version=stages.CONSTRUCTION_VERSION,
    automation_condition=FOLLOW,
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
        asked = [[item.item_id, item.item_hash] for item in stages.items(study)]
    return MaterializeResult(
        metadata={**built.facts, ROWS: built.facts["rows"], "preview": preview(built.frame)},
        data_version=DataVersion(sha256_hex(canonical_json(asked))),
        check_results=[
            AssetCheckResult(
                check_name="invariants_hold",
                passed=not built.violations,
                metadata={"violations": list(built.violations[:50])},
            ),
            AssetCheckResult(
                check_name="both_labels",
                passed=all(built.counts.values()),
                metadata={"trials by task and label": dict(built.counts)},
            ),
        ],
    )
