"""``metacog read questions``: one reply to a question that its row names, or brings with it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from metacog_pipeline.benchmarks.questions.answers import as_keyed, field_of, right
from metacog_pipeline.benchmarks.questions.asking import ANSWER
from metacog_pipeline.benchmarks.questions.confidence import share
from metacog_pipeline.benchmarks.questions.items import LETTERS, SHIPPED, Item
from metacog_pipeline.interchange import question_files
from metacog_pipeline.reading import rows
from metacog_pipeline.reading.calls import ended, read_step, said, words_of
from metacog_pipeline.reading.fields import Bet, Confidence
from metacog_pipeline.reading.numbers import numbers

_KINDS = ("choice", "number", "text")


@cache
def _shipped() -> Mapping[str, Item]:
    return {item.item_id: item for item in question_files.load([SHIPPED], Item)}


def read_row(row: rows.Row) -> dict[str, Any]:
    """Return answer, confidence, bet and correctness of the reply in ``row``."""
    item = rows.found_item(row, _shipped()) or _own(row)
    calls = rows.calls_of(row, (ANSWER,), ANSWER)
    if ended(calls[ANSWER]):
        return rows.unread("truncated", bet=None, abstained=False)
    reading = read_step(calls, ANSWER, [field_of(item), Confidence(0, 100), Bet(0, 100)])
    answer, sure, bet = (reading[name] for name in ("answer", "confidence", "bet"))
    words = words_of(calls, ANSWER, reading, "answer")
    correct = right(item, answer.value, words) if reading.status == "ok" and item.answer else None
    found = rows.result(reading, correct=correct, bet=said(bet), abstained=answer.withheld)
    if correct:
        found["answer"] = as_keyed(item, answer.value, words)
    if sure.status == "out_of_range" and reading.status == "ok":
        return {**found, "status": sure.status, "confidence": sure.value, "confidence01": None}
    shared = (
        None if sure.status != "ok" else share(sure.value, words_of(calls, ANSWER, reading, "confidence"))[0]
    )
    return {**found, "confidence01": shared}


def _own(row: rows.Row) -> Item:
    """Return the question that a row brings: its kind by its options and its answers where it names none."""
    options, answers = rows.options_of(row), rows.answers_of(row)
    usual = "choice" if options else "number" if answers and all(map(_is_number, answers)) else "text"
    kind = row.get("kind") or usual
    if kind not in _KINDS:
        raise rows.BadRow(f"kind is {str(kind)[:40]!r}; use one of {', '.join(_KINDS)}")
    if (kind == "choice") != bool(options):
        raise rows.BadRow(f"a question of kind {kind} {'needs' if kind == 'choice' else 'has no'} options")
    if options:
        answers = tuple(filter(None, (rows.letter_of(each, options) for each in answers[:1])))
        if list(options) != list(LETTERS[: len(options)]):
            raise rows.BadRow("options must have the letters A, B, C and so on, in their order")
    first, *accept = answers or ("",)
    asked = {"question": str(row.get("question") or ""), "unit": str(row.get("unit") or ""), "kind": kind}
    keyed = {"answer": first, "accept": accept, "options": tuple(options.values())}
    return Item.model_validate({"item_id": "row", "dataset": "own", "task": "row", **asked, **keyed})


def _is_number(answer: str) -> bool:
    found = [*numbers(answer)]
    return len(found) == 1 and (found[0].start, found[0].end) == (0, len(answer))
