"""Responses, estimates and comparisons on disk, each file with the digest of its inputs.

Of one model and run: ``responses/`` (what was read), ``judgements/``, ``scored/`` (responses with derived columns),
``harmonised/`` and ``estimates/…/runs``. Of a model over all runs: ``estimates/…/models``. Of all models: comparisons and
a benchmark's own tables. `scoring.staleness` compares the digests; a file that must be rebuilt has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from metacog_pipeline.asking import judging, tasks
from metacog_pipeline.asking.dry_run import current_answers
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.asking.states import source_of
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.benchmark.contract import Judging, Scored, Stage
from metacog_pipeline.benchmark.display import FIRST_REPLY
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.reading.calls import AGAIN
from metacog_pipeline.scoring import comparisons as comparing
from metacog_pipeline.scoring import reader_error
from metacog_pipeline.scoring.comparisons import failures_in, questions_of
from metacog_pipeline.scoring.estimates import (
    COVERAGE,
    estimates,
    groups_of,
    measures_of,
    members,
    narrowed,
    outside_range,
)
from metacog_pipeline.scoring.harmonised import every_answer, with_verdict
from metacog_pipeline.scoring.instruments import instruments
from metacog_pipeline.scoring.responses import FAILED_READING, read_responses
from metacog_pipeline.scoring.schemas import ESTIMATE
from metacog_pipeline.stats import coverage
from metacog_pipeline.study.frames import mark_of, read_frame, read_frames, write_frame

INSTRUMENTS = "instruments"
VERSION = "2"  # of how responses are scored, in every benchmark


class Scores(NamedTuple):
    """The estimates of a run, how many rows are outside their range, and what to correct, a line each."""

    estimates: pl.DataFrame
    outside: int
    faults: tuple[str, ...]


class Compared(NamedTuple):
    """Comparisons and tables of all models: rows by file, and what could not be computed, one line each."""

    rows: dict[str, int]
    failures: tuple[str, ...]


# --- paths ------------------------------------------------------------------------------------------------------------
def run_estimates_path(partition: Partition) -> Path:
    """Return where the estimates of one run are kept."""
    return partition.study.home.estimates / f"{partition.benchmark}/runs/{partition.table}"


def scored_paths(partition: Partition) -> tuple[Path, ...]:
    """Return the files that scoring one run writes, all from the same inputs."""
    return partition.below("scored"), partition.below("harmonised"), run_estimates_path(partition)


def model_estimates_path(benchmark: Bound, model: str) -> Path:
    """Return where the estimates of a model over all its runs are kept."""
    return benchmark.study.home.estimates / benchmark.name / "models" / f"{model}.parquet"


def compared_paths(benchmark: Bound) -> dict[str, Path]:
    """Return where the comparisons and the benchmark's own tables are kept, by name."""
    names = ("comparisons", INSTRUMENTS, *(each.name for each in benchmark.tables))
    folder = benchmark.study.home.estimates / benchmark.name
    return {name: folder / name / f"{name}.parquet" for name in names}


# --- digests of inputs ------------------------------------------------------------------------------------------------
def response_digest(benchmark: Bound, partition: Partition) -> str:
    """Return the digest of what responses are read from."""
    manifest = partition.manifest()
    depends = [benchmark.versions[Stage.PARSING], benchmark.settings.affecting(Stage.PARSING)]
    return _digest([*depends, manifest.get("fingerprint"), manifest.get("finished_at")])


def judgement_digest(benchmark: Bound, wanted: Judging, partition: Partition) -> str:
    """Return the digest of what judgements are read from."""
    manifest = judging.judged_as(partition).manifest()
    depends = [benchmark.versions[Stage.JUDGING], benchmark.settings.affecting(Stage.JUDGING)]
    asked = [manifest.get("fingerprint"), manifest.get("finished_at"), manifest.get("n_expected")]
    by = judging.needed_by(benchmark, wanted, partition)
    return _digest([*depends, mark_of(partition.below("responses")), *asked, by])


def scoring_digest(benchmark: Bound, partition: Partition) -> str:
    """Return the digest of what the numbers of one run are made from."""
    judged = partition.below("judgements")
    inputs = [mark_of(partition.below("responses")), mark_of(judged) if judging.wanted(benchmark) else None]
    return _digest([_rules(benchmark), *inputs])


