"""How a file of answers is taken: as a log, a table with its own questions, or answers to items of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from metacog_pipeline.benchmark.bound import Bound, bound
from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange.imported import ImportOptions
from metacog_pipeline.interchange.logs import importing, reading, tables
from metacog_pipeline.interchange.logs.importing import LogOptions, own_questions, target
from metacog_pipeline.study import Study, load_study

#: Options that no log needs.
_OF_TABLES = ("pairs", "condition", "words", "scale", "from_one")


class Taken(NamedTuple):
    """How much was taken of a file; (row, what, reason) of what was not; the study whose board follows."""

    counts: dict[str, int]
    rejected: Sequence[tuple[object, str, str]]
    follows: Study | None


def take(
    file: Path, study_file: Path, benchmark: str | None, given: Mapping[str, Any], options: ImportOptions
) -> Taken:
    """Import a log or a table, into a study that is made where there is none."""
    about = LogOptions(given["model"], given["run"] or 1, benchmark, given["trust"], options.show)
    study = load_study(study_file) if study_file.exists() else None
    name = target(study, benchmark)
    if not file.exists():
        raise StudyError(f"{file}: there is no such file; check the path")
    as_table = any(given[each] for each in _OF_TABLES)
    samples: Any = None if as_table else reading.samples_of(file, about.trust)
    if samples is None and given["condition"] is None and name == own_questions():
        samples = tables.read(file, given["pairs"], options)
    if samples is None:
        return _answers(file, study_file, study, benchmark, given, options)
    done = importing.import_log(file, study_file, samples, about)
    counts = {"kept": done.kept, "known": done.known, "left_out": len(done.left_out)}
    return Taken(counts, done.left_out, done.study)


def _answers(
    file: Path,
    study_file: Path,
    study: Study | None,
    named: str | None,
    given: Mapping[str, Any],
    options: ImportOptions,
) -> Taken:
    """Keep the answers of a table to items of the study as those of its models."""
    if study is None:
        needs = "--map question=…, key=… or correct=…, and choice=… or response=…, each by a --map of its own"
        raise StudyError(f"{file}: {study_file} is not there; for a study of its own a table needs {needs}")
    into = benchmark_of(study, named)
    assert into.importer is not None
    condition = given["condition"] or into.importer.condition
    done = into.importer.read(into, file, given["model"], given["run"], given["pairs"], condition, options)
    counts = {"kept": len(done.records) - done.known, "known": done.known, "not_taken": len(done.rejected)}
    rejected: list[tuple[object, str, str]] = [(each.row, "not taken", each.reason) for each in done.rejected]
    rejected += [("", "not readable", warning) for warning in done.warnings]
    return Taken({**counts, "not_readable": len(done.warnings)}, rejected, None)


def benchmark_of(study: Study, named: str | None) -> Bound:
    """Return the benchmark that a table is about."""
    into = bound(study, target(study, named))
    if into.importer is None:
        raise StudyError(
            f"import: answers to {into.name} cannot be imported; `metacog fit FILE` fits a table of trials"
        )
    return into
