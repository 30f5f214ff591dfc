"""Responses, estimates and comparisons on disk, each with the digest of what it was made from.

Of one model and run: ``responses/`` (what was read), ``judgements/``, ``scored/`` (responses with derived columns) and
``estimates/…/runs``. Of a model over all runs: ``estimates/…/models``. Of all models: comparisons and a benchmark's own
tables. Adding a model computes its own files and what compares it; nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from metacog_pipeline.scoring import kept_pairs
from metacog_pipeline.scoring.comparisons import comparisons, failures_in, table
from metacog_pipeline.scoring.estimates import estimates, groups_of
from metacog_pipeline.scoring.harmonised import harmonised, harmonised_path
from metacog_pipeline.scoring.responses import FAILED_READING, read_responses
from metacog_pipeline.stats import measured_coverage
from metacog_pipeline.study.frames import mark_of, read_frame, read_frames, write_frame
from metacog_pipeline.study.many_files import read_many
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
    """Comparisons and tables of all models: rows by file, what could not be computed, one line each, and how many pairs of
    models were computed, and how many read."""

    rows: dict[str, int]
    failures: tuple[str, ...]
    pairs_computed: int = 0
    pairs_read: int = 0


# --- where ------------------------------------------------------------------------------------------------------------
def scored_path(partition: Partition) -> Path:
    """Return where a partition's responses with derived columns are kept."""
    return partition.study.home.scored / f"{partition.benchmark}/{partition.table}"


def run_estimates_path(partition: Partition) -> Path:
    """Return where the estimates of one run are kept."""
    return partition.study.home.estimates / f"{partition.benchmark}/runs/{partition.table}"


def model_estimates_path(benchmark: Bound, model: str) -> Path:
    """Return where the estimates of a model over all its runs are kept."""
    return _estimates(benchmark) / "models" / f"{model}.parquet"


def table_path(benchmark: Bound, name: str) -> Path:
    """Return where the comparisons (``comparisons``) or a table of the benchmark's own are kept."""
    return _estimates(benchmark) / name / f"{name}.parquet"


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
    mark = _read_from(benchmark, partition) if frame.height == expected else ""
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
    mark = _judged_from(benchmark, wanted, partition) if whole else ""
    write_frame(frame, judging.judgements_path(benchmark.context.home, partition), mark)
    return frame


def score(benchmark: Bound, partition: Partition) -> pl.DataFrame:
    """Derive and score one run; keep the scored responses and every measure with its interval or the reason for none."""
    responses = read_frame(responses_path(partition))
    scored = derived(benchmark, responses, kept_judgements(benchmark, partition))
    found = estimates(benchmark, groups_of(benchmark, scored, by_run=True))
    mark = _scored_from(benchmark, partition)
    write_frame(scored, scored_path(partition), mark)
    write_frame(harmonised(benchmark, scored), harmonised_path(partition), mark)
    write_frame(found, run_estimates_path(partition), mark)
    return found


def derived(benchmark: Bound, responses: pl.DataFrame, judgements: pl.DataFrame | None) -> pl.DataFrame:
    """Return the responses of one model and run with the benchmark's derived columns; no finite number is none."""
    fractions = [name for name, kind in responses.schema.items() if kind.is_float()]
    known = responses.with_columns(pl.when(pl.col(name).is_finite()).then(name) for name in fractions)
    return benchmark.derive(known, judgements)


def stale(benchmark: Bound, partition: Partition) -> tuple[str, ...]:
    """Return which stages of a partition must run, of: transcripts, responses, judgements, run_estimates."""
    judged = ("judgements",) if judging.wanted(benchmark) is not None else ()
    if partition.manifest().get("fingerprint") != tasks.fingerprint(benchmark, partition):
        return ("transcripts", "responses", *judged, "run_estimates")
    if mark_of(responses_path(partition)) != _read_from(benchmark, partition):
        return ("responses", *judged, "run_estimates")
    if judged and not judgements_current(benchmark, partition):
        return ("judgements", "run_estimates")
    mark = _scored_from(benchmark, partition)
    paths = (scored_path(partition), harmonised_path(partition), run_estimates_path(partition))
    if any(mark_of(path) != mark for path in paths):
        return ("run_estimates",)
    return ()


