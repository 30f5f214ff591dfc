"""Answers to items of a benchmark, collected elsewhere, kept as those of replayed models: one path for every benchmark.

A row names an item, a condition, and one or more replies: a raw reply, a reply for each step, or fields that a reply is put
together from (`import_rules`, one class per benchmark). Rows are read and held to the items in `answers`, and all of it is
shown before anything is kept. What is kept is kept at once or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from metacog_pipeline.asking import construction
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark.contract import Importer
from metacog_pipeline.errors import SourceError, StudyError, one_line
from metacog_pipeline.interchange import study_files
from metacog_pipeline.interchange.answer_files import AnswerFile, Table
from metacog_pipeline.interchange.answers import Reader, Who
from metacog_pipeline.interchange.columns import absent, cell, missing
from metacog_pipeline.interchange.import_cells import RowError, shown, whole
from metacog_pipeline.interchange.import_columns import (
    USUAL_NAMES,
    fields_of,
    first_named,
    parse_mapping,
    resolved,
    unclaimed,
    used_columns,
)
from metacog_pipeline.interchange.import_rules import CHECKS, ITEM_FIELDS, RESPONSE, RowRules
from metacog_pipeline.interchange.imported import Imported, ImportOptions, imported_record
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.store import keep_whole, kept_records

__all__ = ["ImportOptions", "Imported", "imported_record", "importer_of", "replayed_partition"]
MOST_RUNS, MOST_PEOPLE = 99, 10_000
_NUMBERED = re.compile(r"[^\W\d]{1,20}[\s_#-]{0,3}(\d{1,3})")


def importer_of(rules: type[RowRules]) -> Importer:
    """Return what a benchmark declares: the shared path with its own rules of a row."""

    def read(
        benchmark: Any, file: Path | Table, model: str | None, run: int | None, pairs: Sequence[str], condition: str,
        options: ImportOptions | None = None,
    ) -> Imported:  # fmt: skip
        return import_file(rules, benchmark, file, model, run, pairs, condition, options or ImportOptions())

    fields = (*ITEM_FIELDS, *rules.own, RESPONSE, "condition", *CHECKS)
    return Importer(fields, rules.condition, read, rules)


def import_file(
    rules: Callable[[Any], RowRules], benchmark: Any, file: Path | Table, model: str | None, run: int | None,
    pairs: Sequence[str], condition: str, options: ImportOptions,
) -> Imported:  # fmt: skip
    """Keep the answers of a file, or of rows, as those of replayed models: all of them or, where it is refused, none.

    ``model`` and ``run`` are those of all rows; None takes what a column says, and run 1 where there is none.
    """
    study: Study = benchmark.context.study
    if model is not None:
        replayed_partition(study, benchmark.name, model, run or 1)
    own, rows = _built(rules, benchmark), AnswerFile(file) if isinstance(file, Path) else file
    columns = resolved(rows.path, rows, own, parse_mapping(pairs, fields_of(own), own.also))
    group, names = _grouped(rows, columns, study, model, run)
    found = read_rows(own, rows, columns, pairs, condition, options, group)
    options.report(found.summary)
    refuse_others(rows.path, study, benchmark.name, found.records, options.trust)
    study = study_files.fitted(study.path, study, names, max(each.run for each in found.records))
    return replace(found, known=keep(study, benchmark.name, found.records))


def read_respondents(
    benchmark: Any,
    file: Path,
    column: str,
    pairs: Sequence[str],
    condition: str | None,
    options: ImportOptions,
) -> Imported:
    """Return the answers of each person that ``column`` names, the model of their records."""
    if benchmark.importer is None or benchmark.importer.rules is None:
        raise StudyError(f"{benchmark.name}: answers cannot be imported")
    try:
        rules = _built(benchmark.importer.rules, benchmark)
    except SourceError as error:
        raise StudyError(str(error)) from None
    rows, people = AnswerFile(file), set[str]()
    if not rows.has(column):
        raise StudyError(
            f"{file}: --people {column}: no such column; the columns are: {', '.join(rows.columns)}"
        )

    def person(cells: Mapping[str, Any]) -> Who | str:
        people.add(name := one_line(str(cell(cells, column)), 60))
        if len(people) > MOST_PEOPLE:
            raise StudyError(
                f"{file}: --people {column} names more than {MOST_PEOPLE:,} respondents; is it the right column?"
            )
        return "names no respondent" if missing(cell(cells, column)) else (name, 1)

    columns = resolved(file, rows, rules, parse_mapping(pairs, fields_of(rules), rules.also))
    found = read_rows(rules, rows, columns, pairs, condition or rules.condition, options, person)
    options.report([used_columns({"people": column, **columns}, rows.columns)])
    return found


def _built(rules: Callable[[Any], RowRules], benchmark: Any) -> RowRules:
    """Return the rules of a benchmark's rows, with its items built where they are stale."""
    benchmark.context.study.prepare()
    construction.build(benchmark)
    return rules(benchmark)


