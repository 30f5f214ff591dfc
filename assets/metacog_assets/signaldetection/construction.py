"""From published texts to the trials that are asked. Nothing here asks anybody anything."""

from dagster import AssetCheckResult, AssetCheckSpec, MaterializeResult, asset

from metacog_assets.automation import FOLLOW, FREE
from metacog_assets.reporting import ROWS, one_line_failure
from metacog_assets.showing import preview
from metacog_assets.study_file import current_study
from metacog_pipeline.asking.construction import StepResult, run_step, step_of
from metacog_pipeline.benchmarks.signaldetection import SignalDetection
from metacog_pipeline.benchmarks.signaldetection.construction import STEPS

GROUP = "signaldetection_trials"
VERSION = STEPS[-1].version


@asset(
    group_name=GROUP,
    kinds={"parquet"},
    code_version=VERSION,
    automation_condition=FOLLOW,
    tags=FREE,
)
def signaldetection_sources() -> MaterializeResult:
    """Labelled sentences: film reviews (task A), oral and written sentences (tasks B and C), or the sample's."""
    return _shown(_made("sources"))


@asset(
    group_name=GROUP,
    deps=[signaldetection_sources],
    kinds={"parquet"},
    code_version=VERSION,
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
    made = _made("items")
    checks = [
        AssetCheckResult(check_name=name, passed=check.passed, metadata=dict(check.facts))
        for name, check in made.checks.items()
    ]
    return _shown(made, checks)


def _made(step: str) -> StepResult:
    with one_line_failure():
        benchmark = SignalDetection.of(current_study())
        return run_step(benchmark, step_of(benchmark, step))


def _shown(made: StepResult, checks: list[AssetCheckResult] | None = None) -> MaterializeResult:
    facts = {ROWS if name == "rows" else name: value for name, value in made.facts.items()}
    return MaterializeResult(metadata={**facts, "preview": preview(made.frame)}, check_results=checks or [])