def pooling_digest(benchmark: Bound, partitions: Sequence[Partition]) -> str:
    """Return the digest of what the estimates of a model over its runs are made from."""
    paths = [each.below("scored") for each in partitions]
    return _digest([_rules(benchmark), [[path.parent.name, path.name, mark_of(path)] for path in paths]])


def comparison_digest(benchmark: Bound) -> str:
    """Return the digest of what the tests between models and the benchmark's own tables are made from."""
    contrasts = [[each.family, each.version, *each.within] for each in benchmark.contrasts]
    asked = [[question.primary, question.verdict] for question in questions_of(benchmark)]
    rules = [comparing.VERSION, contrasts, asked]
    return _digest([rules, pooling_digest(benchmark, every_scored(benchmark))])


def _rules(benchmark: Bound) -> list[Any]:
    settings, seed = benchmark.settings.affecting(Stage.SCORING), benchmark.seed
    known = [VERSION, benchmark.versions[Stage.SCORING], seed, settings, benchmark.scoring_digest()]
    # It marks rows with too few answers.
    return [*known, coverage.digest(), *reader_error.error_digest(benchmark)]


def _digest(depends: Any) -> str:
    return sha256_hex(canonical_json(depends))


# --- one model and run ------------------------------------------------------------------------------------------------
def read(benchmark: Bound, partition: Partition) -> pl.DataFrame:
    """Read a partition's answers and keep the responses."""
    frame = _responses(benchmark, partition, current_transcripts(benchmark, partition))
    whole = frame.height == tasks.expected(benchmark, partition.spec)
    # Without a digest the next run reads again: the reader may be mended, missing answers may have come.
    current = whole and not (frame["status"] == FAILED_READING).any()
    digest = response_digest(benchmark, partition) if current else ""
    write_frame(frame, partition.below("responses"), digest)
    return frame


def _responses(benchmark: Bound, partition: Partition, transcripts: pl.DataFrame) -> pl.DataFrame:
    spec, asked = partition.spec, tasks.asked(benchmark, partition.spec)
    source = str(partition.manifest().get("source") or source_of(spec))
    return read_responses(benchmark, transcripts, asked, model=spec.name, run=partition.run, source=source)


def current_transcripts(benchmark: Bound, partition: Partition) -> pl.DataFrame:
    """Return a partition's answers to what is asked now."""
    asked = partial(tasks.tasks, benchmark, partition.spec)
    return current_answers(partition, benchmark.modes(partition.spec), asked)


def read_judgements(benchmark: Bound, partition: Partition) -> pl.DataFrame | None:
    """Read the judges' verdicts on a partition and keep them; None where the study names no judges."""
    wanted = judging.wanted(benchmark)
    if wanted is None:
        return None
    responses = read_frame(partition.below("responses"))
    frame = judging.read(benchmark, wanted, partition, responses)
    # Of judgements that were asked otherwise, or are not whole, nothing says that they are what is needed.
    noted = judging.judged_as(partition).manifest().get("fingerprint")
    whole = noted is not None and noted == judging.needed(benchmark, wanted, partition, responses)[1]
    digest = judgement_digest(benchmark, wanted, partition) if whole else ""
    write_frame(frame, partition.below("judgements"), digest)
    return frame


def score(benchmark: Bound, partition: Partition) -> Scores:
    """Derive and score one run; keep the scored responses and every measure with its interval or the reason for none."""
    paths = scored_paths(partition)
    try:
        responses = read_frame(partition.below("responses"))
        scored = derived(benchmark, responses, kept_judgements(benchmark, partition))
    except MetacogError:
        for path in paths:  # nothing upholds the numbers that were made of these responses earlier
            path.unlink(missing_ok=True)
        raise
    found = _numbers(benchmark, [partition], scored, by_run=True)
    alike = every_answer(benchmark, scored)
    odd, wrong = [*outside_range(found)], _unharmonised(alike)
    failed = [f"a measure failed: {each}; correct its compute" for each in failures_in(found)]
    faults = (*odd, *wrong, *failed)
    # What has a fault carries no digest, so that the next run scores it again.
    digest = scoring_digest(benchmark, partition)
    write_frame(scored, paths[0], digest)
    write_frame(alike.clear() if wrong else alike, paths[1], "" if wrong else digest)
    write_frame(found, paths[2], "" if faults else digest)
    return Scores(found, len(odd), faults)


