"""How a file of answers is taken: as a log, an export, a table with its own questions, or answers to items of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from metacog_pipeline.benchmark.bound import Bound, bound
from metacog_pipeline.errors import StudyError, one_line, suggestion
from metacog_pipeline.interchange import answer_files
from metacog_pipeline.interchange.imported import ImportOptions
from metacog_pipeline.interchange.importing import takes
from metacog_pipeline.interchange.logs import exported, importing, reading, tables
from metacog_pipeline.interchange.logs.importing import LogOptions, brings_questions
from metacog_pipeline.study import Study, load_study

#: Options that no log needs.
_OF_TABLES = ("pairs", "condition", "words", "wide", "where", "scale", "from_one")


class Taken(NamedTuple):
    """How much was taken of a file; (row, what, reason) of what was not; the study whose board follows."""

    counts: dict[str, int]
    rejected: Sequence[tuple[object, str, str]]
    follows: Study | None


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
    counts = {"kept": done.kept, "known": done.known, "left_out": len(done.left_out)}
    return Taken(counts, done.left_out, done.study)


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
    into = benchmark_of(study, named, file, pairs, options)
    assert into.importer is not None
    condition = given["condition"] or into.importer.condition
    done = into.importer.read(into, file, model, run, pairs, condition, options)
    counts = {"kept": len(done.records), "not_taken": len(done.rejected), "not_readable": len(done.warnings)}
    rejected: list[tuple[object, str, str]] = [(each.row, "not taken", each.reason) for each in done.rejected]
    return Taken(counts, [*rejected, *(("", "not readable", warning) for warning in done.warnings)], None)


# --- which benchmark --------------------------------------------------------------------------------------------------
def benchmark_of(
    study: Study, name: str | None, file: Path, pairs: Sequence[str], options: ImportOptions
) -> Bound:
    """Return the benchmark that is named, or else the only one the file fits; raise `StudyError` where there is none."""
    if name is None:
        return _fitting(study, file, pairs, options)
    if name not in study.enabled:
        raise StudyError(
            f'import: "{name}" is not enabled in {study.path.name}{suggestion(name, study.enabled)}; '
            f"it has: {', '.join(study.enabled)}"
        )
    into = bound(study, name)
    if into.importer is None:
        raise StudyError(
            f"import: answers to {name} cannot be imported; `metacog fit FILE` fits a table of trials"
        )
    return into


def _fitting(study: Study, file: Path, pairs: Sequence[str], options: ImportOptions) -> Bound:
    found = [into for name in study.enabled if (into := bound(study, name)).importer is not None]
    if len(found) == 1:
        return found[0]
    takers = [into for into in found if takes(into, pairs)] if pairs else []
    why: dict[str, str | None] = {}
    if len(takers) != 1:
        for into in found:
            if into.importer is not None and into.importer.misfit is not None:
                why[into.name] = into.importer.misfit(into, file, pairs, options)
    fitting = takers if len(takers) == 1 else [into for into in found if why.get(into.name, "") is None]
    if len(fitting) != 1:
        names = ", ".join(into.name for into in fitting or found)
        how = "several benchmarks fit" if fitting else "no benchmark of the study fits"
        reasons = "" if fitting else "".join(f"; {name}: {one_line(str(why[name]), 160)}" for name in why)
        raise StudyError(f"{file}: {how}; name one before the file, out of {names}{reasons}")
    if options.show is not None:
        how = "with the fields that are mapped" if len(takers) == 1 else "that it fits"
        options.show(f"taken as answers to {fitting[0].name}, the only benchmark of the study {how}")
    return fitting[0]
