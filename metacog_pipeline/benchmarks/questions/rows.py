"""``metacog read questions``: one reply to a question that its row names, or brings with it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from metacog_pipeline.benchmarks.questions.asking import ANSWER
from metacog_pipeline.benchmarks.questions.confidence import share
from metacog_pipeline.benchmarks.questions.items import SHIPPED, Item
from metacog_pipeline.errors import one_line
from metacog_pipeline.interchange import question_files
from metacog_pipeline.interchange.question_rows import KINDS, question_of
from metacog_pipeline.reading import rows
from metacog_pipeline.reading.calls import reading_of, said, words_of
from metacog_pipeline.reading.fields import Bet, Confidence


@cache
def _shipped() -> Mapping[str, Item]:
    return {item.item_id: item for item in question_files.load([SHIPPED], Item)}


def read_row(row: rows.Row) -> dict[str, Any]:
    """Return answer, confidence, bet and correctness of the reply in ``row``."""
    item = rows.found_item(row, _shipped()) or _own(row)
    calls = rows.calls_of(row, (ANSWER,), ANSWER)
    reading = reading_of(calls, ANSWER, [item.field, Confidence(0, 100), Bet(0, 100)])
    answer, sure, words = reading["answer"], reading["confidence"], words_of(calls, ANSWER, reading, "answer")
    correct = item.right(answer.value, words) if reading.status == "ok" and item.answer else None
    found = rows.result(reading, correct=correct, bet=said(reading["bet"]), abstained=answer.withheld)
    if correct:
        found["answer"] = item.as_keyed(answer.value, words)
    if sure.status == "ok":
        found["confidence01"] = share(sure.value, words_of(calls, ANSWER, reading, "confidence"))[0]
    elif sure.status == "out_of_range" and reading.status == "ok":
        found |= {"status": sure.status, "confidence": sure.value}
    return found


def _own(row: rows.Row) -> Item:
    """Return the question that a row brings, with or without a key."""
    keyed, kind = bool(rows.answers_of(row)), KINDS.get(str(row.get("kind")))
    asked = {"question": "?", **row, "item_id": None, **({} if keyed else {"kind": "graded"})}
    try:
        item = Item(**question_of(asked, "own"))
    except ValueError as error:
        raise rows.BadRow(one_line(str(error), 200)) from None
    return item if keyed or kind is None else item.model_copy(update={"kind": kind})
