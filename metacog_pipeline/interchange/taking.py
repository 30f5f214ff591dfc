"""How a file of answers is taken: as a log, an export, a table with its own questions, or answers to items of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange import answer_files, choosing
from metacog_pipeline.interchange.imported import ImportOptions
from metacog_pipeline.interchange.logs import exported, importing, reading, tables
from metacog_pipeline.interchange.logs.importing import LogOptions, brings_questions
from metacog_pipeline.study import Study, load_study

_OF_TABLES = (
    "pairs",
    "condition",
    "words",
    "wide",
    "where",
    "scale",
    "from_one",
)  # options that no log needs
#: How much was taken of a file; (row, what, reason) of what was not; the study whose board follows.
Taken = tuple[dict[str, int], Sequence[tuple[object, str, str]], Study | None]


def from_log(
    file: Path, study_file: Path, benchmark: str | None, given: Mapping[str, Any], options: ImportOptions
) -> Taken | None:
    """Import a log, an export, or a table that brings its own questions; None of a table about items of the study."""
    about = LogOptions(given["model"], given["run"] or 1, benchmark, given["trust"], options.show)
    as_table = any(given[each] for each in _OF_TABLES)
    if not as_table and exported.is_export(file):
        done = exported.import_export(file, study_file, about)
    else:
        samples = None if as_table else reading.samples_of(file, about.trust)
        samples = _questions(file, study_file, about, given, options) if samples is None else samples
        if samples is None:
            return None
        done = importing.import_log(file, study_file, samples, about)
    return {"kept": done.kept, "known": done.known, "left_out": len(done.left_out)}, done.left_out, done.study


def _questions(
    file: Path, study_file: Path, about: LogOptions, given: Mapping[str, Any], options: ImportOptions
) -> Any:
    """Return the rows of a table that brings its own questions as samples; None of another table."""
    study = load_study(study_file) if study_file.exists() else None
    named = (about.model, given["run"], about.benchmark)
    if given["condition"] is not None or not brings_questions(study, file, named, given["pairs"], options):
        return None
    rows = tables.read(file, given["pairs"], options)
    if rows is None and study is None:
        needs = "--map question=…, key=… or correct=…, and choice=… or response=…, each by a --map of its own"
        raise StudyError(f"{file}: {study_file} is not there; for a study of its own a table needs {needs}")
    return rows


def from_table(
    study: Study, named: str | None, file: Path, given: Mapping[str, Any], options: ImportOptions
) -> Taken:
    """Keep the answers of a table to items of the study as those of one model and run."""
    model, run, pairs = given["model"], given["run"], given["pairs"]
    if model is None or run is None:
        answer_files.kind_of(file)
        lacking = [name for name, each in (("--model NAME", model), ("--run N", run)) if each is None]
        why = f"is a table, no log: give {' and '.join(lacking)} of these answers"
        raise StudyError(f"{file}: {why if file.exists() else 'there is no such file; check the path'}")
    into = choosing.benchmark_of(study, named, file, pairs, options)
    assert into.importer is not None
    condition = given["condition"] or into.importer.condition
    done = into.importer.read(into, file, model, run, pairs, condition, options)
    counts = {"kept": len(done.records), "not_taken": len(done.rejected), "not_readable": len(done.warnings)}
    rejected: list[tuple[object, str, str]] = [(each.row, "not taken", each.reason) for each in done.rejected]
    return counts, [*rejected, *(("", "not readable", warning) for warning in done.warnings)], None
