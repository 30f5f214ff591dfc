"""Which column of a table holds what: what the command line says first, the usual names of result files after it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path

from metacog_pipeline.errors import StudyError, suggestion
from metacog_pipeline.interchange import columns
from metacog_pipeline.interchange.answer_files import AnswerFile, Table
from metacog_pipeline.interchange.import_cells import only
from metacog_pipeline.interchange.import_rules import ITEM_FIELDS, RESPONSE, STEP, RowRules

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
    "step": ("step", "turn", "stage"),
    "key": (
        "key", "answer_key", "gold", "gold_answer", "target", "correct_answer", "correct_option", "ground_truth", "truth",
    ),
    "correct": ("correct", "is_correct", "acc"),
    "model": ("model", "model_name", "model_id", "system", "engine"),
    "run": ("run", "epoch", "repeat"),
}  # fmt: skip
_IN_BRACKETS = re.compile(r"(?<=\S)\s{0,9}(?:[(\[][^()\[\]]{1,40}[)\]]|[%:?])\s{0,9}\Z")
_PEEKED = 20  # rows that decide what a column holds


def fields_of(rules: RowRules) -> tuple[str, ...]:
    """Return every field that a row of one benchmark can have."""
    named = [name for name in ITEM_FIELDS if name != "question" or rules.asks_questions]
    steps = rules.all_steps if len(rules.all_steps) > 1 else ()
    several = (STEP, *(step for step in steps if step not in rules.own)) if steps else ()
    return (*named, *rules.own, RESPONSE, *several, "condition", *rules.checks)


def parse_mapping(
    pairs: Sequence[str], fields: Sequence[str], also: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return {field: column} from texts like ``choice=prediction``; raise `StudyError` for anything else."""
    mapping: dict[str, str] = {}
    for pair in pairs:
        name, _, column = pair.partition("=")
        field = (also or {}).get(name, name)
        if not column or field not in fields:
            raise StudyError(
                f"--map {pair}: give field=column, with a field out of {', '.join(fields)}{suggestion(name, fields)}"
            )
        if field in mapping:
            raise StudyError(
                f"--map {pair}: field {field} is already mapped to {mapping[field]!r}; map it once"
            )
        mapping[field] = column
    return mapping


def found_columns(
    rows: AnswerFile | Table, mapping: Mapping[str, str], usual: Mapping[str, Sequence[str]],
    may: Callable[[str, str], bool] = lambda field, column: True,
) -> dict[str, str]:  # fmt: skip
    """Return the column of each field: the mapped one, else the first ``usual`` name that is free and ``may`` be it."""
    for field, column in mapping.items():
        if not rows.has(column):
            raise StudyError(f"{rows.path}: no column {column!r} to map {field} to; {_there(rows)}")
    found = dict(mapping)
    for field, names in usual.items():
        if field not in found:
            free = [name for name in unclaimed(rows.columns, found.values()) if may(field, name)]
            if (usually := first_named(names, free)) is not None:
                found[field] = usually
    return found


def resolved(
    path: Path, rows: AnswerFile | Table, rules: RowRules, given: Mapping[str, str]
) -> dict[str, str]:
    """Return the column of every field that has one.

    Raises ``StudyError`` for a field or a column there is not, two ways of giving an answer at once, and a table that
    names no item or holds no answer.
    """
    mapping = {rules.also.get(field, field): column for field, column in given.items()}
    fields = fields_of(rules)
    if unknown := next((field for field in mapping if field not in fields), None):
        raise StudyError(f"{path}: unknown field {unknown!r}; map one of {', '.join(fields)}")
    several = rules.all_steps if len(rules.all_steps) > 1 else ()
    raw = [f for f in (RESPONSE, *(step for step in several if step not in rules.own)) if f in fields]
    put_together, replied = [f for f in mapping if f in rules.own], [f for f in mapping if f in raw]
    if put_together and replied and not several:
        raise StudyError(
            f"{path}: map {replied[0]}, or {' and '.join(put_together)}, not both: which of them is the answer?"
        )

    def settled(field: str) -> bool:
        """Whether what is mapped already answers the question that a field is about."""
        if field in ITEM_FIELDS:
            return any(other in mapping for other in ITEM_FIELDS)
        if several:
            return any(rules.made_by.get(other) == field for other in mapping)
        return bool(replied) if field in rules.own else field in raw and bool(put_together)

    parted = _parted(rows)

    def may(field: str, column: str) -> bool:
        """Whether a column may hold a field: a part of an answer is no object or list, a reply may be."""
        if field in rules.own:
            return column not in parted
        return field not in raw or rules.objects or parted.get(column) is not dict

    names = {**USUAL_NAMES, **{step: (step,) for step in raw[1:]}, **rules.usual, **rules.own}
    usual = {field: names.get(field, (field,)) for field in fields if not settled(field)}
    found = found_columns(rows, mapping, usual, may)
    if not any(field in found for field in ITEM_FIELDS):
        ways = " or ".join(f"{also}=…" for also in rules.also) or "item_id=… or question=…"
        raise StudyError(f"{path}: no column names the {rules.item_word}; use --map {ways}; {_there(rows)}")
    if not any(field in found for field in (*raw, *rules.own)):
        ways = ", ".join(f"{field}=…" for field in (*list(rules.own)[:2], *raw))
        hint = "; `metacog fit` takes right and wrong without replies" if "correct" in found else ""
        raise StudyError(
            f"{path}: no column holds the answer or a reply; use --map {ways}; {_there(rows)}{hint}"
        )
    return found


def _there(rows: AnswerFile | Table) -> str:
    return f"the columns are: {', '.join(map(repr, rows.columns)) or 'none'}"


def unclaimed(there: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Return the columns of which nothing is taken yet: neither they themselves nor what a path leads to in them."""
    columns_there, claimed = list(there), {*taken}
    heads = {columns.path_of(each)[:1] for each in claimed.difference(columns_there)}
    return [name for name in columns_there if name not in claimed and (name,) not in heads]


def _parted(rows: AnswerFile | Table) -> dict[str, type]:
    """Return the columns that hold objects (dict) or lists of several (list), by the first cell that says something.

    A message of a conversation is a text.
    """
    first: dict[str, object] = {}
    for row in islice(rows, _PEEKED):
        first = {**{name: only(v) for name, v in row.cells.items() if not columns.absent(v)}, **first}
    return {
        name: type(value)
        for name, value in first.items()
        if isinstance(value, list) or (isinstance(value, dict) and "role" not in value)
    }


def first_named(names: Sequence[str], there: Sequence[str]) -> str | None:
    """Return the column with the first of ``names``; None without one.

    They are compared without case, spaces, hyphens and what is in brackets at their end: "Confidence (%)".
    """
    bare = {columns.compared_name(_IN_BRACKETS.sub("", name)): name for name in reversed(there)}
    plain = {**bare, **{columns.compared_name(name): name for name in reversed(there)}}
    return next((plain[name] for name in names if name in plain), None)


def used_columns(found: Mapping[str, str], there: Sequence[str]) -> str:
    """Return a line on the columns used and ignored."""
    used = ", ".join(f"{field}={column}" for field, column in found.items())
    ignored = f"ignored: {', '.join(unclaimed(there, found.values())) or 'none'}"
    return f"columns used: {used}; {ignored}" if used else f"columns {ignored}"
