"""The stages of one model and run as the assets show them: answers, responses, judgements, estimates of the run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import dagster as dg
import polars as pl

from metacog_assets.steps import StageResult
from metacog_assets.study_file import Bound
from metacog_pipeline.asking import judging, tasks
from metacog_pipeline.asking.session import WAITING, Partition, query_partition, record_failure
from metacog_pipeline.asking.states import Progress, SessionResult
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.progress import ProgressLine, style_from_environment
from metacog_pipeline.scoring import files
from metacog_pipeline.scoring.responses import FAILED_READING
from metacog_pipeline.scoring.soundness import score_soundly
from metacog_pipeline.study.frames import read_frame
from metacog_pipeline.transcripts.folder import PartitionBusyError

ROWS, URI = "dagster/row_count", "dagster/uri"  # the names under which Dagster shows and plots them
WARN_FAILED_SHARE, WARN_UNREADABLE_SHARE, WARN_COVERAGE = 0.01, 0.05, 0.95
_SHOWN_ROWS, _SHOWN_CHARACTERS = 10, 120

Work = Callable[[Bound, Partition], StageResult]


def answer(benchmark: Bound, partition: Partition) -> StageResult:
    """Ask what is missing or changed; no answer is ever deleted. Where asking cannot even start, the boards say why."""
    spec = partition.spec
    with _noted(partition, lambda: tasks.expected(benchmark)):
        todo = tasks.tasks(benchmark, spec)
        with progress(f"{benchmark.name}: {spec.name} run {partition.run}", len(todo)) as show:
            outcome = query_partition(
                partition,
                todo,
                benchmark.modes(spec),
                fingerprint=tasks.fingerprint(benchmark, partition),
                respond=benchmark.observer(spec.observer) if spec.provider == "simulated" else None,
                on_progress=show,
            )
    return _asked(outcome)


def read(benchmark: Bound, partition: Partition) -> StageResult:
    """Read what each answer says: what was chosen, how sure, right or wrong, or why there is nothing."""
    frame, path = files.read(benchmark, partition), judging.responses_path(partition)
    expected = tasks.expected(benchmark, partition.spec)
    unreadable = frame["status"].is_in([*benchmark.unreadable, FAILED_READING]).sum()
    share = unreadable / max(frame.height, 1)
    failed = frame.filter(pl.col("status") == FAILED_READING)
    fault = None
    if failed.height:
        reason = failed["reason"][0]
        fault = f"{benchmark.name}.parse: {failed.height} of {frame.height} replies are not read: {reason}"
    lost = frame.height != expected
    statuses = dict(frame["status"].value_counts(sort=True).iter_rows())
    shown = preview(frame.select(benchmark.preview) if benchmark.preview else frame)
    return StageResult(
        {**statuses, "expected": expected, ROWS: frame.height, URI: path.as_uri(), "preview": shown},
        passed=not lost and fault is None and share <= WARN_UNREADABLE_SHARE,
        blocks=lost,
        fault=fault,
    )


def judge(benchmark: Bound, partition: Partition) -> StageResult:
    """Ask judges, models that the study names, what is not judged yet."""
    declared = judging.wanted(benchmark)
    if declared is None:  # the study file has changed since the definitions were loaded
        return StageResult({"judges": "none named"})
    responses = read_frame(judging.responses_path(partition))
    expected, _ = judging.needed(benchmark, declared, partition, responses)
    kept = judging.judged_as(partition)
    with _noted(kept, lambda: expected):
        label = f"{benchmark.name}: judges of {partition.spec.name} run {partition.run}"
        with progress(label, expected) as show:
            outcome = judging.ask(benchmark, declared, partition, responses, show)
    files.read_judgements(benchmark, partition)  # also of one that stopped early: what was judged counts
    return _asked(outcome)


def estimate(benchmark: Bound, partition: Partition) -> StageResult:
    """Compute every measure of one model and run, with its interval or the reason it has none."""
    sound = score_soundly(benchmark, partition)
    frame = sound.estimates
    lowest = frame["coverage"].min()
    coverage = lowest if isinstance(lowest, float) else 0.0
    shown = preview(frame.select("condition", "measure", "estimate", "low", "high", "n", "status"))
    return StageResult(
        {
            ROWS: frame.height,
            URI: files.run_estimates_path(partition).as_uri(),
            "rows that make no sense": sound.senseless,
            "lowest coverage": round(coverage, 6),
            "preview": shown,
        },
        passed=not sound.faults and coverage >= WARN_COVERAGE,
        blocks=sound.senseless > 0,
        fault=f"{benchmark.name}: {'; '.join(sound.faults)}" if sound.faults else None,
    )


def preview(frame: pl.DataFrame) -> dg.TableMetadataValue:
    """Return the first rows of a table as Dagster shows tables: every cell is data, whatever is in it."""
    rows = [{name: _cell(value) for name, value in row.items()} for row in frame.head(_SHOWN_ROWS).to_dicts()]
    columns = [dg.TableColumn(name, str(kind)) for name, kind in frame.schema.items()]
    return dg.MetadataValue.table([dg.TableRecord(row) for row in rows], schema=dg.TableSchema(columns))


def _cell(value: object) -> str | int | float | bool:
    if isinstance(value, int | float | bool):
        return round(value, 6)
    text = "" if value is None else str(value).encode("utf-8", "replace").decode()
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


@contextlib.contextmanager
def progress(label: str, total: int | None = None) -> Iterator[Callable[[Progress], None]]:
    """Give the function that shows how far a piece of asking is; the total comes from the first call where not known."""
    with contextlib.ExitStack() as shown:
        lines: list[ProgressLine] = []

        def show(now: Progress) -> None:
            if not lines:
                line = ProgressLine(label, total or now.total, style_from_environment())
                lines.append(shown.enter_context(line))
            lines[0].update(now.done, now.tally.cost_usd)

        yield show


@contextlib.contextmanager
def _noted(partition: Partition, expected: Callable[[], int]) -> Iterator[None]:
    """Write down why a partition could not be asked; not while another process asks it, which writes how that went."""
    try:
        yield
    except PartitionBusyError:
        raise
    except MetacogError as error:
        record_failure(partition, str(error), expected())
        raise


def _asked(outcome: SessionResult) -> StageResult:
    stopped, tally = None, outcome.tally
    if outcome.stopped is not None:
        stopped, code = MetacogError(f"stopped: {outcome.stopped}"), outcome.exit_code
    elif outcome.waiting:
        what = "1 batch is" if outcome.waiting == 1 else f"{outcome.waiting} batches are"
        see = "(see: metacog status STUDY --batches); run again later"
        stopped, code = MetacogError(f"waiting: {what} under way at the provider {see}"), WAITING
    if stopped is not None:
        stopped.exit_code = code
        raise stopped
    facts = {
        "items × conditions": outcome.tasks,
        "failed": outcome.failed,
        "unusable": outcome.unusable,
        ROWS: outcome.answered,
        "calls": tally.calls,
        "reused answers": tally.reused,
        "dollars": round(tally.cost_usd, 6),
        "answer mode": outcome.profile.mode if outcome.profile else "none worked",
    }
    few_failed = outcome.failed <= WARN_FAILED_SHARE * max(outcome.tasks, 1)
    return StageResult(facts, outcome.complete and few_failed)
