"""From questions to numbers: one partition is one model in one run; the comparisons stand over all of them."""

from collections.abc import Iterable

import polars as pl
from dagster import (
    AssetCheckResult,
    AssetCheckSpec,
    AssetExecutionContext,
    DataVersion,
    Failure,
    MaterializeResult,
    asset,
)

from assets.automation import FILL_MISSING, FOLLOW, FOLLOW_WHAT_THERE_IS
from assets.metamedqa.construction import metamedqa_items
from assets.partitions import MODEL_RUNS
from assets.reporting import (
    EXIT_CODE,
    ROWS,
    answering_models,
    asked,
    one_line_failure,
    progress_lines,
    share_above,
    share_below,
    this_partition,
)
from assets.showing import calibration_plot, preview
from assets.study_file import current_study
from metacog_pipeline.benchmarks.metamedqa import stages
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.progress import ProgressLine, style_from_environment
from metacog_pipeline.querying.partition import Outcome, Progress
from metacog_pipeline.querying.session import Partition

GROUP = "metamedqa"
WARN_ANSWERED_SHARE = 1.0
WARN_FAILED_SHARE = 0.01
WARN_UNPARSABLE_SHARE = 0.05
WARN_COVERAGE = 0.95


@asset(
    group_name=GROUP,
    partitions_def=MODEL_RUNS,
    deps=[metamedqa_items],
    kinds={"parquet"},
    pool="models",
    automation_condition=FILL_MISSING,
    check_specs=[
        AssetCheckSpec(
            "answered_share", asset="metamedqa_transcripts", description="Every question has its answers."
        ),
        AssetCheckSpec(
            "failed_share", asset="metamedqa_transcripts", description="Few calls failed for good."
        ),
    ],
)
def metamedqa_transcripts(context: AssetExecutionContext) -> MaterializeResult:
    """What was asked and answered. Asks only for what is missing or changed; never deletes an answer."""
    partition = this_partition(context, stages.BENCHMARK)
    with one_line_failure():
        outcome = _ask(context, partition)
        shown = stages.transcript_preview(partition)
    if outcome.stopped is not None:
        facts = {**asked(outcome), EXIT_CODE: outcome.exit_code}
        raise Failure(f"stopped: {outcome.stopped}", metadata=facts, allow_retries=False)
    tasks = max(outcome.tasks, 1)
    return MaterializeResult(
        metadata={
            **asked(outcome),
            **answering_models(partition),
            ROWS: outcome.answered,
            "preview": preview(shown),
        },
        data_version=_version(outcome.tally.current),
        check_results=[
            share_above("answered_share", outcome.answered / tasks, WARN_ANSWERED_SHARE),
            share_below("failed_share", outcome.failed / tasks, WARN_FAILED_SHARE),
        ],
    )


@asset(
    group_name=GROUP,
    partitions_def=MODEL_RUNS,
    deps=[metamedqa_items, metamedqa_transcripts],
    kinds={"parquet", "polars"},
    code_version=stages.PARSING_VERSION,
    automation_condition=FOLLOW,
    check_specs=[
        AssetCheckSpec(
            "one_row_per_item_and_condition",
            asset="metamedqa_observations",
            blocking=True,
            description="No question is lost or counted twice.",
        ),
        AssetCheckSpec(
            "unparsable_share", asset="metamedqa_observations", description="Few answers are unreadable."
        ),
    ],
)
def metamedqa_observations(context: AssetExecutionContext) -> MaterializeResult:
    """Parsed answers: letter, confidence, right or wrong, or why there is none."""
    with one_line_failure():
        found = stages.observe(this_partition(context, stages.BENCHMARK))
    return MaterializeResult(
        metadata={
            **found.facts,
            ROWS: found.rows,
            "preview": preview(found.frame, stages.OBSERVATION_PREVIEW),
        },
        check_results=[
            AssetCheckResult(
                check_name="one_row_per_item_and_condition",
                passed=found.rows == found.expected_rows,
                metadata={"rows": found.rows, "expected": found.expected_rows},
            ),
            share_below("unparsable_share", found.unparsable_share, WARN_UNPARSABLE_SHARE),
        ],
    )


@asset(
    group_name=GROUP,
    partitions_def=MODEL_RUNS,
    deps=[metamedqa_observations],
    kinds={"parquet"},
    code_version=stages.SCORING_VERSION,
    automation_condition=FOLLOW,
    check_specs=[
        AssetCheckSpec(
            "numbers_make_sense",
            asset="metamedqa_estimates",
            blocking=True,
            description="No NaN, no infinity, no half or reversed interval.",
        ),
        AssetCheckSpec(
            "coverage", asset="metamedqa_estimates", description="Nearly every question has a valid letter."
        ),
    ],
)
def metamedqa_estimates(context: AssetExecutionContext) -> MaterializeResult:
    """Every measure of one model and run, with its interval or the reason it has none."""
    partition = this_partition(context, stages.BENCHMARK)
    with one_line_failure():
        plot = calibration_plot(stages.calibration(partition))
        frame = stages.estimate(partition)
    return MaterializeResult(
        metadata={
            ROWS: frame.height,
            "calibration": plot,
            "preview": preview(frame, stages.ESTIMATE_PREVIEW),
        },
        check_results=[
            AssetCheckResult(
                check_name="numbers_make_sense",
                passed=(odd := _senseless(frame)).is_empty(),
                metadata={"rows": odd.height, "which": preview(odd, stages.ESTIMATE_PREVIEW)},
            ),
            share_above("coverage", _lowest(frame["coverage"]), WARN_COVERAGE),
        ],
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
    with one_line_failure():
        facts = stages.summarise(current_study())
    return MaterializeResult(metadata={**facts, ROWS: facts["comparisons"]})


def _ask(context: AssetExecutionContext, partition: Partition) -> Outcome:
    """Ask with progress shown; a partition that cannot even start is written down, so that the boards can name it."""
    style = style_from_environment()
    try:
        tasks = stages.tasks(partition.study, partition.spec)
        label = f"{partition.spec.name} run {partition.run}"
        with ProgressLine(label, len(tasks), style, progress_lines(context, style)) as line:

            def show(progress: Progress) -> None:
                line.update(progress.done, progress.tally.cost_usd)

            return stages.query(partition, tasks, show)
    except MetacogError as error:
        stages.write_failure(partition, error)
        raise


def _version(answers: Iterable[str]) -> DataVersion | None:
    """Return the same version for the same answers; imported ones are not counted here and get a new one each time."""
    ids = sorted(answers)
    return DataVersion(sha256_hex(canonical_json(ids))) if ids else None


def _senseless(estimates: pl.DataFrame) -> pl.DataFrame:
    numbers = pl.col("estimate", "low", "high").cast(pl.Float64)
    return estimates.filter(
        pl.any_horizontal(numbers.is_nan() | numbers.is_infinite()).fill_null(False)
        | (pl.col("low").is_null() != pl.col("high").is_null())
        | (pl.col("low") > pl.col("high")).fill_null(False)
    )


def _lowest(shares: pl.Series) -> float:
    lowest = shares.min()
    return float(lowest) if isinstance(lowest, int | float) else 0.0
