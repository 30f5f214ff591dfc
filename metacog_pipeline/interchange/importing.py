"""Answers collected elsewhere, kept as those of a replayed model: the one path for every benchmark.

A row names an item (`import_names`), a condition, and one or more replies: a raw reply, a reply for each step, or fields
that a reply is put together from (`import_rules`, one class per benchmark). Columns that prove the match are held to the
items (`import_checks`), and all of it is shown before anything is kept. What is kept is kept at once or not at all.
"""

from __future__ import annotations

import contextlib
import gc
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from metacog_pipeline.asking import construction
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark.contract import Importer
from metacog_pipeline.errors import SourceError, StudyError, one_line
from metacog_pipeline.interchange.answer_files import AnswerFile, Table, chosen
from metacog_pipeline.interchange.columns import cell
from metacog_pipeline.interchange.import_cells import RowError
from metacog_pipeline.interchange.import_checks import RUN
from metacog_pipeline.interchange.import_columns import fields_of, first_named, parse_mapping, resolved
from metacog_pipeline.interchange.import_plain import matched
from metacog_pipeline.interchange.import_reader import Reader
from metacog_pipeline.interchange.import_rules import CHECKS, ITEM_FIELDS, RESPONSE, RowRules
from metacog_pipeline.interchange.imported import Imported, ImportOptions, Rejected, imported_record
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.store import keep_whole, kept_records

__all__ = [
    "ImportOptions",
    "Imported",
    "Rejected",
    "imported_record",
    "importer_of",
    "parse_mapping",
    "read_table",
    "replayed_partition",
]
_SEVERAL = (
    *("model", "model_name", "model_id", "system", "engine"),
    *("run", "seed", "repeat", "epoch", "sample", "wide"),
)
_MANY = 30  # rows about what an earlier one is about, from which a table seems to hold several models or runs
_NAMED, _SHOWN = 5, 40
_TRIED = 200  # rows from which it shows whether a file is about a benchmark's items


def importer_of(rules: type[RowRules]) -> Importer:
    """Return what a benchmark declares: the shared path with its own rules of a row."""

    def read(
        benchmark: Any, file: Path | Table, model: str, run: int, pairs: Sequence[str], condition: str,
        options: ImportOptions | None = None,
    ) -> Imported:  # fmt: skip
        return import_file(rules, benchmark, file, model, run, pairs, condition, options or ImportOptions())

    def fits(benchmark: Any, file: Path | Table, pairs: Sequence[str], options: ImportOptions) -> str | None:
        return misfit(rules, benchmark, file, pairs, options)

    fields = (*ITEM_FIELDS, *rules.own, RESPONSE, "condition", *CHECKS)
    return Importer(fields, rules.condition, read, fits, rules)


def import_file(
    rules: Callable[[Any], RowRules], benchmark: Any, file: Path | Table, model: str, run: int, pairs: Sequence[str],
    condition: str, options: ImportOptions,
) -> Imported:  # fmt: skip
    """Keep the answers of a file, or of rows, as those of a replayed model: all of them or, where it is refused, none.

    Raises ``StudyError`` if the model is not a replayed one, the run is not in the study, the file or mapping is wrong, a
    column of the file contradicts the items, or no row is about one of them.
    """
    partition, path = replayed_partition(benchmark.context.study, benchmark.name, model, run), _name(file)
    own = built(rules, benchmark)
    mapping = parse_mapping(pairs, fields_of(own), own.also)
    found = read_table(own, file, mapping, condition, options, model, run)
    if not found.records:
        first = found.rejected[0] if found.rejected else Rejected(1, "there is no row")
        raise StudyError(
            f"{path}: none of its {len(found.rejected)} rows was taken; row {first.row}: {first.reason}; nothing was kept"
        )
    kept = {(each.item_id, each.condition, each.step): each for each in kept_records(partition.folder)}
    left = dict(kept)
    replaced = 0
    for each in found.records if kept else ():
        before = left.pop((each.item_id, each.condition, each.step), None)
        replaced += before is not None and before.text != each.text
    if not {"confidence", *own.rated} & set(options.trust):
        _refuse_another_scale(own, path, found.records, left.values(), model, run)
    if replaced and found.unreadable and RUN not in options.trust:
        raise StudyError(
            f"{path}: none of its replies can be read ({found.warnings[0]}), and {replaced} would take the place of others "
            f"kept for {model}, run {run}; nothing was kept; map the right columns, or take them with --trust {RUN}"
        )
    if options.keep:
        for line in found.summary if options.show is not None else ():
            assert options.show is not None
            options.show(line)
        if replaced and options.show is not None:
            options.show(f"{replaced} other answers to the same questions were there: these take their place")
        keep_whole(partition.folder, found.records if options.enrich is None else options.enrich(found))
    return found


