"""Responses, estimates and comparisons on disk, each with the digest of what it was made from.

Of one model and run: ``responses/`` (what was read), ``judgements/``, ``scored/`` (responses with derived columns) and
``estimates/…/runs``. Of a model over all runs: ``estimates/…/models``. Of all models: comparisons and a benchmark's own
tables. Adding a model computes its own files and what compares it; nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.asking import judging, tasks
from metacog_pipeline.asking.cost_estimate import identities
from metacog_pipeline.asking.judging import responses_path
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.asking.states import source_of
from metacog_pipeline.benchmark.contract import Benchmark, Judging, Scored, Stage
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.scoring import comparisons as comparing
from metacog_pipeline.scoring.comparisons import comparisons, failures_in, table
from metacog_pipeline.scoring.estimates import estimates, groups_of
from metacog_pipeline.scoring.harmonised import harmonised, harmonised_path
from metacog_pipeline.scoring.responses import FAILED_READING, read_responses
from metacog_pipeline.stats import measured_coverage
from metacog_pipeline.study.frames import mark_of, read_frame, read_frames, write_frame
from metacog_pipeline.transcripts.store import answers_table

Bound = Benchmark[Any, Any, Any]


@dataclass(frozen=True, slots=True)
class Read:
    """The responses of one partition: how many there are and should be, and the share that could not be read."""

    frame: pl.DataFrame
    expected: int
    unreadable_share: float


@dataclass(frozen=True, slots=True)
class Compared:
    """Comparisons and tables of all models: rows by file, and what could not be computed, one line each."""

    rows: dict[str, int]
    failures: tuple[str, ...]


# --- where ------------------------------------------------------------------------------------------------------------
def scored_path(partition: Partition) -> Path:
    """Return where a partition's responses with derived columns are kept."""
    return partition.study.home.scored / f"{partition.benchmark}/{partition.table}"


def run_estimates_path(partition: Partition) -> Path:
    """Return where the estimates of one run are kept."""
    return partition.study.home.estimates / f"{partition.benchmark}/runs/{partition.table}"


def scored_paths(partition: Partition) -> tuple[Path, ...]:
    """Return the files that scoring one run writes, all from the same inputs."""
    return scored_path(partition), harmonised_path(partition), run_estimates_path(partition)


def model_estimates_path(benchmark: Bound, model: str) -> Path:
    """Return where the estimates of a model over all its runs are kept."""
    return _estimates(benchmark) / "models" / f"{model}.parquet"


def table_path(benchmark: Bound, name: str) -> Path:
    """Return where the comparisons (``comparisons``) or a table of the benchmark's own are kept."""
    return _estimates(benchmark) / name / f"{name}.parquet"


def compared_paths(benchmark: Bound) -> dict[str, Path]:
    """Return where the comparisons and the benchmark's own tables are kept, by name."""
    return {
        name: table_path(benchmark, name) for name in ("comparisons", *(t.name for t in benchmark.tables))
    }


def _estimates(benchmark: Bound) -> Path:
    return benchmark.context.home.estimates / benchmark.name


# --- one model and run ------------------------------------------------------------------------------------------------
def read(benchmark: Bound, partition: Partition) -> Read:
    """Read a partition's kept answers and keep the responses."""
    frame = read_responses(
        benchmark,
        current_transcripts(benchmark, partition),
        tasks.asked(benchmark, partition.spec),
        model=partition.spec.name,
        run=partition.run,
        source=source_word(partition),
    )
    expected = tasks.expected(benchmark, partition.spec)
    # A file of the wrong length is never taken for up to date: the check that refused it must be met again.
    mark = read_from(benchmark, partition) if frame.height == expected else ""
    write_frame(frame, responses_path(partition), mark)
    unreadable = frame.filter(pl.col("status").is_in([*benchmark.unreadable, FAILED_READING])).height
    return Read(frame, expected, unreadable / max(frame.height, 1))


def current_transcripts(benchmark: Bound, partition: Partition) -> pl.DataFrame:
    """Return a partition's transcripts without superseded answers and without those to questions worded otherwise now.

    A complete partition has marked those itself, unless a task has answers in two modes: a mode that was tried in vain, or
    marks of an earlier version. In one that stopped early, items not reached yet still hold their old answers, which
    nothing marks.
    """
    frame = pl.DataFrame(pl.from_arrow(answers_table(partition.folder))).filter(~pl.col("superseded"))
    profile = partition.known_profile()
    if profile is None or profile.mode == "import":
        return frame
    if partition.manifest().get("state") == "complete" and not _in_two_modes(frame):
        return frame
    modes = benchmark.modes(partition.spec)
    now = identities(partition, profile, modes, tasks.tasks(benchmark, partition.spec))
    return frame.filter(pl.col("answer_id").is_in(now))


