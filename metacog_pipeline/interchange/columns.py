"""Which column of a table holds what, and its rows as samples: the command line's words first, the usual names after."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from metacog_pipeline.errors import StudyError, suggestion
from metacog_pipeline.interchange.answer_cells import RowError, line_of
from metacog_pipeline.interchange.answer_files import AnswerFile
from metacog_pipeline.interchange.answers import Answers
from metacog_pipeline.interchange.cells import NAMES, compared_name
from metacog_pipeline.interchange.import_rules import ITEM_FIELDS, ImportOptions, QuestionRows, RowRules
from metacog_pipeline.interchange.question_rows import option_columns
from metacog_pipeline.interchange.record import Sample
from metacog_pipeline.interchange.tables import Questions

_IN_BRACKETS = re.compile(r"(?<=\S)\s{0,9}(?:[(\[][^()\[\]]{1,40}[)\]]|[%:?])\s{0,9}\Z")


def samples(path: Path, rules: RowRules, options: ImportOptions) -> tuple[list[Sample], list[str]]:
    """Return the rows of a table as samples, and how they were understood; StudyError where it lacks what is needed."""
    file, settings = AnswerFile(path), {"file": path.name}
    fields = resolved(file, rules, options)
    if options.scale not in (None, rules.scale):
        settings["confidence_scale"] = str(options.scale)
    reader = Questions if isinstance(rules, QuestionRows) else Answers
    reads, found = reader(path, rules, options, fields), list[Sample]()
    for row in file:
        said = {field: row.cells.get(column) for field, column in fields.items()}
        made = Sample(str(row.number), "", line_of(said.get("model")), settings=settings, row=row.number)
        found.append(made)
        try:
            if row.broken is not None:
                raise RowError(row.broken)
            if options.people and not made.model:
                raise RowError("names no respondent")
            reads.take(made, said)
        except RowError as error:
            made.why = str(error)
    return found, [_used(fields, file.columns), *reads.lines(found)]


def parse_mapping(pairs: Sequence[str], fields: Sequence[str]) -> dict[str, str]:
    """Return {field: column} from texts like ``choice=prediction``; raise `StudyError` for anything else."""
    mapping: dict[str, str] = {}
    for pair in pairs:
        field, _, column = pair.partition("=")
        if not column or field not in fields:
            ways = f"give field=column, with a field out of {', '.join(fields)}{suggestion(field, fields)}"
            raise StudyError(f"--map {pair}: {ways}; to map fields of a benchmark's own, name the benchmark")
        if mapping.setdefault(field, column) != column:
            before = f"field {field} is already mapped to {mapping[field]!r}; map it once"
            raise StudyError(f"--map {pair}: {before}")
    return mapping


def resolved(rows: AnswerFile, rules: RowRules, options: ImportOptions) -> dict[str, str]:
    """Return the column of every field that has one: the mapped one, else the first of its usual names that is free."""
    mapping = parse_mapping(options.pairs, rules.fields)
    mapping = {"model": options.people, **mapping} if options.people else mapping
    for field, column in mapping.items():
        if column not in rows.columns:
            raise StudyError(f"{rows.path}: no column {column!r} to map {field} to; {_there(rows)}")
    # what is mapped settles what other fields would say, too
    instead: list[tuple[tuple[str, ...], tuple[str, ...]]] = [(ITEM_FIELDS, ITEM_FIELDS)]
    instead += [((*rules.own,), rules.raw), (rules.raw, (*rules.own,))] if len(rules.all_steps) == 1 else []
    settled = {field for these, others in instead if {*these} & {*mapping} for field in others}
    names = {**NAMES["usual"], **{step: (step,) for step in rules.raw[1:]}, **rules.usual, **rules.own}
    usual = {field: names.get(field, (field,)) for field in rules.fields if field not in settled}
    found = _found(rows, mapping, usual)
    replies = [*rules.raw, *rules.own]
    if not {*replies} & {*found}:
        others = {field: names for field, names in usual.items() if field not in rules.without_reply}
        found = _found(rows, mapping, {**rules.without_reply, **others})
    for fields, lacks in ((ITEM_FIELDS, "names the item"), (replies, "holds the answer or a reply")):
        if not {*fields} & {*found}:
            ways = ", ".join(f"{field}=…" for field in fields)
            raise StudyError(f"{rows.path}: no column {lacks}; use --map {ways}; {_there(rows)}")
    if "options" in rules.fields and "options" not in found:
        found |= option_columns(rows.columns)  # by their letters
    return found


def _found(
    rows: AnswerFile, mapping: Mapping[str, str], usual: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    found = dict(mapping)
    for field, names in usual.items():
        free = [name for name in rows.columns if name not in found.values()]
        if field not in found and (usually := _first_named(names, free)) is not None:
            found[field] = usually
    return found


def _first_named(names: Sequence[str], there: Sequence[str]) -> str | None:
    """Return the column with the first of ``names``, also "Confidence (%)" with one in brackets; None without one."""
    bare = {compared_name(_IN_BRACKETS.sub("", name)): name for name in reversed(there)}
    plain = {**bare, **{compared_name(name): name for name in reversed(there)}}
    return next((plain[name] for name in names if name in plain), None)


def _there(rows: AnswerFile) -> str:
    return f"the columns are: {', '.join(map(repr, rows.columns)) or 'none'}"


def _used(found: Mapping[str, str], there: Sequence[str]) -> str:
    """Return a line on the columns used and ignored."""
    used = ", ".join(f"{field}={column}" for field, column in found.items())
    ignored = ", ".join(name for name in there if name not in found.values())
    return f"columns used: {used or 'none'}; ignored: {ignored or 'none'}"
