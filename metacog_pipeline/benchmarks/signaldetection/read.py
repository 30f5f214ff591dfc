"""What a reply says: one decision, 0 or 1, and a confidence from 1 to K, or why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.contract import Calls, Flag
from metacog_pipeline.benchmarks.signaldetection.asking import STEP
from metacog_pipeline.benchmarks.signaldetection.items import Item
from metacog_pipeline.benchmarks.signaldetection.prompts import RATINGS
from metacog_pipeline.reading import rows
from metacog_pipeline.reading.calls import NOT_RUN, REFUSED, ended, read_step, reading_of, said, why
from metacog_pipeline.reading.fields import Binary, Confidence, Field

UNREADABLE = ("answer_unparsed", "confidence_unparsed", REFUSED)
# The words of each task for 0 and for 1, beside the digits.
WORDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "A": {"0": ("negative",), "1": ("positive",)},
    "B": {
        "0": ("oral", "oral speech", "spoken", "speech", "speaking", "transcript"),
        "1": ("written", "a written source", "written source", "writing"),
    },
    "C": {
        "0": (
            "unchanged",
            "intact",
            "not deleted",
            "not removed",
            "nothing removed",
            "no deletion",
            "as it was",
        ),
        "1": ("deleted", "removed", "changed", "missing", "taken out", "deletion"),
    },
}


@dataclass(slots=True)
class Response(contract.Response):
    """One item under one condition: its label, what was answered, and how sure.

    ``response`` and ``correct`` are None without a readable decision; a reply whose decision can be read and whose
    confidence cannot is ``confidence_unparsed`` and keeps its response. ``confidence`` is None, and not missed, in the
    conditions that do not ask for it.
    """

    stimulus: Annotated[Flag, "the true label, 0 (S1) or 1 (S2)"]
    response: Annotated[Flag, "the label answered; null without a readable decision"] = None
    confidence: Annotated[Flag, "as stated, 1 to K; null where none is asked for"] = None
    correct: Annotated[Flag, "1 where the response is the label, else 0; null without a response"] = None
    status: str = NOT_RUN
    reason: str | None = "not asked yet"


def fields(words: Mapping[str, tuple[str, ...]], ratings: int | None) -> tuple[Field, ...]:
    """Return what is asked for: a decision, and a confidence where ``ratings``, K of the scale, is given."""
    decision = Binary(words)
    return (decision,) if ratings is None else (decision, Confidence(1, ratings, whole=True))


def read_response(item: Item, calls: Calls, ratings: int | None) -> Response:
    """Return the reading of an item's only call; ``ratings`` is K, None where no confidence was asked for."""
    found = Response(item.stimulus)
    if (over := ended(calls.get(STEP))) is not None:
        found.status, found.reason = over
        return found
    reading = read_step(calls, STEP, fields(WORDS[item.task], ratings))
    decision = reading["decision"]
    if decision.status != "ok":
        found.status = REFUSED if decision.status == "refused" else "answer_unparsed"
        found.reason = why(decision, "decision")
        return found
    found.response, found.correct = decision.value, int(decision.value == item.stimulus)
    found.status, found.reason = "ok", None
    if ratings is not None:
        confidence = reading["confidence"]
        if confidence.status == "ok":
            found.confidence = int(confidence.value)
        else:
            found.status, found.reason = "confidence_unparsed", why(confidence, "confidence")
    return found


def again(response: Response, ratings: int | None) -> Iterable[tuple[str, str]]:
    """Yield the step to ask once more and the form to ask for, of a reply that cannot be read."""
    rating = f'"confidence": <1 to {ratings}>'
    if response.status == "answer_unparsed":
        yield STEP, '{"decision": "<0 or 1>"' + (f", {rating}" if ratings is not None else "") + "}"
    elif response.status == "confidence_unparsed":
        yield STEP, f"{{{rating}}}"


def read_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Read one row of ``metacog read``; ``options`` are the words for 0 and for 1, ``ratings`` is K."""
    item = rows.found_item(row, _shipped()) if row.get("item_id") else None
    task = item.task if item else str(row.get("task") or row.get("kind") or "").upper()
    own = [*rows.options_of(row).values()]
    words = {
        digit: (*WORDS.get(task, {}).get(digit, ()), *own[int(digit) : int(digit) + 1])
        for digit in ("0", "1")
    }
    calls = rows.calls_of(row, (STEP,), STEP)
    ratings = _ratings(row)
    reading = reading_of(calls, STEP, fields(words, ratings))
    key = (item.stimulus,) if item else rows.answers_of(row)
    correct = None if not key else str(said(reading["decision"])) == str(key[0])
    return rows.result(reading, correct=correct, scale=(1, ratings))


def _ratings(row: Mapping[str, Any]) -> int:
    """Return K, the steps of the scale of a row."""
    given = row.get("ratings") or RATINGS
    try:
        ratings = int(given)
    except (TypeError, ValueError, OverflowError):
        ratings = 0
    if ratings < 2:
        raise rows.BadRow(f"ratings is {str(given)[:20]!r}; give the steps of the scale, 2 or more")
    return ratings


@cache
def _shipped() -> Mapping[str, Item]:
    """Return the items of the sample that ships with the package, by id."""
    from metacog_pipeline.benchmarks.signaldetection.construction import sample_items

    return {item.item_id: item for item in sample_items()}