def judgements_current(benchmark: Bound, partition: Partition) -> bool:
    """Whether nothing is left to ask the judges of a partition, or nobody is to judge."""
    wanted = judging.wanted(benchmark)
    if wanted is None:
        return True
    path = judging.judgements_path(benchmark.context.home, partition)
    if not responses_path(partition).exists() or mark_of(path) != _judged_from(benchmark, wanted, partition):
        return False
    if wanted.worded_by is not None:  # all that decides the words is in the mark
        return True
    noted = judging.judged_as(partition).manifest().get("fingerprint")
    return noted == judging.needed(benchmark, wanted, partition, read_frame(responses_path(partition)))[1]


def judgements_needed(benchmark: Bound, partition: Partition) -> tuple[int, str]:
    """Return how many judgements a partition needs and the digest of what they depend on; none before any response.

    Of judgements that are whole the manifest says so; only of others it is found out what judges are to be asked.
    """
    wanted, path = judging.wanted(benchmark), responses_path(partition)
    if wanted is None or not path.exists():
        return 0, ""
    noted = judging.judged_as(partition).manifest()
    count = noted.get("n_expected")
    if wanted.worded_by is not None and isinstance(count, int) and judgements_current(benchmark, partition):
        return count, str(noted["fingerprint"])
    return judging.needed(benchmark, wanted, partition, read_frame(path))


def has_answers(partition: Partition) -> bool:
    """Whether there is anything to score: something was answered, or scored before."""
    return bool(partition.manifest().get("n_answered")) or responses_path(partition).exists()


def source_word(partition: Partition) -> str:
    """Return what the partition's answers are: measured, imported or simulated."""
    return str(partition.manifest().get("source") or source_of(partition.spec))


# --- one model, all models --------------------------------------------------------------------------------------------
def pool(benchmark: Bound) -> dict[str, int]:
    """Pool each listed model over its runs; only models whose responses changed are computed again."""
    made_from: dict[Path, str] = {}
    scored: list[pl.DataFrame] = []
    single: list[pl.DataFrame] = []  # numbers of models with one run, which pooling does not change
    listed = set()
    for model, present in _present(benchmark).items():
        target = model_estimates_path(benchmark, model)
        listed.add(target)
        mark = _made_of(benchmark, {path: mark_of(path) for path in map(scored_path, present)})
        if mark_of(target) != mark:
            made_from[target] = mark
            scored += [read_frame(scored_path(each)) for each in present]
            by_run = run_estimates_path(present[0])
            if len(present) == 1 and mark_of(by_run) == _scored_from(benchmark, present[0]):
                single.append(read_frame(by_run))
    if made_from:
        # All at once: a group more costs a tenth of a query more.
        groups = groups_of(benchmark, pl.concat(scored, how="diagonal_relaxed"), by_run=False)
        pooled = estimates(benchmark, groups, pl.concat(single) if single else None)
        by_model = pooled.partition_by("model", as_dict=True)
        for target, mark in made_from.items():
            write_frame(by_model.get((target.stem,), pooled.clear()), target, mark)
    folder = _estimates(benchmark) / "models"
    for retired in set(folder.glob("[a-z0-9]*.parquet")) - listed:
        retired.unlink()
    return {"models": len(listed), "models pooled anew": len(made_from)}


def compare(benchmark: Bound) -> Compared:
    """Write the tests between models and conditions and the benchmark's own tables; made again only where stale."""
    by_model = _present(benchmark)
    present = [each for own in by_model.values() for each in own]
    names = ["comparisons", *(each.name for each in benchmark.tables)]
    if not present:
        for name in names:
            table_path(benchmark, name).unlink(missing_ok=True)
        return Compared(dict.fromkeys(names, 0), ())
    contrasts = [[each.family, each.version, *each.within] for each in benchmark.contrasts]
    rules = [comparing.VERSION, contrasts, [question.primary for question in benchmark.questions]]
    scored = {path: mark_of(path) for path in map(scored_path, present)}
    mark = _digest([rules, _made_of(benchmark, scored)])
    paths = {name: table_path(benchmark, name) for name in names}
    if all(mark_of(path) == mark for path in paths.values()):
        kept = {name: read_frame(path) for name, path in paths.items()}
        return Compared({name: frame.height for name, frame in kept.items()}, ())
    made_from = {
        model: _made_of(benchmark, {path: scored[path] for path in map(scored_path, own)})
        for model, own in by_model.items()
    }
    return _compared(benchmark, _together(benchmark, "scored", scored), present, made_from, mark)