def _in_two_modes(frame: pl.DataFrame) -> bool:
    """Whether some item has answers in more than one mode under one condition."""
    answered = frame.filter(pl.col("status") != "failed")
    return bool((answered.group_by("item_id", "condition").agg(pl.col("mode").n_unique())["mode"] > 1).any())


def read_judgements(benchmark: Bound, partition: Partition) -> pl.DataFrame | None:
    """Read what the judges said of a partition and keep it; None where the study names no judges."""
    wanted = judging.wanted(benchmark)
    if wanted is None:
        return None
    responses = read_frame(responses_path(partition))
    frame = judging.read(benchmark, wanted, partition, responses)
    # Of judgements that were asked otherwise, or are not whole, nothing says that they are what is needed.
    noted = judging.judged_as(partition).manifest().get("fingerprint")
    whole = noted is not None and noted == judging.needed(benchmark, wanted, partition, responses)[1]
    mark = judged_from(benchmark, wanted, partition) if whole else ""
    write_frame(frame, judging.judgements_path(benchmark.context.home, partition), mark)
    return frame


def score(benchmark: Bound, partition: Partition) -> pl.DataFrame:
    """Derive and score one run; keep the scored responses and every measure with its interval or the reason for none."""
    responses = read_frame(responses_path(partition))
    scored = derived(benchmark, responses, kept_judgements(benchmark, partition))
    found = estimates(benchmark, groups_of(benchmark, scored, by_run=True))
    mark = scored_from(benchmark, partition)
    write_frame(scored, scored_path(partition), mark)
    write_frame(harmonised(benchmark, scored), harmonised_path(partition), mark)
    write_frame(found, run_estimates_path(partition), mark)
    return found


def derived(benchmark: Bound, responses: pl.DataFrame, judgements: pl.DataFrame | None) -> pl.DataFrame:
    """Return the responses of one model and run with the benchmark's derived columns; no finite number is none."""
    fractions = [name for name, kind in responses.schema.items() if kind.is_float()]
    known = responses.with_columns(pl.when(pl.col(name).is_finite()).then(name) for name in fractions)
    return benchmark.derive(known, judgements)


def has_answers(partition: Partition) -> bool:
    """Whether there is anything to score: something was answered, or scored before."""
    return bool(partition.manifest().get("n_answered")) or responses_path(partition).exists()


def source_word(partition: Partition) -> str:
    """Return what the partition's answers are: measured, imported or simulated."""
    return str(partition.manifest().get("source") or source_of(partition.spec))


# --- one model, all models --------------------------------------------------------------------------------------------
def pool(benchmark: Bound) -> dict[str, int]:
    """Pool each listed model over its runs; return how many there are. Files of models that are not listed any more go."""
    models = scored_partitions(benchmark)
    scored: list[pl.DataFrame] = []
    single: list[pl.DataFrame] = []  # numbers of models with one run: pooling does not change them
    for partitions in models.values():
        scored += [read_frame(scored_path(each)) for each in partitions]
        by_run = run_estimates_path(partitions[0])
        if len(partitions) == 1 and mark_of(by_run) == mark_of(scored_path(partitions[0])):
            single.append(read_frame(by_run))
    if models:
        groups = groups_of(benchmark, pl.concat(scored, how="diagonal_relaxed"), by_run=False)
        pooled = estimates(benchmark, groups, pl.concat(single) if single else None)
        by_model = pooled.partition_by("model", as_dict=True)
        for model, partitions in models.items():
            mark = pooled_from(benchmark, partitions)
            write_frame(by_model.get((model,), pooled.clear()), model_estimates_path(benchmark, model), mark)
    listed = {model_estimates_path(benchmark, model) for model in models}
    for retired in set((_estimates(benchmark) / "models").glob("[a-z0-9]*.parquet")) - listed:
        retired.unlink()
    return {"models": len(models)}


def compare(benchmark: Bound) -> Compared:
    """Write the tests between models and conditions and the benchmark's own tables."""
    partitions = [each for own in scored_partitions(benchmark).values() for each in own]
    paths = compared_paths(benchmark)
    if not partitions:
        for path in paths.values():
            path.unlink(missing_ok=True)
        return Compared(dict.fromkeys(paths, 0), ())
    mark = compared_from(benchmark)
    scored_rows = read_frames([scored_path(each) for each in partitions])
    judged = _judgements(benchmark, partitions)
    groups = groups_of(benchmark, scored_rows, by_run=False)
    pooled = pooled_estimates(benchmark)
    everything = Scored(scored_rows, groups, read_frames(judged) if judged else None, pooled)
    tests = comparisons(benchmark, groups, pooled)
    failures = [f"{benchmark.name}_comparisons: {why}" for why in failures_in(tests)]
    made = {"comparisons": tests}
    for each in benchmark.tables:
        made[each.name], why = table(benchmark, each, everything)
        failures += [why] if why is not None else []
    for name, frame in made.items():
        # What failed is not taken for current, so that the next run tries it again.
        write_frame(frame, paths[name], "" if failures else mark)
    return Compared({name: frame.height for name, frame in made.items()}, tuple(failures))


