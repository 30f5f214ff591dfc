"""Which column of a table holds what, and its rows: what the command line names first, the usual names after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from metacog_pipeline.errors import StudyError, suggestion
from metacog_pipeline.interchange import columns
from metacog_pipeline.interchange.answer_files import AnswerFile
from metacog_pipeline.interchange.columns import RowError
from metacog_pipeline.interchange.import_rules import ITEM_FIELDS, ImportOptions, RowRules
from metacog_pipeline.interchange.record import Sample

# Column names seen in result files, clearest first; compared without case, spaces and hyphens.
USUAL_NAMES: Mapping[str, tuple[str, ...]] = {
    "item_id": (
        "item_id", "itemid", "instance_id", "question_id", "qid", "instance", "case_id", "trial_id", "id",
    ),
    "question": ("question", "question_text", "stem", "prompt_question"),
    "response": (
        "response", "raw_response", "model_response", "model_output", "output", "completion", "raw", "reply",
        "generated_text", "generation", "resps",
    ),
    "condition": ("condition", "prompt_condition", "prompt_id", "mode"),
    "key": (
        "key", "answer_key", "gold", "gold_answer", "target", "correct_answer", "correct_option", "ground_truth", "truth",
    ),
    "correct": ("correct", "is_correct", "acc"),
    "model": ("model", "model_name", "model_id", "system", "engine"),
    "run": ("run", "epoch", "repeat"),
}  # fmt: skip


def samples(
    file: AnswerFile, fields: Mapping[str, str], options: ImportOptions, settings: Mapping[str, Any],
    take: Callable[[Sample, dict[str, Any], Mapping[str, Any]], None],
) -> list[Sample]:  # fmt: skip
    """Return each row as a sample that ``take`` got with what the row says; one that it refuses has the reason."""
    found = []
    for row in file:
        said = {field: columns.cell(row.cells, column) for field, column in fields.items()}
        made = Sample(
            str(row.number), "", columns.line_of(said.get("model")), settings=settings, row=row.number
        )
        found.append(made)
        try:
            if row.broken is not None:
                raise RowError(row.broken)
            if options.people and not made.model:
                raise RowError("names no respondent")
            take(made, said, row.cells)
        except RowError as error:
            made.why = str(error)
    return found


def parse_mapping(
    pairs: Sequence[str], fields: Sequence[str], also: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return {field: column} from texts like ``choice=prediction``; raise `StudyError` for anything else."""
    mapping: dict[str, str] = {}
    for pair in pairs:
        name, _, column = pair.partition("=")
        field = (also or {}).get(name, name)
        if not column or field not in fields:
            ways = f"give field=column, with a field out of {', '.join(fields)}{suggestion(name, fields)}"
            raise StudyError(f"--map {pair}: {ways}")
        if mapping.setdefault(field, column) != column:
            before = f"field {field} is already mapped to {mapping[field]!r}; map it once"
            raise StudyError(f"--map {pair}: {before}")
    return mapping


def found_columns(
    rows: AnswerFile, mapping: Mapping[str, str], usual: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Return the column of each field: the mapped one, else the first ``usual`` name that is free."""
    for field, column in mapping.items():
        if not rows.has(column):
            raise StudyError(f"{rows.path}: no column {column!r} to map {field} to; {_there(rows)}")
    found = dict(mapping)
    for field, names in usual.items():
        if field not in found:
            usually = columns.first_named(names, columns.unclaimed(rows.columns, found.values()))
            found |= {} if usually is None else {field: usually}
    return found


def resolved(rows: AnswerFile, rules: RowRules, mapping: Mapping[str, str]) -> dict[str, str]:
    """Return the column of every field that has one, of a table about a benchmark's items."""
    several, raw = len(rules.all_steps) > 1, rules.raw
    put_together, replied = [f for f in mapping if f in rules.own], [f for f in mapping if f in raw]
    if put_together and replied and not several:
        which = f"map {replied[0]}, or {' and '.join(put_together)}, not both: which of them is the answer?"
        raise StudyError(f"{rows.path}: {which}")
    # what is mapped settles the question that other fields are about, too
    settled: set[str | None] = {*ITEM_FIELDS} if {*ITEM_FIELDS} & {*mapping} else set()
    settled |= {rules.made_by.get(each) for each in mapping} if several else {*raw} if put_together else set()
    settled |= {*rules.own} if replied and not several else set()
    names = {**USUAL_NAMES, **{step: (step,) for step in raw[1:]}, **rules.usual, **rules.own}
    usual = {field: names.get(field, (field,)) for field in rules.fields if field not in settled}
    found = found_columns(rows, mapping, usual)
    if not any(field in found for field in ITEM_FIELDS):
        ways = " or ".join(f"{also}=…" for also in rules.also) or "item_id=… or question=…"
        raise StudyError(
            f"{rows.path}: no column names the {rules.item_word}; use --map {ways}; {_there(rows)}"
        )
    if not any(field in found for field in (*raw, *rules.own)):
        ways = ", ".join(f"{field}=…" for field in (*list(rules.own)[:2], *raw))
        hint = "; `metacog fit` takes right and wrong without replies" if "correct" in found else ""
        lacks = f"no column holds the answer or a reply; use --map {ways}; {_there(rows)}{hint}"
        raise StudyError(f"{rows.path}: {lacks}")
    return found


def _there(rows: AnswerFile) -> str:
    return f"the columns are: {', '.join(map(repr, rows.columns)) or 'none'}"


def used_columns(found: Mapping[str, str], there: Sequence[str]) -> str:
    """Return a line on the columns used and ignored."""
    used = ", ".join(f"{field}={column}" for field, column in found.items())
    ignored = f"ignored: {', '.join(columns.unclaimed(there, found.values())) or 'none'}"
    return f"columns used: {used}; {ignored}" if used else f"columns {ignored}"
