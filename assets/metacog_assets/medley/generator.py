"""New instances as assets: each stage of the generator with its checks. Three of them ask models, and keep every answer."""

from collections.abc import Iterable, Mapping

from dagster import (
    AssetCheckResult,
    AssetCheckSeverity,
    AssetCheckSpec,
    AssetExecutionContext,
    AssetsDefinition,
    DataVersion,
    MaterializeResult,
    asset,
)

from metacog_assets.automation import FILL_MISSING, FOLLOW, FREE, PAID
from metacog_assets.reporting import ROWS, Fact, one_line_failure, progress_lines
from metacog_assets.showing import preview
from metacog_assets.study_file import current_study
from metacog_pipeline.benchmarks.medley.stages import generator
from metacog_pipeline.benchmarks.medley.stages.generator import (
    ASKING,
    CHECKS,
    NEEDS,
    STAGES,
    Check,
    Made,
    blocking,
)
from metacog_pipeline.progress import ProgressLine, style_from_environment
from metacog_pipeline.querying.partition import Progress

GROUP = "medley_generator"
_DESCRIPTIONS: Mapping[str, str] = {
    "medley_seeds": "What new cases are to be about: a situation, what makes it open, and five claims.",
    "medley_designs": "Cases that designers wrote from the seeds; their replies are kept as transcripts.",
    "medley_drafts": "The longest case of each seed, its five claims with fixed texts, and how hard its designers find it.",
    "medley_opinions": "What every analyst says of every case; the replies are kept as transcripts.",
    "medley_disagreement": "How much the pool disagrees about each claim, and which cases are open enough to be kept.",
    "medley_consensus": "What the pool says together: the majority that stands whoever is left out, and the label median.",
    "medley_panels": "The eight analysts who are shown with each case, chosen for how they differ.",
    "medley_verification": "What three judges say of the consensus on each claim; the replies are kept as transcripts.",
    "medley_gates": "The finished instances, also in the layout of the published data, and whether they may be released.",
}


def _stage(name: str, before: Mapping[str, AssetsDefinition]) -> AssetsDefinition:
    asks = name in ASKING

    @asset(
        name=name,
        group_name=GROUP,
        deps=[before[needed] for needed in NEEDS[name]],
        kinds={"parquet"},
        code_version=generator.VERSION,
        pool="models" if asks else None,
        # New seeds alone must not spend money: whoever is asked again is asked because a person says so.
        automation_condition=FILL_MISSING if asks else FOLLOW,
        tags=PAID if asks else FREE,
        description=_DESCRIPTIONS[name],
        check_specs=[
            AssetCheckSpec(check, asset=name, description=says, blocking=blocks)
            for check, says, blocks in CHECKS[name]
        ],
    )
    def made(context: AssetExecutionContext) -> MaterializeResult:
        with one_line_failure():
            found = _run(context, name) if asks else generator.run_stage(current_study(), name)
        return MaterializeResult(
            metadata={
                **found.facts,
                **_cost(found),
                ROWS: found.frame.height,
                "preview": preview(found.frame),
            },
            data_version=DataVersion(found.mark),
            check_results=[_result(check, name) for check in found.checks],
        )

    return made


def _run(context: AssetExecutionContext, name: str) -> Made:
    """Run a stage that asks, with its progress shown."""
    study, style = current_study(), style_from_environment()
    line: list[ProgressLine] = []

    def show(progress: Progress) -> None:
        if not line:
            line.append(ProgressLine(name, progress.total, style, progress_lines(context, style)))
        line[0].update(progress.done, progress.tally.cost_usd)

    try:
        return generator.run_stage(study, name, show)
    finally:
        for each in line:
            each.__exit__(None, None, None)


def _cost(made: Made) -> dict[str, Fact]:
    if made.asked is None:
        return {}
    tally = made.asked.tally
    return {
        "people × items": made.asked.items,
        "answered": made.asked.answered,
        "calls": tally.calls,
        "reused answers": tally.reused,
        "input tokens": tally.input_tokens,
        "output tokens": tally.output_tokens,
        "dollars": round(tally.cost_usd, 6),
    }


def _result(check: Check, stage: str) -> AssetCheckResult:
    severity = AssetCheckSeverity.ERROR if check.name in blocking(stage) else AssetCheckSeverity.WARN
    return AssetCheckResult(
        check_name=check.name, passed=check.passed, severity=severity, metadata=dict(check.facts)
    )


def _all(stages: Iterable[str]) -> tuple[AssetsDefinition, ...]:
    made: dict[str, AssetsDefinition] = {}
    for name in stages:
        made[name] = _stage(name, made)
    return tuple(made.values())


GENERATION = _all(STAGES)
