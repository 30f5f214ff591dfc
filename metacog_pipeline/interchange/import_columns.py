"""Which column of a table holds what: what the command line says first, the usual names of result files after it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path

from metacog_pipeline.errors import StudyError, suggestion
from metacog_pipeline.interchange import columns
from metacog_pipeline.interchange.answer_files import AnswerFile, Table
from metacog_pipeline.interchange.import_rules import ITEM_FIELDS, RESPONSE, STEP, RowRules

# Column names seen in result files, most telling first; compared without case, spaces and hyphens.
USUAL_NAMES: Mapping[str, tuple[str, ...]] = {
    "item_id": (
        *("item_id", "itemid", "instance_id", "question_id", "qid", "instance", "case_id", "trial_id", "id"),
    ),
    "position": ("position", "doc_id", "docid", "index", "idx", "row"),
    "question": ("question", "question_text", "stem", "prompt_question"),
    "response": (
        *("response", "raw_response", "model_response", "model_output", "output", "completion", "raw"),
        *("reply", "generated_text", "generation", "resps"),
    ),
    "condition": ("condition", "prompt_condition", "prompt_id", "mode"),
    "step": ("step", "turn", "stage"),
    "key": (
        *("key", "answer_key", "gold", "gold_answer", "target", "correct_answer", "correct_option"),
        *("ground_truth", "truth"),
    ),
    "correct": ("correct", "is_correct", "acc"),
}
_NESTED_QUESTION = "doc.question"  # where evaluation harnesses keep the item
_IN_BRACKETS = re.compile(r"(?<=\S)\s{0,9}(?:[(\[][^()\[\]]{1,40}[)\]]|[%:?])\s{0,9}\Z")
_PEEKED = 20  # rows by which it is told what a column holds
# The index a data frame is written with: a position where nothing else names the item.
_FRAME_INDEX = ("unnamed:_0", "")


def fields_of(rules: RowRules) -> tuple[str, ...]:
    """Return every field that a row of one benchmark can have."""
    named = [name for name in ITEM_FIELDS if name != "question" or rules.asks_questions]
    several = len(rules.all_steps) > 1
    return (
        *named,
        *([rules.grouped] if rules.grouped else []),
        *rules.own,
        RESPONSE,
        *((STEP, *(step for step in rules.all_steps if step not in rules.own)) if several else ()),
        "condition",
        *rules.checks,
    )


def parse_mapping(
    pairs: Sequence[str], fields: Sequence[str], also: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return {field: column} from texts like ``choice=prediction``; raise `StudyError` for anything else."""
    mapping: dict[str, str] = {}
    for pair in pairs:
        name, equals, column = pair.partition("=")
        field = (also or {}).get(name, name)
        if not equals or not column or field not in fields:
            raise StudyError(
                f"--map {pair}: give field=column, with a field out of {', '.join(fields)}{suggestion(name, fields)}"
            )
        if field in mapping:
            raise StudyError(
                f"--map {pair}: field {field} is already mapped to {mapping[field]!r}; map it once"
            )
        mapping[field] = column
    return mapping


