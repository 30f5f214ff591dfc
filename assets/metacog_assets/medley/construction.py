"""From a published set, or from what was made of seeds, to the instances that are asked. Nothing here asks anybody."""

from dagster import AssetCheckResult, AssetCheckSeverity, AssetCheckSpec, MaterializeResult, asset

from metacog_assets.automation import FOLLOW, FREE
from metacog_assets.constructing import built_items, facts_of
from metacog_assets.medley.generator import GENERATION
from metacog_assets.reporting import one_line_failure
from metacog_assets.study_file import current_study
from metacog_pipeline.benchmarks.medley import stages
from metacog_pipeline.benchmarks.medley.stages import generator

GROUP = "medley_instances"
GENERATED = generator.wanted(current_study())


@asset(
    group_name=GROUP,
    deps=[GENERATION[-1]] if GENERATED else [],
    kinds={"json"},
    code_version=stages.CONSTRUCTION_VERSION,
    automation_condition=FOLLOW,
    tags=FREE,
)
def medley_source() -> MaterializeResult:
    """The published instances with their analysts and consensus, or where those of the study come from."""
    with one_line_failure():
        found = stages.fetch_source(current_study())
    return MaterializeResult(metadata=facts_of(found))


@asset(
    group_name=GROUP,
    deps=[medley_source],
    kinds={"parquet"},
    code_version=stages.CONSTRUCTION_VERSION,
    automation_condition=FOLLOW,
    tags=FREE,
    check_specs=[
        AssetCheckSpec(
            "invariants_hold",
            asset="medley_items",
            blocking=True,
            description="Five claims, a panel, a consensus that names the same claims.",
        ),
        AssetCheckSpec(
            "fit_to_be_released",
            asset="medley_items",
            description="The gates a set of instances must pass; the published set fails some of them, as it is.",
        ),
    ],
)
def medley_items() -> MaterializeResult:
    """The instances: a case, five claims, eight analysts who disagree, and what they say together."""
    with one_line_failure():
        study = current_study()
        built = stages.build(study)
        digest = stages.instances_digest(study)
    failed = [gate.render() for gate in built.gates if gate.stops]
    fit = AssetCheckResult(
        check_name="fit_to_be_released",
        passed=not failed,
        severity=AssetCheckSeverity.WARN,
        metadata={"failed": failed, "gates": [gate.render() for gate in built.gates]},
    )
    return built_items(built, digest, fit)
