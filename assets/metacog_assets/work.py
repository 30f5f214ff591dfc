"""What is done to a study's files, with the figures and checks people see: in a process without Dagster (see `apart`).

What a benchmark prints on the way goes to standard error: standard output is that of the command.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from metacog_assets.figures import (
    ROWS,
    URI,
    Done,
    Fact,
    Place,
    Stopped,
    Verdict,
    Waits,
    answering_models,
    asked,
    progress_of,
    tally_facts,
)
from metacog_assets.models import how_it_answers
from metacog_assets.showing import calibration_plot, preview
from metacog_assets.study_file import Bound, bound
from metacog_pipeline.asking import construction, judging, rehearsal, renamed, tasks
from metacog_pipeline.asking.session import Partition, query_partition, record_failure
from metacog_pipeline.asking.states import SessionResult
from metacog_pipeline.benchmark import item_files
from metacog_pipeline.benchmark.contract import Checked
from metacog_pipeline.errors import MetacogError, SourceError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.registry import aside, is_strange
from metacog_pipeline.scoring import files
from metacog_pipeline.scoring.comparisons import failures_in
from metacog_pipeline.scoring.estimates import measures_of
from metacog_pipeline.scoring.harmonised import harmonised_path
from metacog_pipeline.scoring.responses import FAILED_READING
from metacog_pipeline.study import digests
from metacog_pipeline.study.frames import mark_of, read_frame, write_frame
from metacog_pipeline.transcripts.lock import PartitionBusyError
from metacog_pipeline.transcripts.store import read_partition

WHY = "what to mend"  # a fault of the benchmark, for whoever started the run
ANSWERED, READABLE, SOUND = "answered", "complete_and_readable", "sound_and_covered"
WARN_FAILED_SHARE = 0.01
WARN_UNREADABLE_SHARE = 0.05
WARN_COVERAGE = 0.95
_SHOWN = ("item_id", "condition", "step", "status", "text", "latency_s")
_ESTIMATES_SHOWN = ("condition", "measure", "estimate", "low", "high", "n", "status")


@dataclass(frozen=True, slots=True)
class Made:
    """What a step of construction made: its figures, the digest of the result, and how its checks ended."""

    facts: Mapping[str, Fact]
    version: str
    checks: Mapping[str, Checked]


@aside()
def make(owner: str, name: str, looked: bool = True) -> Made:
    """Make what a step of construction makes, after asking who helps with it; ``looked`` as in `answer`."""
    benchmark = bound(owner)
    step = construction.step_of(benchmark, name)
    digests.begin(benchmark.context.home)
    if step.asks is not None:
        _look(looked, benchmark, step.asks.models(benchmark))
    with progress_of(f"{owner}_{name}") as show:
        found = construction.run_step(benchmark, step, show)
    if (
        name == benchmark.construction()[-1].name
        and (why := item_files.unusable(benchmark.items)) is not None
    ):
        construction.result_path(benchmark, name).unlink()
        raise SourceError(f"{owner}: {why}")
    facts: dict[str, Fact] = dict(found.facts)
    if found.asked is not None:
        facts |= {"models × items": found.asked.items, "answered": found.asked.answered}
        facts |= tally_facts(found.asked.tally)
    for spec in step.asks.models(benchmark) if step.asks is not None else ():
        facts |= how_it_answers(benchmark.context.study, spec, named=True)
    facts |= {
        ROWS: found.facts["rows"],
        URI: construction.result_path(benchmark, name).as_uri(),
        "preview": preview(found.frame),
    }
    return Made(facts, found.digest, found.checks)


@aside()
def answer(at: Place, limit: int | None = None, looked: bool = True) -> Done:
    """Ask what a partition lacks; one that cannot even start is written down, so that the boards can name it.

    ``looked`` says that a command has looked for models that seem to be renamed; else it is done here.
    """
    benchmark, partition = at.open()
    try:
        _look(looked, benchmark, [partition.spec])
        strange = is_strange(type(benchmark).__module__)
        if strange and (why := rehearsal.misasked(benchmark, partition.spec)) is not None:
            raise MetacogError(why)
        todo = tasks.tasks(benchmark, partition.spec)
        simulated = partition.spec.provider == "simulated"
        with progress_of(f"{at.benchmark}: {at.model} run {at.run}", len(todo)) as show:
            outcome = query_partition(
                partition,
                todo,
                benchmark.modes(partition.spec),
                fingerprint=tasks.fingerprint(benchmark, partition),
                respond=benchmark.observer(partition.spec.observer) if simulated else None,
                on_progress=show,
                limit=limit,
            )
    except MetacogError as error:
        _note(partition, error, tasks.expected(benchmark))
        raise
    _refuse_stopped(outcome)
    few = pl.DataFrame(pl.from_arrow(read_partition(partition.folder, list(_SHOWN)).slice(0, 20)))
    facts = {
        **asked(outcome),
        **answering_models(partition),
        **how_it_answers(partition.study, partition.spec, outcome),
        ROWS: outcome.answered,
        "preview": preview(few),
    }
    return _asked(facts, outcome, partition)


def note_ended(at: Place, error: MetacogError) -> None:
    """Write down why a partition was not asked to its end, for a process that could not do so itself."""
    benchmark, partition = at.open()
    _note(partition, error, tasks.expected(benchmark))


@aside()
def read(at: Place) -> Done:
    """Read a partition's answers into responses."""
    benchmark, partition = at.open()
    found = files.read(benchmark, partition)
    by_status = dict(found.frame["status"].value_counts(sort=True).iter_rows())
    path = judging.responses_path(partition)
    missing = found.frame.height != found.expected
    failed = found.frame.filter(pl.col("status") == FAILED_READING)
    fault: dict[str, Fact] = {}
    if failed.height:
        reason = failed["reason"][0]
        fault = {
            WHY: f"{benchmark.name}.parse: {failed.height} of {found.frame.height} replies are not read: {reason}"
        }
        write_frame(found.frame, path, "")  # not taken for current: the next run reads it again
    return Done(
        {
            **by_status,
            ROWS: found.frame.height,
            URI: path.as_uri(),
            "preview": preview(found.frame, benchmark.preview or None),
        },
        _version(mark_of(path)),
        Verdict(
            READABLE,
            not missing and not fault and found.unreadable_share <= WARN_UNREADABLE_SHARE,
            {
                "rows": found.frame.height,
                "expected": found.expected,
                "share unreadable": round(found.unreadable_share, 6),
                "warn above": WARN_UNREADABLE_SHARE,
                **fault,
            },
            blocks=missing,
        ),
    )


