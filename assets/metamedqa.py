"""MetaMedQA as assets: raw sources → edits → items → transcripts → observations → estimates → comparisons."""

from dagster import (
    AssetCheckResult,
    AssetCheckSeverity,
    AssetCheckSpec,
    AssetExecutionContext,
    Failure,
    MaterializeResult,
    asset,
)

from assets.automation import FILL_MISSING, FOLLOW_PARTITION, FOLLOW_WHAT_THERE_IS
from assets.partitions import MODEL_RUNS
from assets.showing import calibration_plot, preview
from assets.study_file import current_study
from metacog_pipeline.benchmarks.metamedqa import stages
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.progress import ProgressLine, style_from_environment
from metacog_pipeline.querying.partition import Outcome, Progress
from metacog_pipeline.querying.session import Partition

GROUP = "metamedqa"
WARN_FAILED_SHARE = 0.01
WARN_UNPARSABLE_SHARE = 0.05


def this_partition(context: AssetExecutionContext) -> Partition:
    """Return the partition a run is about."""
    keys = context.partition_key.keys_by_dimension  # type: ignore[attr-defined]
    study = current_study()
    return Partition(study, stages.BENCHMARK, study.model(keys["model"]), int(keys["run"]))


def _stop(error: MetacogError) -> Failure:
    return Failure(str(error), allow_retries=False)


@asset(group_name=GROUP, kinds={"jsonl"}, code_version=stages.CONSTRUCTION_VERSION)
def medqa_source() -> MaterializeResult:
    """The parent questions: four options each, as published (or those of the sample)."""
    try:
        found = stages.parent_source(current_study())
    except MetacogError as error:
        raise _stop(error) from None
    return MaterializeResult(metadata={**found.facts, "preview": preview(found.frame)})


@asset(group_name=GROUP, kinds={"jsonl"}, code_version=stages.CONSTRUCTION_VERSION)
def glianorex_source() -> MaterializeResult:
    """Questions about an organ that does not exist."""
    try:
        found = stages.fictional_source(current_study())
    except MetacogError as error:
        raise _stop(error) from None
    return MaterializeResult(metadata={**found.facts, "preview": preview(found.frame)})


@asset(group_name=GROUP, deps=[medqa_source], kinds={"jsonl"}, code_version=stages.CONSTRUCTION_VERSION)
def metamedqa_edits() -> MaterializeResult:
    """What was changed in the parent questions; derived from the published file where that is the data set."""
    try:
        found = stages.edit_table(current_study())
    except MetacogError as error:
        raise _stop(error) from None
    return MaterializeResult(metadata={**found.facts, "preview": preview(found.frame)})


@asset(
    group_name=GROUP,
    deps=[medqa_source, glianorex_source, metamedqa_edits],
    kinds={"parquet"},
    code_version=stages.CONSTRUCTION_VERSION,
    check_specs=[
        AssetCheckSpec("counts_add_up", asset="metamedqa_items", blocking=True),
        AssetCheckSpec("invariants_hold", asset="metamedqa_items", blocking=True),
    ],
)
def metamedqa_items() -> MaterializeResult:
    """The benchmark as it is asked: six options, the key, the kind of each item."""
    try:
        built = stages.build(current_study())
    except MetacogError as error:
        raise _stop(error) from None
    unexpected = built.unexpected
    return MaterializeResult(
        metadata={**built.facts, "preview": preview(built.frame)},
        check_results=[
            AssetCheckResult(
                check_name="counts_add_up", passed=built.counts_add_up, metadata={"counts": built.counts}
            ),
            AssetCheckResult(
                check_name="invariants_hold",
                passed=not unexpected,
                metadata={"unexpected": list(map(str, unexpected)), "known": list(map(str, built.known))},
            ),
        ],
    )


