"""What is done to a study's files, with the figures and checks people see: in a process without Dagster (see `apart`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
from metacog_pipeline.asking import construction, judging, tasks
from metacog_pipeline.benchmark.contract import Checked
from metacog_pipeline.errors import MetacogError, SourceError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.querying.partition import SessionResult
from metacog_pipeline.querying.session import Partition, query_partition, record_failure
from metacog_pipeline.scoring import files
from metacog_pipeline.scoring.estimates import measures_of
from metacog_pipeline.scoring.harmonised import harmonised_path
from metacog_pipeline.study.frames import mark_of, read_frame
from metacog_pipeline.transcripts.lock import PartitionBusyError
from metacog_pipeline.transcripts.store import read_partition

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


def make(owner: str, name: str) -> Made:
    """Make what a step of construction makes, after asking who helps with it."""
    benchmark = bound(owner)
    step = construction.step_of(benchmark, name)
    with progress_of(f"{owner}_{name}") as show:
        found = construction.run_step(benchmark, step, show)
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


def answer(at: Place, limit: int | None = None) -> Done:
    """Ask what a partition lacks; one that cannot even start is written down, so that the boards can name it."""
    benchmark, partition = at.open()
    try:
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


def read(at: Place) -> Done:
    """Read a partition's answers into responses."""
    benchmark, partition = at.open()
    found = files.read(benchmark, partition)
    by_status = dict(found.frame["status"].value_counts(sort=True).iter_rows())
    path = judging.responses_path(partition)
    missing = found.frame.height != found.expected
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
            not missing and found.unreadable_share <= WARN_UNREADABLE_SHARE,
            {
                "rows": found.frame.height,
                "expected": found.expected,
                "share unreadable": round(found.unreadable_share, 6),
                "warn above": WARN_UNREADABLE_SHARE,
            },
            blocks=missing,
        ),
    )


def judge(at: Place) -> Done:
    """Ask the judges of a partition what is not judged yet."""
    benchmark, partition = at.open()
    declared = judging.wanted(benchmark)
    if declared is None:  # the study file has changed since the definitions were loaded
        return Done({"judges": "none named"}, "", Verdict(ANSWERED, True, {}))
    kept = judging.judged_as(partition)
    responses = read_frame(judging.responses_path(partition))
    expected, _ = judging.needed(benchmark, declared, partition, responses)
    try:
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


def estimate(at: Place) -> Done:
    """Score one run."""
    benchmark, partition = at.open()
    frame = files.score(benchmark, partition)
    odd, outside = _senseless(frame), _outside(benchmark, frame)
    broken = pl.concat([odd, outside]).unique(maintain_order=True)
    lowest = frame["coverage"].min()
    coverage = float(lowest) if isinstance(lowest, int | float) else 0.0
    path = files.run_estimates_path(partition)
    facts: dict[str, Fact] = {} if broken.is_empty() else {"which": preview(broken, _ESTIMATES_SHOWN)}
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
            broken.is_empty() and coverage >= WARN_COVERAGE,
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
    return kept.filter(wrong.fill_null(False)).select(estimates.columns)