@aside()
def judge(at: Place, looked: bool = True) -> Done:
    """Ask the judges of a partition what is not judged yet; ``looked`` as in `answer`."""
    benchmark, partition = at.open()
    declared = judging.wanted(benchmark)
    if declared is None:  # the study file has changed since the definitions were loaded
        return Done({"judges": "none named"}, "", Verdict(ANSWERED, True, {}))
    kept = judging.judged_as(partition)
    responses = read_frame(judging.responses_path(partition))
    expected, _ = judging.needed(benchmark, declared, partition, responses)
    try:
        _look(looked, benchmark, declared.judges(benchmark, partition.spec))
        if (why := construction.untried(benchmark, declared.needs)) is not None:
            raise SourceError(f"{kept.benchmark}: {why}")
        with progress_of(f"{at.benchmark}: judges of {at.model} run {at.run}", expected) as show:
            outcome = judging.ask(benchmark, declared, partition, responses, show)
    except MetacogError as error:
        _note(kept, error, expected)
        raise
    frame = files.read_judgements(benchmark, partition)
    _refuse_stopped(outcome)
    assert frame is not None
    facts = {**asked(outcome), ROWS: frame.height}
    for each in declared.judges(benchmark, partition.spec):
        facts |= how_it_answers(partition.study, each, named=True)
    return _asked(facts, outcome, kept)


@aside()
def estimate(at: Place) -> Done:
    """Score one run."""
    benchmark, partition = at.open()
    frame = files.score(benchmark, partition)
    _refuse_lost(benchmark, partition)
    odd, outside = _senseless(frame), _outside(benchmark, frame)
    broken = pl.concat([odd, outside.select(odd.columns)]).unique(maintain_order=True)
    faults = [*_unharmonised(benchmark, partition), *_told(odd, outside, failures_in(frame))]
    lowest = frame["coverage"].min()
    coverage = float(lowest) if isinstance(lowest, int | float) else 0.0
    path = files.run_estimates_path(partition)
    if faults:
        write_frame(frame, path, "")  # not taken for current: the next run scores it again
    facts: dict[str, Fact] = {} if broken.is_empty() else {"which": preview(broken, _ESTIMATES_SHOWN)}
    facts |= {WHY: f"{benchmark.name}: {'; '.join(faults)}"} if faults else {}
    return Done(
        {
            ROWS: frame.height,
            URI: path.as_uri(),
            **_calibration(partition),
            "preview": preview(frame, _ESTIMATES_SHOWN),
        },
        _version(mark_of(path)),
        Verdict(
            SOUND,
            not faults and coverage >= WARN_COVERAGE,
            {
                "rows that make no sense": broken.height,
                "lowest coverage": round(coverage, 6),
                "warn below": WARN_COVERAGE,
                **facts,
            },
            blocks=not broken.is_empty(),
        ),
    )


def _calibration(partition: Partition) -> dict[str, Fact]:
    """Return how right the answers are by confidence, as a picture, where there is a confidence."""
    path = harmonised_path(partition)
    rated = read_frame(path).drop_nulls("confidence") if path.exists() else pl.DataFrame()
    return {"calibration": calibration_plot(rated)} if rated.height else {}


def _asked(facts: dict[str, Fact], outcome: SessionResult, partition: Partition) -> Done:
    failed = outcome.failed / max(outcome.tasks, 1)
    return Done(
        facts,
        _answers_version(outcome.tally.current) or _version(str(partition.manifest().get("finished_at"))),
        Verdict(
            ANSWERED,
            outcome.complete and failed <= WARN_FAILED_SHARE,
            {
                "answered": outcome.answered,
                "of": outcome.tasks,
                "failed": outcome.failed,
                "unusable": outcome.unusable,
                **({} if outcome.missing is None else {"missing": outcome.missing}),
            },
        ),
    )


