"""Reading a reply (one decision, 0 or 1, and a confidence from 1 to K), and rows of tables of answers made elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, ClassVar

from metacog_pipeline.benchmark import contract as c
from metacog_pipeline.benchmarks.signaldetection.items import Item, sample_items
from metacog_pipeline.benchmarks.signaldetection.prompts import CONFIDENCE, RATINGS, STEP
from metacog_pipeline.interchange.answer_cells import RowError, shown, whole
from metacog_pipeline.interchange.import_rules import RowRules
from metacog_pipeline.reading import rows
from metacog_pipeline.reading.calls import NOT_RUN, REFUSED, ended, read_step, reading_of, said, why
from metacog_pipeline.reading.fields import Binary, Confidence, Field
from metacog_pipeline.stats.confidence_scale import Scale

UNREADABLE = ("answer_unparsed", "confidence_unparsed", REFUSED)
#: The words of each task for 0 and for 1, next to the digits.
WORDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "A": {"0": ("negative",), "1": ("positive",)},
    "B": {"0": ("oral", "oral speech", "spoken", "speech", "speaking", "transcript"),
          "1": ("written", "a written source", "written source", "writing")},
    "C": {"0": ("unchanged", "intact", "not deleted", "not removed", "nothing removed", "no deletion", "as it was"),
          "1": ("deleted", "removed", "changed", "missing", "taken out", "deletion")},
}  # fmt: skip
_LABELS: Mapping[str, int] = {"0": 0, "1": 1, "s1": 0, "s2": 1, "false": 0, "true": 1}


@dataclass(slots=True)
class Response(c.Response):
    """One item under one condition; a reply whose confidence alone cannot be read keeps its response."""

    stimulus: Annotated[c.Flag, "the true label, 0 (S1) or 1 (S2)"]
    response: Annotated[c.Flag, "the label answered; null without a readable decision"] = None
    confidence: Annotated[c.Flag, "as stated, 1 to K; null where none is asked for"] = None
    correct: Annotated[c.Flag, "1 where the response is the label, else 0; null without a response"] = None
    status: str = NOT_RUN
    reason: str | None = "not asked yet"


def fields(words: Mapping[str, tuple[str, ...]], ratings: int | None) -> tuple[Field, ...]:
    """Return the fields of a reply: a decision, and a confidence where ``ratings``, K of the scale, is given."""
    decision = Binary(words)
    return (decision,) if ratings is None else (decision, Confidence(1, ratings, whole=True))


def read_response(item: Item, calls: c.Calls, ratings: int | None) -> Response:
    """Return the reading of an item's only call; ``ratings`` is K, None where no confidence was asked for."""
    if (over := ended(calls.get(STEP))) is not None:
        return Response(item.stimulus, status=over[0], reason=over[1])
    reading = read_step(calls, STEP, fields(WORDS[item.task], ratings))
    decision, sure = reading["decision"], reading["confidence"] if ratings else None
    if decision.status != "ok":
        status = REFUSED if decision.status == "refused" else "answer_unparsed"
        return Response(item.stimulus, status=status, reason=why(decision, "decision"))
    answered = Response(item.stimulus, decision.value, None, int(decision.value == item.stimulus), "ok", None)
    if sure is None:
        return answered
    if sure.status != "ok":
        return replace(answered, status="confidence_unparsed", reason=why(sure, "confidence"))
    return replace(answered, confidence=int(sure.value))


def again(response: Response, ratings: int | None) -> Iterable[tuple[str, str]]:
    """Yield the step to ask once more and the form to ask for, of a reply that cannot be read."""
    rating = f'"confidence": <1 to {ratings}>'
    if response.status == "answer_unparsed":
        yield STEP, '{"decision": "<0 or 1>"' + (f", {rating}" if ratings is not None else "") + "}"
    elif response.status == "confidence_unparsed":
        yield STEP, f"{{{rating}}}"


def read_row(row: rows.Row) -> dict[str, Any]:
    """Read one row of ``metacog read``; ``options`` are the words for 0 and for 1, ``ratings`` is K."""
    item = rows.found_item(row, _shipped()) if row.get("item_id") else None
    task = item.task if item else str(row.get("task") or row.get("kind") or "").upper()
    own, known = [*rows.options_of(row).values()], WORDS.get(task, {})
    words = {digit: (*known.get(digit, ()), *own[at : at + 1]) for at, digit in enumerate("01")}
    given = str(row.get("ratings") or RATINGS)
    if not (given.isascii() and given.isdigit() and int(given) > 1):
        raise rows.BadRow(f"ratings is {given[:20]!r}; give the steps of the scale, 2 or more")
    reading = reading_of(rows.calls_of(row, (STEP,), STEP), STEP, fields(words, int(given)))
    key = (item.stimulus,) if item else rows.answers_of(row)
    correct = str(said(reading["decision"])) == str(key[0]) if key else None
    return rows.result(reading, correct=correct, scale=(1, int(given)))


@cache
def _shipped() -> Mapping[str, Item]:
    return {item.item_id: item for item in sample_items()}


class Rows(RowRules):
    """A decision (0 or 1, S1 or S2, or a word of the task) with a confidence, or the raw reply."""

    condition = CONFIDENCE
    own: ClassVar = {
        "decision": ("decision", "choice", "prediction", "predicted", "pred", "model_answer", "answer", "judgment"),
        "confidence": ("confidence", "conf", "rating", "certainty", "confidence_score"),
    }  # fmt: skip
    usual: ClassVar = {
        "key": ("stimulus", "key", "gold", "target", "true_label", "ground_truth", "correct_answer"),
        "question": ("question", "text", "sentence"),
    }
    rated, whole_ratings = ("confidence",), True

    @property
    def scale(self) -> Scale:  # type: ignore[override]
        return Scale(1, self.benchmark.wording.ratings)

    def questions(self, item: Item) -> Iterable[str]:
        return (item.text,)

    def agrees(self, item: Item, key: Any) -> bool:
        return label_of(item, key) == item.stimulus


def label_of(item: Item, value: Any) -> int:
    """Return the label a cell names."""
    number = whole(value)
    text = str(value).strip().casefold() if number is None else str(number)
    named = {word: int(digit) for digit, words in WORDS[item.task].items() for word in words}
    if (found := _LABELS.get(text, named.get(text))) is None:
        listed = f"0, 1, S1, S2, {', '.join(named)}"
        raise RowError(f"key {shown(value)} is none of {listed}")
    return found
