"""Which column of a table holds what: what the command line says first, the usual names of result files after it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from metacog_pipeline.errors import StudyError, suggestion
from metacog_pipeline.interchange import columns
from metacog_pipeline.interchange.answer_files import AnswerFile
from metacog_pipeline.interchange.import_rules import ITEM_FIELDS, RESPONSE, RowRules

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
_IN_BRACKETS = re.compile(r"(?<=\S)\s{0,9}(?:[(\[][^()\[\]]{1,40}[)\]]|[%:?])\s{0,9}\Z")


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
        if mapping.setdefault(field, column) != column:
            raise StudyError(
                f"--map {pair}: field {field} is already mapped to {mapping[field]!r}; map it once"
            )
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
            usually = first_named(names, unclaimed(rows.columns, found.values()))
            found |= {} if usually is None else {field: usually}
    return found


def fields_of(rules: RowRules) -> tuple[str, ...]:
    """Return every field that a row about items of one benchmark can have."""
    steps = rules.all_steps if len(rules.all_steps) > 1 else ()
    raw = (RESPONSE, *(step for step in steps if step not in rules.own))
    return (*ITEM_FIELDS, *rules.own, *raw, "condition", *rules.checks, "model", "run")


def resolved(rows: AnswerFile, rules: RowRules, mapping: Mapping[str, str]) -> dict[str, str]:
    """Return the column of every field that has one.

    Raises ``StudyError`` for a column there is not, two ways of giving an answer at once, and a table that names no item or
    holds no answer.
    """
    fields, several = fields_of(rules), len(rules.all_steps) > 1
    raw = [RESPONSE, *(step for step in rules.all_steps if several and step not in rules.own)]
    put_together, replied = [f for f in mapping if f in rules.own], [f for f in mapping if f in raw]
    if put_together and replied and not several:
        raise StudyError(
            f"{rows.path}: map {replied[0]}, or {' and '.join(put_together)}, not both: which of them is the answer?"
        )
    # what is mapped settles the question that other fields are about, too
    settled: set[str | None] = {*ITEM_FIELDS} if {*ITEM_FIELDS} & {*mapping} else set()
    settled |= {rules.made_by.get(each) for each in mapping} if several else {*raw} if put_together else set()
    settled |= {*rules.own} if replied and not several else set()
    names = {**USUAL_NAMES, **{step: (step,) for step in raw[1:]}, **rules.usual, **rules.own}
    usual = {field: names.get(field, (field,)) for field in fields if field not in settled}
    found = found_columns(rows, mapping, usual)
    if not any(field in found for field in ITEM_FIELDS):
        ways = " or ".join(f"{also}=…" for also in rules.also) or "item_id=… or question=…"
        raise StudyError(
            f"{rows.path}: no column names the {rules.item_word}; use --map {ways}; {_there(rows)}"
        )
    if not any(field in found for field in (*raw, *rules.own)):
        ways = ", ".join(f"{field}=…" for field in (*list(rules.own)[:2], *raw))
        hint = "; `metacog fit` takes right and wrong without replies" if "correct" in found else ""
        raise StudyError(
            f"{rows.path}: no column holds the answer or a reply; use --map {ways}; {_there(rows)}{hint}"
        )
    return found


def _there(rows: AnswerFile) -> str:
    return f"the columns are: {', '.join(map(repr, rows.columns)) or 'none'}"


def unclaimed(there: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Return the columns of which nothing is taken yet: neither they themselves nor what a path leads to in them."""
    columns_there, claimed = list(there), {*taken}
    heads = {columns.path_of(each)[:1] for each in claimed.difference(columns_there)}
    return [name for name in columns_there if name not in claimed and (name,) not in heads]


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