def _look(looked: bool, benchmark: Bound, specs: Iterable[ModelSpec]) -> None:
    """Raise StudyError where one of the models would be asked what it has answered under another name."""
    names = [spec.name for spec in specs]
    if names and not looked:
        renamed.refuse(benchmark.context.study, names)


def _refuse_stopped(outcome: SessionResult) -> None:
    if outcome.stopped is not None:
        raise Stopped(outcome.stopped, outcome.exit_code)
    if outcome.waiting:
        raise Waits(outcome.waiting)


def _note(partition: Partition, error: MetacogError, expected: int) -> None:
    """Note why a partition could not be asked; nothing while another process asks it: that one will say how it went."""
    if not isinstance(error, PartitionBusyError):
        record_failure(partition, str(error), expected)


def _answers_version(answers: Iterable[str]) -> str | None:
    """Return the same version for the same answers; None for imported ones, which are not counted here."""
    ids = sorted(answers)
    return sha256_hex(canonical_json(ids)) if ids else None


def _version(mark: str | None) -> str:
    return mark or "none"


def _senseless(estimates: pl.DataFrame) -> pl.DataFrame:
    numbers = pl.col("estimate", "low", "high").cast(pl.Float64)
    return estimates.filter(
        pl.any_horizontal(numbers.is_nan() | numbers.is_infinite()).fill_null(False)
        | (pl.col("low").is_null() != pl.col("high").is_null())
        | (pl.col("low") > pl.col("high")).fill_null(False)
    )


def _outside(benchmark: Bound, estimates: pl.DataFrame) -> pl.DataFrame:
    """Return the rows whose estimate lies outside the range of its measure; rounding may pass it by a hair."""
    ranges = {each.name: each.range for each in measures_of(benchmark)}
    bounds = pl.DataFrame(
        [(name, low, high) for name, (low, high) in ranges.items()],
        schema={"measure": pl.String, "min": pl.Float64, "max": pl.Float64},
        orient="row",
    )
    kept = estimates.join(bounds, on="measure", how="left", maintain_order="left")
    hair = 1e-9
    wrong = (pl.col("estimate") < pl.col("min") - hair) | (pl.col("estimate") > pl.col("max") + hair)
    return kept.filter(wrong.fill_null(False))


def _told(odd: pl.DataFrame, outside: pl.DataFrame, failed: Sequence[str]) -> list[str]:
    """Return what is wrong with measures, a line each: of several rows of one measure the first is told."""
    found = [f"a measure failed: {each}; mend its compute" for each in failed]
    for name, condition, value, low, high in (
        outside.unique("measure", maintain_order=True)
        .select("measure", "condition", "estimate", "min", "max")
        .iter_rows()
    ):
        found.append(
            f"measure {name} is {value:.6g} under {condition}, outside {_end(low)} to {_end(high)}: the board shows no "
            "number for it; mend its compute or the range it declares"
        )
    for name, condition in (
        odd.unique("measure", maintain_order=True).select("measure", "condition").iter_rows()
    ):
        found.append(f"measure {name} has no sensible value or interval under {condition}; mend its compute")
    return found


def _end(value: float | None) -> str:
    return "any" if value is None else f"{value:g}"


def _refuse_lost(benchmark: Bound, partition: Partition) -> None:
    """Raise where derived columns have cost responses or columns; numbers of what is left are withdrawn."""
    before, after = judging.responses_path(partition), files.scored_path(partition)
    read, made = (pl.scan_parquet(path, glob=False, hive_partitioning=False) for path in (before, after))
    rows, kept = (each.select(pl.len()).collect().item() for each in (read, made))
    lost = [name for name in read.collect_schema() if name not in made.collect_schema()]
    if rows == kept and not lost:
        return
    for path in (after, harmonised_path(partition), files.run_estimates_path(partition)):
        path.unlink(missing_ok=True)
    what = f"{kept} of {rows} responses" if rows != kept else f"responses without {', '.join(lost)}"
    raise MetacogError(f"{benchmark.name}.derive returns {what}; return all of them and add columns only")


def _unharmonised(benchmark: Bound, partition: Partition) -> list[str]:
    """Return what is wrong with right, wrong and confidence, a line or none: then none of it is passed on."""
    path = harmonised_path(partition)
    made = read_frame(path)
    wrong = made.filter(~pl.col("correct").is_in([0.0, 1.0]) | ~pl.col("confidence").is_between(0, 1))
    if wrong.is_empty():
        return []
    write_frame(made.clear(), path, "")
    correct, confidence = wrong.select("correct", "confidence").row(0)
    return [
        f"harmonise gives correct {correct} and confidence {confidence} ({wrong.height} of {made.height} responses): none "
        "of them stands beside other benchmarks; correct is 0 or 1, confidence 0 to 1 or null"
    ]