def resolved(
    path: Path, rows: AnswerFile | Table, rules: RowRules, given: Mapping[str, str]
) -> dict[str, str]:
    """Return the column of every field that has one.

    Raises ``StudyError`` for a field or a column there is not, two ways of giving an answer at once, and a table that
    names no item or holds no answer.
    """
    mapping = {rules.also.get(field, field): column for field, column in given.items()}
    there = f"the columns are: {', '.join(map(repr, rows.columns)) or 'none'}"
    fields = fields_of(rules)
    for field, column in mapping.items():
        if field not in fields:
            raise StudyError(f"{path}: unknown field {field!r}; map one of {', '.join(fields)}")
        if not rows.has(column):
            raise StudyError(f"{path}: no column {column!r} to map {field} to; {there}")
    several = rules.all_steps if len(rules.all_steps) > 1 else ()
    unlike = (step for step in several if step not in rules.own)
    raw = [field for field in (RESPONSE, *unlike) if field in fields]
    both = [field for field in mapping if field in rules.own], [field for field in mapping if field in raw]
    if all(both) and len(rules.all_steps) == 1:
        raise StudyError(
            f"{path}: map {both[1][0]}, or {' and '.join(both[0])}, not both: which of them is the answer?"
        )
    found = _with_usual_names(rules, rows, mapping, fields, raw)
    free = "question" in fields and "question" not in found
    if free and not _answered_by("question", mapping, rules, raw) and rows.has(_NESTED_QUESTION):
        found["question"] = _NESTED_QUESTION
    if not any(field in found for field in ITEM_FIELDS):
        ways = " or ".join(f"{also}=…" for also in rules.also) or "item_id=…, position=… or question=…"
        raise StudyError(f"{path}: no column names the {rules.item_word}; use --map {ways}; {there}")
    if not any(field in found for field in (*raw, *rules.own)):
        ways = ", ".join(f"{field}=…" for field in (*list(rules.own)[:2], *raw))
        hint = "; `metacog fit` takes right and wrong without replies" if "correct" in found else ""
        raise StudyError(f"{path}: no column holds the answer or a reply; use --map {ways}; {there}{hint}")
    return found


def _with_usual_names(
    rules: RowRules,
    rows: AnswerFile | Table,
    mapping: dict[str, str],
    fields: Sequence[str],
    raw: Sequence[str],
) -> dict[str, str]:
    found = dict(mapping)
    parted = _parted(rows)
    names = {**USUAL_NAMES, **{step: (step,) for step in raw[1:]}, **rules.usual, **rules.own}

    def replies(field: str, column: str) -> bool:
        """Whether a column may hold what ``field`` is: a part of an answer is no object or list, a reply may be."""
        if field in rules.own:
            return column not in parted
        return field not in raw or rules.objects or parted.get(column) is not dict

    def take(field: str, usual: Sequence[str]) -> None:
        free = unclaimed(rows.columns, found.values())
        column = first_named(usual, [name for name in free if replies(field, name)])
        if column is not None:
            found[field] = column

    for field in fields:
        if field not in found and not _answered_by(field, mapping, rules, raw):
            take(field, names.get(field, (field,)))
    if not any(field in found for field in ITEM_FIELDS):
        take("position", _FRAME_INDEX)
    return found


def _answered_by(field: str, mapping: Mapping[str, str], rules: RowRules, raw: Sequence[str]) -> bool:
    """Whether what the user mapped already answers the question ``field`` is about."""
    if field in ITEM_FIELDS:
        return any(other in mapping for other in ITEM_FIELDS)
    if len(rules.all_steps) > 1:
        return any(rules.made_by.get(other) == field for other in mapping)
    if field in rules.own:
        return any(other in mapping for other in raw)
    return field in raw and any(other in mapping for other in rules.own)


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
        for name, value in row.cells.items():
            if name not in first and not columns.absent(value):
                first[name] = value
    found: dict[str, type] = {}
    for name, value in first.items():
        while isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, list) or (isinstance(value, dict) and "role" not in value):
            found[name] = type(value)
    return found


def first_named(names: Sequence[str], there: Sequence[str]) -> str | None:
    """Return the column with the first of ``names``; None without one.

    They are compared without case, spaces, hyphens and what stands in brackets at their end: "Confidence (%)".
    """
    bare = {columns.compared_name(_IN_BRACKETS.sub("", name)): name for name in reversed(there)}
    plain = {**bare, **{columns.compared_name(name): name for name in reversed(there)}}
    return next((plain[name] for name in names if name in plain), None)


def used_columns(found: Mapping[str, str], there: Sequence[str]) -> str:
    """Return a line on the columns used and ignored."""
    used = ", ".join(f"{field}={column}" for field, column in found.items())
    ignored = f"ignored: {', '.join(unclaimed(there, found.values())) or 'none'}"
    return f"columns used: {used}; {ignored}" if used else f"columns {ignored}"