def read_table(
    rules: RowRules, file: Path | Table, mapping: Mapping[str, str], condition: str, options: ImportOptions, model: str,
    run: int,
) -> Imported:  # fmt: skip
    """Read the answers in ``file`` (CSV, TSV, JSON Lines, JSON or Parquet); nothing is kept.

    Raises ``StudyError`` when the file cannot be read, a mapped column is not there, no column names the item or the
    answer, a checking column disagrees with the items, or confidence is on no scale that is known.
    """
    rows = _rows(file, options)
    columns = resolved(rows.path, rows, rules, mapping)
    try:
        usual = condition if condition == rules.condition else rules.condition_named(condition)
    except RowError as error:
        raise StudyError(f"--condition {condition}: {error}") from None
    reader = Reader(rows.path, rules, columns, options, usual, model, run)
    mapped = frozenset(rules.also.get(field, field) for field in mapping)
    with _nothing_collected():
        return _read(reader, rows, rules, columns, options, mapped)


@contextlib.contextmanager
def _nothing_collected() -> Iterator[None]:
    """Look for no garbage meanwhile: of a million rows, none of which refers to another, that takes most of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _read(
    reader: Reader,
    rows: Any,
    rules: RowRules,
    columns: Mapping[str, str],
    options: ImportOptions,
    mapped: frozenset[str],
) -> Imported:
    plain = None
    if not options.where and options.shape == ImportOptions().shape and options.scale is None:
        plain = matched(rows.path, rows.content, rules, columns, reader.own)
    if plain is not None:
        reader.add(plain)
    for row in plain.other if plain is not None else chosen(rows, options.where):
        reader.take(row)
    if (repeated := reader.repeated()) >= _MANY:
        _refuse_several(rows, set(columns.values()), options, repeated)
    return reader.finish(mapped, rows.columns)


def _rows(file: Path | Table, options: ImportOptions) -> Any:
    return AnswerFile(file, options.shape) if isinstance(file, Path) else file


def _refuse_several(rows: Any, used: Collection[str], options: ImportOptions, repeated: int) -> None:
    """Refuse a table of several models or runs: which of them is meant?"""
    told = {column for column, _ in options.where}
    column = first_named(_SEVERAL, [name for name in rows.columns if name not in used and name not in told])
    if column is None:
        return
    found = Counter(str(cell(row.cells, column)).strip() for row in chosen(rows, options.where))
    if len(found) > 1:
        names = [one_line(name, _SHOWN) for name in found]
        more = ", …" if len(names) > _NAMED else ""
        raise StudyError(
            f"{rows.path}: {repeated} rows are about what an earlier one is about, and column {column!r} has "
            f"{', '.join(names[:_NAMED])}{more}: take one of them with --where {column}={names[0]}; nothing was kept"
        )


def misfit(
    rules: Callable[[Any], RowRules],
    benchmark: Any,
    file: Path | Table,
    pairs: Sequence[str],
    options: ImportOptions,
) -> str | None:
    """Return why a file is not about a benchmark's items; None where most of its first rows are."""
    try:
        own = built(rules, benchmark)
        rows = _rows(file, options)
        columns = resolved(rows.path, rows, own, parse_mapping(pairs, fields_of(own), own.also))
    except (StudyError, SourceError) as error:
        return str(error).removeprefix(f"{_name(file)}: ")
    reader = Reader(rows.path, own, columns, options, own.condition, "", 0)
    for row in islice(chosen(rows, options.where), _TRIED):
        reader.take(row)
    return reader.misfit()


def _name(file: Path | Table) -> Path:
    return file if isinstance(file, Path) else file.path


def takes(benchmark: Any, pairs: Sequence[str]) -> bool:
    """Whether a benchmark has every field that is mapped."""
    rules = None if benchmark.importer is None else benchmark.importer.rules
    try:
        own = None if rules is None else built(rules, benchmark)
        return own is not None and parse_mapping(pairs, fields_of(own), own.also) is not None
    except (StudyError, SourceError):
        return False


def built(rules: Callable[[Any], RowRules], benchmark: Any) -> RowRules:
    """Return the rules of a benchmark's rows, with its items made where they are stale."""
    benchmark.context.study.prepare()
    if not construction.items_current(benchmark):
        construction.build(benchmark)
    return rules(benchmark)


def _refuse_another_scale(
    rules: RowRules, path: Path, new: Sequence[Record], kept: Iterable[Record], model: str, run: int
) -> None:
    """Refuse answers whose confidence was on another scale than that of answers ``kept`` already and not replaced now."""
    rated = next((record for record in new if rules.states_confidence(record.text)), None)
    if rated is None:
        return
    for record in kept:
        if record.request_json == rated.request_json or not rules.states_confidence(record.text):
            continue
        old, this = (
            json.loads(each.request_json).get("confidence_scale", rules.scale) for each in (record, rated)
        )
        raise StudyError(
            f"{path}: its confidence is on {this}, that of answers kept for {model}, run {run}, on {old}; nothing was "
            f"kept; use another --run, or take it with --trust confidence"
        )


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
