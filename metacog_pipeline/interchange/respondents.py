"""A table of answers in which one column names the respondents, such as the people of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.errors import SourceError, StudyError, one_line
from metacog_pipeline.interchange.answer_files import AnswerFile, chosen
from metacog_pipeline.interchange.cells import missing
from metacog_pipeline.interchange.columns import cell
from metacog_pipeline.interchange.import_columns import fields_of, parse_mapping, resolved, used_columns
from metacog_pipeline.interchange.import_reader import Reader
from metacog_pipeline.interchange.imported import ImportOptions, Rejected
from metacog_pipeline.interchange.importing import built
from metacog_pipeline.transcripts.schema import Record

MOST = 10_000  # more respondents are a sign of the wrong column


def read_respondents(
    benchmark: Bound, file: Path, column: str, pairs: Sequence[str], condition: str | None, options: ImportOptions
) -> tuple[dict[str, Sequence[Record]], list[Rejected]]:  # fmt: skip
    """Return the answers of each respondent that ``column`` names, and the rows that were not taken.

    Raises
    ------
    StudyError
        As an import does, or where no row was taken.
    """
    if benchmark.importer is None or benchmark.importer.rules is None:
        raise StudyError(f"{benchmark.name}: answers cannot be imported")
    try:
        rules = built(benchmark.importer.rules, benchmark)
    except SourceError as error:
        raise StudyError(str(error)) from None
    rows = AnswerFile(file, options.shape)
    if not rows.has(column):
        there = ", ".join(rows.columns)
        raise StudyError(f"{file}: --group {column}: no such column; the columns are: {there}")
    mapping = parse_mapping(pairs, fields_of(rules), rules.also)
    columns = resolved(file, rows, rules, mapping)
    if options.show is not None:
        options.show(used_columns({"group": column, **columns}, rows.columns))
    readers: dict[str, Reader] = {}
    rejected: list[Rejected] = []
    for row in chosen(rows, options.where):
        who = None if row.broken is not None else cell(row.cells, column)
        if missing(who):
            rejected.append(Rejected(row.number, row.broken or "names nobody"))
            continue
        name = one_line(str(who), 60)
        if name not in readers:  # each drops what it cannot use
            usual = condition or rules.condition
            readers[name] = Reader(file, rules, dict(columns), options, usual, name, 1)
        if len(readers) > MOST:
            raise StudyError(
                f"{file}: --group {column} names more than {MOST:,} people; is it the right column?"
            )
        readers[name].take(row)
    found = {name: reader.finish(frozenset(mapping), rows.columns) for name, reader in readers.items()}
    rejected += [each for one in found.values() for each in one.rejected]
    records = {name: one.records for name, one in found.items() if one.records}
    if not records:
        first = rejected[0] if rejected else Rejected(1, "there is no row")
        raise StudyError(f"{file}: no row was taken; row {first.row}: {first.reason}; nothing was kept")
    return records, sorted(rejected, key=lambda each: each.row)