def pooled_estimates(benchmark: Bound) -> pl.DataFrame:
    """Return the pooled estimates of all listed models, in the order of their names; nothing before there are any."""
    paths = sorted(model_estimates_path(benchmark, spec.name) for spec in benchmark.context.study.models)
    there = [path for path in paths if path.exists()]
    return read_frames(there) if there else pl.DataFrame()


def scored_partitions(benchmark: Bound) -> dict[str, list[Partition]]:
    """Return by model the partitions that are scored; no model without one."""
    found: dict[str, list[Partition]] = {}
    for each in tasks.partitions(benchmark):
        if scored_path(each).exists():
            found.setdefault(each.spec.name, []).append(each)
    return found


def kept_judgements(benchmark: Bound, partition: Partition) -> pl.DataFrame | None:
    """Return the judgements of a model and run; None before there are any, or where the study names no judges."""
    paths = _judgements(benchmark, [partition])
    return read_frame(paths[0]) if paths else None


def _judgements(benchmark: Bound, partitions: Sequence[Partition]) -> list[Path]:
    """Return the files of judgements that are there; none where the study names no judges."""
    if judging.wanted(benchmark) is None:
        return []
    paths = (judging.judgements_path(benchmark.context.home, each) for each in partitions)
    return [path for path in paths if path.exists()]


def scored_frames(benchmark: Bound) -> list[pl.DataFrame]:
    """Return the scored responses of every partition that has some."""
    paths = [scored_path(each) for each in tasks.partitions(benchmark)]
    return [read_frame(path) for path in paths if path.exists()]


# --- what a file was made from ----------------------------------------------------------------------------------------
def read_from(benchmark: Bound, partition: Partition) -> str:
    """Return the digest of what responses are read from."""
    manifest = partition.manifest()
    depends = [benchmark.versions[Stage.PARSING], benchmark.settings.affecting(Stage.PARSING)]
    return _digest([*depends, manifest.get("fingerprint"), manifest.get("finished_at")])


def judged_from(benchmark: Bound, wanted: Judging, partition: Partition) -> str:
    """Return the digest of what judgements are read from."""
    manifest = judging.judged_as(partition).manifest()
    depends = [benchmark.versions[Stage.JUDGING], benchmark.settings.affecting(Stage.JUDGING)]
    asked = [manifest.get("fingerprint"), manifest.get("finished_at"), manifest.get("n_expected")]
    by = judging.needed_by(benchmark, wanted, partition.spec)
    return _digest([*depends, mark_of(responses_path(partition)), *asked, by])


def scored_from(benchmark: Bound, partition: Partition) -> str:
    """Return the digest of what the numbers of one run are made from."""
    responses = mark_of(responses_path(partition))
    wanted = judging.wanted(benchmark) is not None
    judged = mark_of(judging.judgements_path(benchmark.context.home, partition)) if wanted else None
    return _digest([_rules(benchmark), responses, judged])


def pooled_from(benchmark: Bound, partitions: Sequence[Partition]) -> str:
    """Return the digest of what the estimates of a model over its runs are made from."""
    paths = map(scored_path, partitions)
    return _digest([_rules(benchmark), [[path.parent.name, path.name, mark_of(path)] for path in paths]])


def compared_from(benchmark: Bound) -> str:
    """Return the digest of what the tests between models and the benchmark's own tables are made from."""
    contrasts = [[each.family, each.version, *each.within] for each in benchmark.contrasts]
    rules = [comparing.VERSION, contrasts, [question.primary for question in benchmark.questions]]
    partitions = [each for own in scored_partitions(benchmark).values() for each in own]
    return _digest([rules, pooled_from(benchmark, partitions)])


def _rules(benchmark: Bound) -> list[Any]:
    settings = benchmark.settings.affecting(Stage.SCORING)
    known = [benchmark.versions[Stage.SCORING], benchmark.context.seed, settings, benchmark.scored_by()]
    return [*known, measured_coverage.digest()]  # it marks rows with too few answers


def _digest(depends: Any) -> str:
    return sha256_hex(canonical_json(depends))
