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
from metacog_pipeline.interchange.logs.importing import LogOptions, fits, own_questions
from metacog_pipeline.interchange.record import Sample
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
    """Import a log, an export, or a table, into a study that is made where there is none."""
    about = LogOptions(given["model"], given["run"] or 1, benchmark, given["trust"], options.show)
    as_table = any(given[each] for each in _OF_TABLES)
    if not as_table and exported.is_export(file):
        done = exported.import_export(file, study_file, about)
    else:
        samples = None if as_table else reading.samples_of(file, about.trust)
        samples = _questions(file, study_file, about, given, options) if samples is None else iter(samples)
        if samples is None:
            return _answers(load_study(study_file), benchmark, file, given, options)
        done = importing.import_log(file, study_file, samples, about)
    counts = {"kept": done.kept, "known": done.known, "left_out": len(done.left_out)}
    return Taken(counts, done.left_out, done.study)


def _questions(
    file: Path, study_file: Path, about: LogOptions, given: Mapping[str, Any], options: ImportOptions
) -> Any:
    """Return the rows of a table that brings its own questions as samples; None of another table."""
    study = load_study(study_file) if study_file.exists() else None
    if not file.exists():
        answer_files.kind_of(file)
        raise StudyError(f"{file}: there is no such file; check the path")
    if given["condition"] is not None or not brings_questions(
        study, file, about.benchmark, given["pairs"], options
    ):
        return None
    rows: list[Sample] | None = tables.read(file, given["pairs"], options)
    if rows is None and study is None:
        needs = "--map question=…, key=… or correct=…, and choice=… or response=…, each by a --map of its own"
        raise StudyError(f"{file}: {study_file} is not there; for a study of its own a table needs {needs}")
    return rows


def brings_questions(
    study: Study | None, file: Path, benchmark: str | None, pairs: Sequence[str], options: ImportOptions
) -> bool:
    """Whether a table may bring questions of its own: it is about items of no other benchmark that is named or enabled."""
    own = own_questions()
    if benchmark not in (None, own):
        return False
    if study is None or benchmark == own:
        return True
    names = [name for name in study.enabled if name != own]
    if len(names) == 1 and own not in study.enabled:
        return False
    mapped = {pair.partition("=")[0] for pair in pairs}
    if not mapped <= {*tables.FIELDS} and any(takes(bound(study, name), pairs) for name in names):
        return False
    return not any(fits(bound(study, name), file, pairs, options) for name in names)


def _answers(
    study: Study, named: str | None, file: Path, given: Mapping[str, Any], options: ImportOptions
) -> Taken:
    """Keep the answers of a table to items of the study as those of its models."""
    into = benchmark_of(study, named, file, given["pairs"], options)
    assert into.importer is not None
    condition = given["condition"] or into.importer.condition
    done = into.importer.read(into, file, given["model"], given["run"], given["pairs"], condition, options)
    counts = {"kept": len(done.records) - done.known, "known": done.known, "not_taken": len(done.rejected)}
    rejected: list[tuple[object, str, str]] = [(each.row, "not taken", each.reason) for each in done.rejected]
    rejected += [("", "not readable", warning) for warning in done.warnings]
    return Taken({**counts, "not_readable": len(done.warnings)}, rejected, None)


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
    takers, why = [into for into in found if takes(into, pairs)] if pairs else [], dict[str, str | None]()
    if len(takers) == 1:
        fitting, how = takers, "with the fields that are mapped"
    else:
        for into in found:
            assert into.importer is not None and into.importer.misfit is not None
            why[into.name] = into.importer.misfit(into, file, pairs, options)
        fitting, how = [into for into in found if why[into.name] is None], "that it fits"
    if len(fitting) != 1:
        names = ", ".join(into.name for into in fitting or found)
        told = "several benchmarks fit" if fitting else "no benchmark of the study fits"
        reasons = "" if fitting else "".join(f"; {name}: {one_line(str(why[name]), 160)}" for name in why)
        raise StudyError(f"{file}: {told}; name one before the file, out of {names}{reasons}")
    if options.show is not None:
        options.show(f"taken as answers to {fitting[0].name}, the only benchmark of the study {how}")
    return fitting[0]