@asset(
    group_name=GROUP,
    partitions_def=MODEL_RUNS,
    deps=[metamedqa_items],
    kinds={"parquet"},
    pool="models",
    automation_condition=FILL_MISSING,
    check_specs=[
        AssetCheckSpec("answered_share", asset="metamedqa_transcripts"),
        AssetCheckSpec("failed_share", asset="metamedqa_transcripts"),
    ],
)
def metamedqa_transcripts(context: AssetExecutionContext) -> MaterializeResult:
    """What was asked and answered. Asks only for what is missing or changed; never deletes an answer."""
    partition = this_partition(context)
    label = f"{partition.spec.name} run {partition.run}"
    try:
        tasks = stages.tasks(partition.study, partition.spec)
        with ProgressLine(label, len(tasks), style_from_environment(), context.log.info) as line:

            def show(progress: Progress) -> None:
                line.update(progress.done, progress.tally.cost_usd)

            outcome = stages.query(partition, tasks, show)
    except MetacogError as error:
        stages.write_failure(partition, error)
        raise _stop(error) from None
    if outcome.stopped is not None:
        raise Failure(f"{label} stopped: {outcome.stopped}", metadata=_facts(outcome), allow_retries=False)
    share = outcome.answered / max(outcome.tasks, 1)
    failed = outcome.failed / max(outcome.tasks, 1)
    return MaterializeResult(
        metadata={**_facts(outcome), "preview": preview(stages.transcript_preview(partition))},
        check_results=[
            AssetCheckResult(
                check_name="answered_share",
                passed=outcome.complete,
                severity=AssetCheckSeverity.WARN,
                metadata={"share": share},
            ),
            AssetCheckResult(
                check_name="failed_share",
                passed=failed <= WARN_FAILED_SHARE,
                severity=AssetCheckSeverity.WARN,
                metadata={"share": failed, "warn above": WARN_FAILED_SHARE},
            ),
        ],
    )


@asset(
    group_name=GROUP,
    partitions_def=MODEL_RUNS,
    deps=[metamedqa_items, metamedqa_transcripts],
    kinds={"parquet", "polars"},
    code_version=stages.PARSING_VERSION,
    automation_condition=FOLLOW_PARTITION,
    check_specs=[
        AssetCheckSpec("one_row_per_item_and_condition", asset="metamedqa_observations", blocking=True),
        AssetCheckSpec("unparsable_share", asset="metamedqa_observations"),
    ],
)
def metamedqa_observations(context: AssetExecutionContext) -> MaterializeResult:
    """Parsed answers: letter, confidence, right or wrong, or why there is none."""
    try:
        found = stages.observe(this_partition(context))
    except MetacogError as error:
        raise _stop(error) from None
    return MaterializeResult(
        metadata={**found.facts, "preview": preview(found.frame, stages.OBSERVATION_PREVIEW)},
        check_results=[
            AssetCheckResult(
                check_name="one_row_per_item_and_condition",
                passed=found.rows == found.expected_rows,
                metadata={"rows": found.rows, "expected": found.expected_rows},
            ),
            AssetCheckResult(
                check_name="unparsable_share",
                passed=found.unparsable_share <= WARN_UNPARSABLE_SHARE,
                severity=AssetCheckSeverity.WARN,
                metadata={"share": found.unparsable_share, "warn above": WARN_UNPARSABLE_SHARE},
            ),
        ],
    )


@asset(
    group_name=GROUP,
    partitions_def=MODEL_RUNS,
    deps=[metamedqa_observations],
    kinds={"parquet"},
    code_version=stages.SCORING_VERSION,
    automation_condition=FOLLOW_PARTITION,
)
def metamedqa_estimates(context: AssetExecutionContext) -> MaterializeResult:
    """Every measure of one model and run, with its interval or the reason it has none."""
    partition = this_partition(context)
    try:
        plot = calibration_plot(stages.calibration(partition))
        frame = stages.estimate(partition)
    except MetacogError as error:
        raise _stop(error) from None
    return MaterializeResult(
        metadata={
            "rows": frame.height,
            "preview": preview(frame, stages.ESTIMATE_PREVIEW),
            "calibration": plot,
        }
    )


@asset(
    group_name=GROUP,
    deps=[metamedqa_estimates],
    kinds={"parquet"},
    code_version=stages.SCORING_VERSION,
    automation_condition=FOLLOW_WHAT_THERE_IS,
)
def metamedqa_comparisons() -> MaterializeResult:
    """Each model over all its runs, and the tests between models and between conditions."""
    try:
        facts = stages.summarise(current_study())
    except MetacogError as error:
        raise _stop(error) from None
    return MaterializeResult(metadata=dict(facts))


def _facts(outcome: Outcome) -> dict[str, int | float | str]:
    tally = outcome.tally
    return {
        "items × conditions": outcome.tasks,
        "answered": outcome.answered,
        "failed": outcome.failed,
        "calls": tally.calls,
        "reused answers": tally.reused,
        "input tokens": tally.input_tokens,
        "output tokens": tally.output_tokens,
        "dollars": round(tally.cost_usd, 6),
        "answer mode": outcome.profile.mode if outcome.profile else "none worked",
    }


ASSETS = [
    medqa_source,
    glianorex_source,
    metamedqa_edits,
    metamedqa_items,
    metamedqa_transcripts,
    metamedqa_observations,
    metamedqa_estimates,
    metamedqa_comparisons,
]