def _unharmonised(alike: pl.DataFrame) -> list[str]:
    """Return a line where a harmonised verdict or confidence is out of range: then none of the run is passed on."""
    wrong = alike.filter(~pl.col("correct").is_in([0.0, 1.0]) | ~pl.col("confidence").is_between(0, 1))
    if wrong.is_empty():
        return []
    correct, confidence = wrong.select("correct", "confidence").row(0)
    given = f"correct {correct} and confidence {confidence} ({wrong.height} of {alike.height} responses)"
    rule = "none of them is compared with other benchmarks; correct is 0 or 1, confidence 0 to 1 or null"
    return [f"harmonise gives {given}: {rule}"]


def derived(benchmark: Bound, responses: pl.DataFrame, judgements: pl.DataFrame | None) -> pl.DataFrame:
    """Return the responses with the benchmark's derived columns; NaN and infinity become null.

    Raises MetacogError if deriving loses responses or columns.
    """
    fractions = [name for name, kind in responses.schema.items() if kind.is_float()]
    known = responses.with_columns(pl.when(pl.col(name).is_finite()).then(name) for name in fractions)
    made = benchmark.derive(known, judgements)
    lost = [name for name in responses.columns if name not in made.columns]
    if made.height != responses.height or lost:  # numbers of what is left would be wrong
        rows = f"{made.height} of {responses.height} responses"
        what = f"responses without {', '.join(lost)}" if lost else rows
        raise MetacogError(f"{benchmark.name}.derive returns {what}; return all of them and add columns only")
    return made


def _first_replies(benchmark: Bound, partition: Partition) -> pl.DataFrame:
    """Return the responses of a run without the replies to a second ask."""
    responses = read_frame(partition.below("responses"))
    if not responses["asked_again"].any():
        return responses
    kept = current_transcripts(benchmark, partition).filter(~pl.col("step").str.ends_with(AGAIN))
    return _responses(benchmark, partition, kept)


def _numbers(
    benchmark: Bound, partitions: Sequence[Partition], scored: pl.DataFrame, *, by_run: bool
) -> pl.DataFrame:
    """Return the estimates of runs of a model: of all replies, of first ones, and with the reader model's error in them."""

    @cache  # the reader's error is drawn several times, over the same files
    def read(first: bool) -> list[tuple[pl.DataFrame, pl.DataFrame | None]]:
        responses = _first_replies if first else lambda _, each: read_frame(each.below("responses"))
        return [(responses(benchmark, each), kept_judgements(benchmark, each)) for each in partitions]

    def derive(change: reader_error.Change | None, *, first: bool) -> pl.DataFrame:
        made = [
            derived(benchmark, responses, judged if judged is None or change is None else change(judged))
            for responses, judged in read(first)
        ]
        return pl.concat(made, how="diagonal_relaxed")

    def under(change: reader_error.Change | None) -> pl.DataFrame:
        whole = scored if change is None else derive(change, first=False)
        found = estimates(benchmark, groups_of(benchmark, whole, by_run=by_run))
        if not whole["asked_again"].any():
            return found
        names = {COVERAGE.name, *(each.name for each in measures_of(benchmark) if each.headline)}
        narrow = narrowed(benchmark, names)  # no other measure is computed a second time
        groups = groups_of(narrow, derive(change, first=True), by_run=by_run)
        first = estimates(narrow, groups).filter(pl.col("measure").is_in(names))
        return pl.concat([found, first.with_columns(pl.col("measure") + FIRST_REPLY)])

    return reader_error.carried(benchmark, under(None), under)


def has_answers(partition: Partition) -> bool:
    """Whether there is anything to score: something was answered, or scored before."""
    return bool(partition.manifest().get("n_answered")) or partition.below("responses").exists()


def kept_judgements(benchmark: Bound, *partitions: Partition) -> pl.DataFrame | None:
    """Return the judgements of models and runs; None before there are any, or where the study names no judges."""
    paths = [each.below("judgements") for each in partitions]
    there = [path for path in paths if path.exists()]
    return read_frames(there) if there and judging.wanted(benchmark) is not None else None


