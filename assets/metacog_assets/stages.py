"""The stages of one model and run as the assets show them: answers, responses, judgements, estimates of the run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import polars as pl

from metacog_assets.steps import StageResult
from metacog_pipeline.asking import judging, second_ask, tasks
from metacog_pipeline.asking.session import WAITING, Partition, failure_recorded, query_partition
from metacog_pipeline.asking.states import OnProgress, SessionResult
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.progress import ProgressLine, style_from_environment
from metacog_pipeline.scoring import files
from metacog_pipeline.scoring.responses import FAILED_READING
from metacog_pipeline.study.frames import read_frame

# the names under which Dagster shows and plots them
ROWS, URI = "dagster/row_count", "dagster/uri"
WARN_FAILED_SHARE, WARN_UNREADABLE_SHARE, WARN_COVERAGE = 0.01, 0.05, 0.95

Work = Callable[[Bound, Partition], StageResult]


def answer(benchmark: Bound, partition: Partition) -> StageResult:
    """Ask what is missing or changed; no answer is ever deleted. Where asking cannot even start, the boards say why."""
    spec = partition.spec
    with failure_recorded(partition, lambda: tasks.expected(benchmark)):
        todo = tasks.tasks(benchmark, spec)
        with progress(f"{benchmark.name}: {spec.name} run {partition.run}") as show:
            outcome = query_partition(
                partition,
                todo,
                benchmark.modes(spec),
                fingerprint=tasks.fingerprint(benchmark, partition),
                respond=second_ask.Patient(benchmark, spec) if spec.provider == "simulated" else None,
                on_progress=show,
            )
    # an import lacks the rest by design
    return _asked(outcome, replayed=spec.provider == "replay")


def read(benchmark: Bound, partition: Partition) -> StageResult:
    """Read what each answer says: what was chosen, how sure, right or wrong, or why there is nothing."""
    frame, expected = files.read(benchmark, partition), tasks.expected(benchmark, partition.spec)
    unreadable = frame["status"].is_in([*benchmark.unreadable, FAILED_READING]).sum()
    failed = frame.filter(pl.col("status") == FAILED_READING)
    lost, fault = frame.height != expected, None
    if failed.height:
        reason = failed["reason"][0]
        fault = f"{benchmark.name}.parse: {failed.height} of {frame.height} replies are not read: {reason}"
    if lost:
        fault = f"{frame.height} responses to {expected} questions; nothing is passed on"
    statuses = dict(frame["status"].value_counts(sort=True).iter_rows())
    where = partition.below("responses").as_uri()
    return StageResult(
        {**statuses, "expected": expected, ROWS: frame.height, URI: where},
        passed=fault is None and unreadable <= WARN_UNREADABLE_SHARE * max(frame.height, 1),
        blocks=lost,
        fault=fault,
    )


def judge(benchmark: Bound, partition: Partition) -> StageResult:
    """Ask judges, models that the study names, what is not judged yet."""
    declared = judging.wanted(benchmark)
    # the study file has changed since the definitions were loaded
    if declared is None:
        return StageResult({"judges": "none named"})
    responses = read_frame(partition.below("responses"))
    expected, _ = judging.needed(benchmark, declared, partition, responses)
    kept = judging.judged_as(partition)
    label = f"{benchmark.name}: judges of {partition.spec.name} run {partition.run}"
    with failure_recorded(kept, lambda: expected), progress(label) as show:
        outcome = judging.ask(benchmark, declared, partition, responses, show)
    # also of one that stopped early: what was judged counts
    files.read_judgements(benchmark, partition)
    return _asked(outcome)


def estimate(benchmark: Bound, partition: Partition) -> StageResult:
    """Compute every measure of one model and run, with its interval or the reason it has none."""
    scores = files.score(benchmark, partition)
    lowest = scores.estimates["coverage"].min()
    coverage = lowest if isinstance(lowest, float) else 0.0
    figures = {"measures outside their range": scores.outside, "lowest coverage": round(coverage, 6)}
    where = files.run_estimates_path(partition).as_uri()
    return StageResult(
        {ROWS: scores.estimates.height, URI: where, **figures},
        passed=not scores.faults and coverage >= WARN_COVERAGE,
        blocks=scores.outside > 0,
        fault=f"{benchmark.name}: {'; '.join(scores.faults)}" if scores.faults else None,
    )


@contextlib.contextmanager
def progress(label: str) -> Iterator[OnProgress]:
    """Give the function that shows how far a piece of asking is."""
    with contextlib.ExitStack() as shown:
        lines: list[ProgressLine] = []

        def show(done: int, total: int, dollars: float) -> None:
            if not lines:
                lines.append(shown.enter_context(ProgressLine(label, total, style_from_environment())))
            lines[0].update(done, dollars)

        yield show


def _asked(outcome: SessionResult, *, replayed: bool = False) -> StageResult:
    """Return the figures of a session. Raises MetacogError, with the exit code, where it stopped early or waits."""
    stopped, tally, missing = None, outcome.tally, outcome.missing
    if outcome.stopped is not None:
        stopped, code = MetacogError(f"stopped: {outcome.stopped}"), outcome.exit_code
    elif outcome.waiting:
        what = "1 batch is" if outcome.waiting == 1 else f"{outcome.waiting} batches are"
        see = "(see: metacog status STUDY --batches); run again later"
        stopped, code = MetacogError(f"waiting: {what} under way at the provider {see}"), WAITING
    if stopped is not None:
        stopped.exit_code = code
        raise stopped
    counts = {"asked": outcome.tasks, "failed": outcome.failed, "unusable": outcome.unusable}
    facts = {**counts, ROWS: outcome.answered, "calls": tally.calls, "dollars": round(tally.cost_usd, 6)}
    few_failed = outcome.failed <= WARN_FAILED_SHARE * max(outcome.tasks, 1)
    if missing is not None and outcome.answered < outcome.tasks:
        missing += "; run again to ask for the rest"
    return StageResult(facts, missing is None and few_failed, fault=None if replayed else missing)