def read_rows(
    rules: RowRules, rows: AnswerFile | Table, columns: dict[str, str], pairs: Sequence[str], condition: str,
    options: ImportOptions, group: Callable[[Mapping[str, Any]], Who | str], some: bool = True,
) -> Imported:  # fmt: skip
    """Read the answers of a table, of the model and run that ``group`` returns of a row's cells; nothing is kept.

    Raises ``StudyError`` where a checking column disagrees with the items, confidence is on no scale that is known, and,
    with ``some``, where no row was taken.
    """
    try:
        usual = condition if condition == rules.condition else rules.condition_named(condition)
    except RowError as error:
        raise StudyError(f"--condition {condition}: {error}") from None
    fields = (pair.partition("=")[0] for pair in pairs)
    mapped = frozenset(rules.also.get(field, field) for field in fields)
    found = Reader(rows, rules, dict(columns), options, usual).read(group, mapped)
    if some and not found.records:
        first = found.rejected[0] if found.rejected else None
        why = f"row {first.row}: {first.reason}" if first is not None else "there is no row"
        raise StudyError(
            f"{rows.path}: none of its {len(found.rejected)} rows was taken; {why}; nothing was kept"
        )
    return found


# --- models and runs --------------------------------------------------------------------------------------------------
def run_of(value: Any) -> int | None:
    """Return the number of a run, of "run_3" or "epoch 3" the 3; None where there is none."""
    if absent(value):
        return None
    told = _NUMBERED.fullmatch(str(value).strip())
    run = int(told[1]) if told else whole(value)
    if run is None:
        raise RowError(f"run {shown(value)} is no number")
    if not 0 <= run <= MOST_RUNS:
        raise RowError(f"run {run} is outside 0 to {MOST_RUNS}")
    return run


def _grouped(
    rows: AnswerFile | Table, columns: Mapping[str, str], study: Study, model: str | None, run: int | None
) -> tuple[Callable[[Mapping[str, Any]], Who | str], dict[str, str]]:
    """Return what says model and run of a row, and the study's name of each model of a column."""
    free = unclaimed(rows.columns, columns.values())
    of_model = None if model is not None else first_named(USUAL_NAMES["model"], free)
    of_run = None if run is not None else first_named(USUAL_NAMES["run"], free)
    if model is None and of_model is None:
        raise StudyError(
            f"{rows.path}: does not say which model answered; name it with --model; nothing was kept"
        )
    names, from_zero = {}, False
    if of_model is not None or of_run is not None:
        seen = {(_said(row.cells, of_model), _said(row.cells, of_run)): None for row in rows}
        from_zero = any(value in ("0", "0.0") for _, value in seen)
        names = study_files.names_of(study, [name for name, _ in seen if name])

    def group(cells: Mapping[str, Any]) -> Who | str:
        said = model if of_model is None else names.get(_said(cells, of_model))
        try:
            found = run if of_run is None else run_of(_said(cells, of_run))
        except RowError as error:
            return str(error)
        shift = int(from_zero and of_run is not None and found is not None)
        return (said, 1 if found is None else found + shift) if said else "names no model"

    return group, names


def _said(cells: Mapping[str, Any], column: str | None) -> str:
    value = None if column is None else cells.get(column)
    return "" if absent(value) else str(value).strip()


# --- keeping ----------------------------------------------------------------------------------------------------------
def by_partition(records: Iterable[Record]) -> dict[Who, list[Record]]:
    """Return records by model and run."""
    found: dict[Who, list[Record]] = {}
    for each in records:
        found.setdefault((each.model, each.run), []).append(each)
    return found


def _call(record: Record) -> tuple[str, str, str]:
    return record.item_id, record.condition, record.step


def refuse_others(
    path: Path, study: Study, benchmark: str, records: Iterable[Record], trust: Sequence[str]
) -> None:
    """Refuse answers to calls that have other answers in the same run of the same model, unless ``run`` is trusted."""
    known = {each.name for each in study.models}
    for (model, run), own in by_partition(records).items():
        if model not in known or "run" in trust:
            continue
        spec = study.model(model)
        if spec.provider != "replay":
            raise StudyError(
                f'{path}: model "{model}" of the study is asked, not replayed; name another with --model'
            )
        folder = Partition(study, benchmark, spec, run).folder
        there = {_call(each): each.text for each in kept_records(folder)}
        other = [each.item_id for each in own if there.get(_call(each), each.text) != each.text]
        if other:
            raise StudyError(
                f"{path}: run {run} of {model} has other answers to {len(other)} of these questions, such as {other[0]}; "
                "nothing was kept; import it as another run with --run, as another model with --model, or in their place "
                "with --trust run"
            )


def keep(study: Study, benchmark: str, records: Iterable[Record]) -> int:
    """Keep the answers that are not there yet; return how many were there."""
    known = 0
    for (model, run), own in by_partition(records).items():
        partition = replayed_partition(study, benchmark, model, run)
        there = {_call(each): each.answer_id for each in kept_records(partition.folder)}
        fresh = [each for each in own if there.get(_call(each)) != each.answer_id] if there else own
        keep_whole(partition.folder, fresh)
        known += len(own) - len(fresh)
    return known


def replayed_partition(study: Study, benchmark: str, model: str, run: int) -> Partition:
    """Return the partition that imported answers are kept in.

    Raises ``StudyError`` if the model is not a replayed one, or the run is not in the study.
    """
    spec = study.model(model)
    if spec.provider != "replay":
        raise StudyError(
            f'{study.path.name}: model "{model}" has provider = "{spec.provider}"; imported answers need a model with '
            'provider = "replay", so that they are never mixed with answers asked here'
        )
    if run not in study.runs:
        raise StudyError(f"--run {run}: the study has runs 1 to {study.study.runs}; raise study.runs")
    return Partition(study, benchmark, spec, run)