# --- one model, all models --------------------------------------------------------------------------------------------
def pool(benchmark: Bound) -> dict[str, int]:
    """Pool each listed model over its runs; return how many there are. Files of models that are not listed any more go."""
    models = scored_partitions(benchmark)
    for model, partitions in models.items():
        digest = pooling_digest(benchmark, partitions)
        write_frame(_pooled(benchmark, partitions), model_estimates_path(benchmark, model), digest)
    listed = {model_estimates_path(benchmark, model) for model in models}
    folder = model_estimates_path(benchmark, "").parent
    for retired in set(folder.glob("[a-z0-9]*.parquet")) - listed:
        retired.unlink()
    return {"models": len(models)}


def _pooled(benchmark: Bound, partitions: Sequence[Partition]) -> pl.DataFrame:
    """Return the estimates of a model over its runs."""
    scored = read_frames([each.below("scored") for each in partitions])
    first = run_estimates_path(partitions[0])
    if len(partitions) > 1 or mark_of(first) != mark_of(partitions[0].below("scored")):
        return _numbers(benchmark, partitions, scored, by_run=False)
    # A single run has the numbers of the model: only measures that no run has are computed.
    kept = read_frame(first).with_columns(run=pl.lit(None, pl.Int32))
    asked = scored["condition"].unique().to_list()
    every = (one for each in benchmark.measures for one in members(each))
    names = {one.name for one in every if any(map(one.conditions, asked))} - {*kept["measure"]}
    if not names:
        return kept
    more = estimates(narrowed(benchmark, {*names, COVERAGE.name}), groups_of(benchmark, scored, by_run=False))
    key = ["dataset", "task", "condition", "scoring", "measure"]
    return pl.concat([kept, more.join(kept, on=key, how="anti", nulls_equal=True)])


def compare(benchmark: Bound) -> Compared:
    """Write the tests between models and conditions and the benchmark's own tables."""
    partitions, paths = every_scored(benchmark), compared_paths(benchmark)
    if not partitions:
        for path in paths.values():
            path.unlink(missing_ok=True)
        return Compared(dict.fromkeys(paths, 0), ())
    scored = read_frames([each.below("scored") for each in partitions])
    judged = kept_judgements(benchmark, *partitions)
    groups = groups_of(benchmark, scored, by_run=False)
    models = sorted({model_estimates_path(benchmark, each.spec.name) for each in partitions})
    there = [path for path in models if path.exists()]
    pooled = read_frames(there) if there else ESTIMATE.to_frame()
    everything = Scored(scored, groups, judged, pooled)
    answers = with_verdict(each.below("harmonised") for each in partitions)
    confidence = comparing.of_confidence(benchmark, groups, scored, answers)
    tests = pl.concat([comparing.comparisons(benchmark, groups, pooled), confidence])
    failures = [f"{benchmark.name}_comparisons: {why}" for why in failures_in(tests)]
    made = {"comparisons": tests}
    made[INSTRUMENTS], why = instruments(benchmark)
    failures += [why] if why is not None else []
    for each in benchmark.tables:
        made[each.name], why = comparing.table(benchmark, each, everything)
        failures += [why] if why is not None else []
    # What failed carries no digest, so that the next run tries it again.
    digest = "" if failures else comparison_digest(benchmark)
    for name, frame in made.items():
        write_frame(frame, paths[name], digest)
    return Compared({name: frame.height for name, frame in made.items()}, tuple(failures))


def scored_partitions(benchmark: Bound) -> dict[str, list[Partition]]:
    """Return by model the partitions that are scored; no model without one."""
    found: dict[str, list[Partition]] = {}
    for each in tasks.partitions(benchmark):
        if each.below("scored").exists():
            found.setdefault(each.spec.name, []).append(each)
    return found


def every_scored(benchmark: Bound) -> list[Partition]:
    """Return the partitions that are scored, model by model."""
    return [each for own in scored_partitions(benchmark).values() for each in own]


def scored_frames(benchmark: Bound) -> list[pl.DataFrame]:
    """Return the scored responses of every partition that has some."""
    return [read_frame(each.below("scored")) for each in every_scored(benchmark)]
