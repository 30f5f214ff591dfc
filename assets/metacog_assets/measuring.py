"""From items to numbers, alike for every benchmark: one partition is one model in one run; comparisons stand over all."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl
from dagster import (
    AssetCheckResult,
    AssetCheckSpec,
    AssetExecutionContext,
    AssetKey,
    AssetsDefinition,
    DataVersion,
    Failure,
    MaterializeResult,
    MetadataValue,
    asset,
)

from metacog_assets.automation import (
    FILL_MISSING,
    FOLLOW,
    FOLLOW_THE_ANSWERS,
    FOLLOW_WHAT_THERE_IS,
    FREE,
    JUDGED,
    PAID,
)
from metacog_assets.partitions import MODEL_RUNS
from metacog_assets.reporting import (
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
from metacog_assets.showing import preview
from metacog_assets.study_file import current_study
from metacog_pipeline.benchmarks.common import asking, scoring
from metacog_pipeline.benchmarks.common.benchmark import Benchmark, Judging
from metacog_pipeline.benchmarks.common.judging import judged_partition, read_judgements
from metacog_pipeline.errors import MetacogError, StudyError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.progress import ProgressLine, style_from_environment
from metacog_pipeline.querying.partition import Progress, SessionResult
from metacog_pipeline.querying.session import Partition, record_failure
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.lock import PartitionBusyError

WARN_ANSWERED_SHARE = 1.0
WARN_FAILED_SHARE = 0.01
WARN_UNPARSABLE_SHARE = 0.05
WARN_COVERAGE = 0.95

Plot = Callable[[Partition], MetadataValue]
Figures = Callable[[Study], Mapping[str, MetadataValue]]


@dataclass(frozen=True, slots=True)
class Measurement:
    """The four assets every benchmark has, and the judgements of one whose answers are judged."""

    transcripts: AssetsDefinition
    observations: AssetsDefinition
    estimates: AssetsDefinition
    comparisons: AssetsDefinition
    judgements: AssetsDefinition | None = None

    @property
    def partitioned(self) -> tuple[AssetsDefinition, ...]:
        """Those of one model and run."""
        judged = () if self.judgements is None else (self.judgements,)
        return (self.transcripts, self.observations, *judged, self.estimates)


def measurement(
    benchmark: Benchmark, items: AssetsDefinition, plots: dict[str, Plot], figures: Figures | None = None
) -> Measurement:
    """Return the assets that ask, parse, score and compare.

    ``plots`` are shown with each run's estimates, ``figures`` with the comparisons of all models.
    """
    transcripts = _transcripts(benchmark, items)
    observations = _observations(benchmark, items, transcripts)
    judgements = (
        None if benchmark.judging is None else _judgements(benchmark, benchmark.judging, observations)
    )
    estimates = _estimates(benchmark, [observations, *([judgements] if judgements else [])], plots)
    comparisons = _comparisons(benchmark, estimates, figures)
    return Measurement(transcripts, observations, estimates, comparisons, judgements)


def _transcripts(benchmark: Benchmark, items: AssetsDefinition) -> AssetsDefinition:
    name = benchmark.stages[0]

    @asset(
        name=name,
        group_name=benchmark.name,
        partitions_def=MODEL_RUNS,
        deps=[items],
        kinds={"parquet"},
        pool="models",
        automation_condition=FILL_MISSING,
        tags=PAID,
        description="What was asked and answered. Asks only for what is missing or changed; never deletes an answer.",
        check_specs=[
            AssetCheckSpec("answered_share", asset=name, description="Every question has its answers."),
            AssetCheckSpec("failed_share", asset=name, description="Few calls failed for good."),
        ],
    )
    def transcripts(context: AssetExecutionContext) -> MaterializeResult:
        partition = this_partition(context, benchmark.name)
        with one_line_failure():
            _require_enabled(benchmark, partition)
            outcome = _ask(benchmark, context, partition)
            shown = asking.transcript_preview(partition)
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

    return transcripts


def _observations(
    benchmark: Benchmark, items: AssetsDefinition, transcripts: AssetsDefinition
) -> AssetsDefinition:
    name = benchmark.stages[1]

    @asset(
        name=name,
        group_name=benchmark.name,
        partitions_def=MODEL_RUNS,
        deps=[items, transcripts],
        kinds={"parquet", "polars"},
        code_version=benchmark.parsing_version,
        automation_condition=FOLLOW,
        tags=FREE,
        description="Parsed answers: what was said, how sure, right or wrong, or why there is nothing.",
        check_specs=[
            AssetCheckSpec(
                "one_row_per_item_and_condition",
                asset=name,
                blocking=True,
                description="No question is lost or counted twice.",
            ),
            AssetCheckSpec("unparsable_share", asset=name, description="Few answers are unreadable."),
        ],
    )
    def observations(context: AssetExecutionContext) -> MaterializeResult:
        with one_line_failure():
            found = scoring.observe(benchmark, this_partition(context, benchmark.name))
        return MaterializeResult(
            metadata={
                **found.facts,
                ROWS: found.rows,
                "preview": preview(found.frame, benchmark.observation_preview),
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

    return observations


def _judgements(benchmark: Benchmark, judging: Judging, observations: AssetsDefinition) -> AssetsDefinition:
    name = judging.name

    @asset(
        name=name,
        group_name=benchmark.name,
        partitions_def=MODEL_RUNS,
        deps=[observations],
        kinds={"parquet"},
        code_version=judging.version,
        pool="models",
        automation_condition=FOLLOW,
        tags=JUDGED,
        description="What judges say of the answers: models the study names; asked only for what is missing.",
        check_specs=[
            AssetCheckSpec("judged_share", asset=name, description="Every answer has its judgements.")
        ],
    )
    def judgements(context: AssetExecutionContext) -> MaterializeResult:
        partition = this_partition(context, benchmark.name)
        with one_line_failure():
            _require_enabled(benchmark, partition)
            if not judging.wanted(partition.study):
                nobody = share_above("judged_share", 1.0, WARN_ANSWERED_SHARE)
                return MaterializeResult(metadata={"judges": "none named"}, check_results=[nobody])
            outcome = _ask_judges(judging, context, partition)
            frame = read_judgements(judging, partition)
        if outcome.stopped is not None:
            facts = {**asked(outcome), EXIT_CODE: outcome.exit_code}
            raise Failure(f"stopped: {outcome.stopped}", metadata=facts, allow_retries=False)
        return MaterializeResult(
            metadata={**asked(outcome), ROWS: frame.height},
            data_version=_version(outcome.tally.current),
            check_results=[
                share_above("judged_share", outcome.answered / max(outcome.tasks, 1), WARN_ANSWERED_SHARE)
            ],
        )

    return judgements


def _estimates(
    benchmark: Benchmark, needed: Sequence[AssetsDefinition], plots: dict[str, Plot]
) -> AssetsDefinition:
    name = benchmark.stages[-1]

    @asset(
        name=name,
        group_name=benchmark.name,
        partitions_def=MODEL_RUNS,
        deps=list(needed),
        kinds={"parquet"},
        code_version=benchmark.scoring_version,
        automation_condition=FOLLOW_THE_ANSWERS,
        tags=FREE,
        description="Every measure of one model and run, with its interval or the reason it has none.",
        check_specs=[
            AssetCheckSpec(
                "numbers_make_sense",
                asset=name,
                blocking=True,
                description="No NaN, no infinity, no half or reversed interval.",
            ),
            AssetCheckSpec("coverage", asset=name, description="Nearly every question has a valid answer."),
        ],
    )
    def estimates(context: AssetExecutionContext) -> MaterializeResult:
        partition = this_partition(context, benchmark.name)
        with one_line_failure():
            drawn = {title: plot(partition) for title, plot in plots.items()}
            frame = scoring.estimate(benchmark, partition)
        return MaterializeResult(
            metadata={ROWS: frame.height, **drawn, "preview": preview(frame, benchmark.estimate_preview)},
            check_results=[
                AssetCheckResult(
                    check_name="numbers_make_sense",
                    passed=(odd := _senseless(frame)).is_empty(),
                    metadata={"rows": odd.height, "which": preview(odd, benchmark.estimate_preview)},
                ),
                share_above("coverage", _lowest(frame["coverage"]), WARN_COVERAGE),
            ],
        )

    return estimates


def _comparisons(
    benchmark: Benchmark, estimates: AssetsDefinition, figures: Figures | None
) -> AssetsDefinition:
    @asset(
        name=f"{benchmark.name}_comparisons",
        group_name=benchmark.name,
        deps=[estimates],
        kinds={"parquet"},
        code_version=benchmark.scoring_version,
        automation_condition=FOLLOW_WHAT_THERE_IS,
        tags=FREE,
        description="Each model over all its runs, and the tests between models and between conditions.",
    )
    def comparisons() -> MaterializeResult:
        with one_line_failure():
            study = current_study()
            facts = scoring.summarise(benchmark, study)
            drawn = {} if figures is None else figures(study)
        return MaterializeResult(metadata={**facts, ROWS: facts["comparisons"], **drawn})

    return comparisons


def _require_enabled(benchmark: Benchmark, partition: Partition) -> None:
    """Refuse to spend on a benchmark that the study file, as it is now, does not ask for."""
    if benchmark.name not in partition.study.enabled:
        raise StudyError(
            f"{partition.study.path.name}: {benchmark.name} is switched off in the study file; "
            'set enabled = true, or press "Reload definitions" to drop its assets'
        )


def _ask(benchmark: Benchmark, context: AssetExecutionContext, partition: Partition) -> SessionResult:
    """Ask with progress shown; a partition that cannot even start is written down, so that the boards can name it."""
    style = style_from_environment()
    try:
        tasks = benchmark.tasks(partition.study, partition.spec)
        label = f"{partition.spec.name} run {partition.run}"
        with ProgressLine(label, len(tasks), style, progress_lines(context, style)) as line:

            def show(progress: Progress) -> None:
                line.update(progress.done, progress.tally.cost_usd)

            return asking.query(benchmark, partition, tasks, show)
    except MetacogError as error:
        asking.write_failure(benchmark, partition, error)
        raise


def _ask_judges(judging: Judging, context: AssetExecutionContext, partition: Partition) -> SessionResult:
    """Ask the judges with progress shown; judgements that cannot even start are written down like answers."""
    style = style_from_environment()
    try:
        label = f"judges of {partition.spec.name} run {partition.run}"
        with ProgressLine(label, judging.expected(partition), style, progress_lines(context, style)) as line:

            def show(progress: Progress) -> None:
                line.update(progress.done, progress.tally.cost_usd)

            return judging.ask(partition, show)
    except MetacogError as error:
        if not isinstance(error, PartitionBusyError):
            seat = judged_partition(judging, partition)
            record_failure(seat, str(error), judging.expected(partition))
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


def keys(assets: Sequence[AssetsDefinition]) -> list[AssetKey]:
    """Return the keys of single assets."""
    return [each.key for each in assets]