def pooled_estimates(benchmark: Bound) -> pl.DataFrame:
    """Return the pooled estimates of all listed models, in the order of their names; nothing before there are any."""
    paths = sorted(model_estimates_path(benchmark, spec.name) for spec in benchmark.context.study.models)
    there = {path: mark_of(path) for path in paths if path.exists()}
    return _together(benchmark, "estimates", there) if there else pl.DataFrame()


def _together(benchmark: Bound, name: str, files: Mapping[Path, str | None]) -> pl.DataFrame:
    """Return the rows of files, by path with their marks."""
    kept = benchmark.context.cache("read") / benchmark.name / f"{name}.parquet"
    return read_many(list(files), list(files.values()), kept)


def _compared(
    benchmark: Bound,
    scored: pl.DataFrame,
    present: Sequence[Partition],
    made_from: Mapping[str, str],
    mark: str,
) -> Compared:
    judged = _judgements(benchmark, present)
    groups = groups_of(benchmark, scored, by_run=False)
    everything = Scored(scored, groups, read_frames(judged) if judged else None, pooled_estimates(benchmark))
    kept = kept_pairs.Kept(benchmark.context.cache("pairs"), made_from)
    tests = comparisons(benchmark, groups, kept, everything.estimates)
    failures = [f"{benchmark.name}_comparisons: {why}" for why in failures_in(tests)]
    made = {"comparisons": tests}
    for each in benchmark.tables:
        made[each.name], why = table(benchmark, each, everything, kept)
        failures += [why] if why is not None else []
    for name, frame in made.items():
        # What failed is not taken for current, so that the next run tries it again.
        write_frame(frame, table_path(benchmark, name), "" if failures else mark)
    rows = {name: frame.height for name, frame in made.items()}
    return Compared(rows, tuple(failures), kept.computed, kept.read)


def marks(benchmark: Bound) -> list[str | None]:
    """Return what the numbers of a benchmark were made from, to see whether a board is still current."""
    found = [mark_of(run_estimates_path(partition)) for partition in tasks.partitions(benchmark)]
    return [benchmark.versions[Stage.SCORING], *found]


def _present(benchmark: Bound) -> dict[str, list[Partition]]:
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
def _read_from(benchmark: Bound, partition: Partition) -> str:
    manifest = partition.manifest()
    depends = [benchmark.versions[Stage.PARSING], benchmark.settings.affecting(Stage.PARSING)]
    return _digest([*depends, manifest.get("fingerprint"), manifest.get("finished_at")])


def _judged_from(benchmark: Bound, wanted: Judging, partition: Partition) -> str:
    manifest = judging.judged_as(partition).manifest()
    depends = [benchmark.versions[Stage.JUDGING], benchmark.settings.affecting(Stage.JUDGING)]
    asked = [manifest.get("fingerprint"), manifest.get("finished_at"), manifest.get("n_expected")]
    by = judging.needed_by(benchmark, wanted, partition.spec)
    return _digest([*depends, mark_of(responses_path(partition)), *asked, by])


def _scored_from(benchmark: Bound, partition: Partition) -> str:
    responses = mark_of(responses_path(partition))
    wanted = judging.wanted(benchmark) is not None
    judged = mark_of(judging.judgements_path(benchmark.context.home, partition)) if wanted else None
    return _digest([_rules(benchmark), responses, judged])


def _made_of(benchmark: Bound, scored: Mapping[Path, str | None]) -> str:
    """Return the digest of files and their marks, and of what decides the numbers besides them."""
    named = [[path.parent.name, path.name, mark] for path, mark in scored.items()]
    return _digest([_rules(benchmark), named])


def _rules(benchmark: Bound) -> list[Any]:
    settings = benchmark.settings.affecting(Stage.SCORING)
    known = [benchmark.versions[Stage.SCORING], benchmark.context.seed, settings, benchmark.scored_by()]
    return [*known, measured_coverage.digest()]  # it marks rows with too few answers


def _digest(depends: Any) -> str:
    return sha256_hex(canonical_json(depends))
