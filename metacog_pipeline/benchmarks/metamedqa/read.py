"""What a reply says: one letter A to F and a confidence from 1 to 5, or why there is none. A refusal is not F."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.contract import Calls, Flag
from metacog_pipeline.benchmarks.metamedqa.items import LETTERS, Item
from metacog_pipeline.home import Home
from metacog_pipeline.reading import rows, tokens
from metacog_pipeline.reading.calls import (
    FAILED,
    NOT_RUN,
    REFUSED,
    TOO_LONG,
    ended,
    read_step,
    reading_of,
    said,
    said_with,
    why,
)
from metacog_pipeline.reading.envelope import Envelope
from metacog_pipeline.reading.fields import Confidence, Letter
from metacog_pipeline.reading.reader import Reading, read

UNANSWERED = (FAILED, TOO_LONG, NOT_RUN)
UNREADABLE = ("answer_unparsed", "confidence_unparsed", REFUSED)
STEPS = ("answer", "choice", "confidence")
RATINGS = ("1", "2", "3", "4", "5")
RATING = Confidence(1, 5, whole=True)


@dataclass(slots=True)
class Response(contract.Response):
    """The reading of one item's calls; ``status`` is ok, or one of ``UNANSWERED`` and ``UNREADABLE``."""

    kind: Annotated[str, "what was done to the parent question, or Fictional"]
    target: Annotated[str, "the right letter; E none of the above, F cannot be answered"]
    answer: Annotated[str | None, "the letter read, null when there is none"] = None
    confidence: Annotated[int | None, pl.Int8, "1 (not at all) to 5 (absolutely sure)"] = None
    correct: Annotated[Flag, "1 right, 0 wrong or no letter"] = 0
    status: str = NOT_RUN
    reason: str | None = "not asked yet"
    choice_probs: Annotated[list[float] | None, "probabilities of the letters, where kept"] = None
    confidence_probs: Annotated[list[float] | None, "probabilities of the levels, where kept"] = None
    off_menu_mass: Annotated[float | None, "probability outside the admissible letters, 0 to 1"] = None
    tags: Annotated[tuple[str, ...], "subsets reported apart"] = ()
    meta_info: Annotated[str, "examination step of the parent question"] = ""
    source_target: Annotated[str | None, "the letter of the parent question"] = None


def letter(options: Sequence[str]) -> Letter:
    """Return the field of the answer to a question with these options."""
    return Letter(dict(zip(LETTERS, options, strict=False)))


def read_reply(text: str, options: Sequence[str]) -> Reading:
    """Read letter and confidence of a whole reply."""
    return read(Envelope.of(text), (letter(options), RATING))


def read_response(item: Item, calls: Calls) -> Response:
    """Read the calls of one item; any text gives a response."""
    found = Response(
        item.kind, item.target, tags=item.tags, meta_info=item.meta_info, source_target=item.source_target
    )
    steps = _newest_mode(calls)
    if (over := ended(calls.get(steps[0]))) is not None:
        found.status, found.reason = over
        return found
    reading = read_step(calls, steps[0], (letter(item.options), RATING))
    answer, rated, rating_step = reading["answer"], reading, steps[0]
    if answer.status != "ok":
        found.status = REFUSED if answer.status == "refused" else "answer_unparsed"
        found.reason = why(answer, "answer")
        return found
    if steps[0] == "choice":
        over = ended(calls.get("confidence"))
        if over is not None and over[0] != REFUSED:
            found.status, found.reason = over
            return found
        rated, rating_step = read_step(calls, "confidence", (RATING,)), "confidence"
    found.answer, found.correct = answer.value, int(answer.value == item.target)
    found.choice_probs, found.off_menu_mass = _shares(calls, steps[0], reading, "answer", LETTERS)
    confidence = rated["confidence"]
    if confidence.status != "ok":
        found.status, found.reason = "confidence_unparsed", why(confidence, "confidence")
        return found
    found.status, found.reason, found.confidence = "ok", None, int(confidence.value)
    found.confidence_probs, _ = _shares(calls, rating_step, rated, "confidence", RATINGS)
    return found


def _newest_mode(calls: Calls) -> Sequence[str]:
    """Return an item's steps in order: letter first, then confidence; a whole answer before an older pair."""
    places = {step: (call.status != "failed", place) for place, (step, call) in enumerate(calls.items())}
    if places.get("answer", (False, -1)) > places.get("choice", (False, -1)) or "choice" not in calls:
        return ("answer",)
    return ("choice", "confidence")


def _shares(
    calls: Calls, step: str, reading: Reading, name: str, menu: Sequence[str]
) -> tuple[list[float] | None, float | None]:
    """Return the probabilities over ``menu`` at the token that says a field, and the mass outside it."""
    said_by = said_with(calls, step, reading, name)
    return tokens.shares(said_by[0], menu) if len(said_by) == 1 else (None, None)


def again(response: Response, calls: Calls) -> Iterable[tuple[str, str]]:
    """Yield the step to ask once more and the form to ask for, of a reply that cannot be read."""
    beside = "Confidence: <1-5>"
    forms = {"answer_unparsed": f"Answer: <A-F>\n{beside}", "confidence_unparsed": beside}
    if response.status in forms and "choice" not in _newest_mode(calls):
        yield "answer", forms[response.status]


def read_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Read one row of ``metacog read``."""
    item = rows.found_item(row, _shipped()) if row.get("item_id") else None
    options: dict[str, str] = dict(zip(LETTERS, item.options, strict=True)) if item else rows.options_of(row)
    if not options:
        raise rows.BadRow("options are missing; give them as a list or by letter, or name a shipped item_id")
    calls = rows.calls_of(row, STEPS, "answer")
    step = _newest_mode(calls)[0]
    if (over := ended(calls.get(step))) is not None:
        return rows.unread("truncated" if over[0] == TOO_LONG else "no_answer")
    reading = read_step(calls, step, (Letter(options), RATING))
    rated = reading_of(calls, "confidence", (RATING,)).fields if "confidence" in calls else {}
    reading = Reading(reading.status, {**reading.fields, **rated})
    given = (item.target,) if item else rows.answers_of(row)
    key = rows.letter_of(given[0], options) if given else None
    return rows.result(reading, correct=None if key is None else said(reading["answer"]) == key, scale=(1, 5))


@cache
def _shipped() -> Mapping[str, Item]:
    """Return the items of the sample that ships with the package, by id."""
    from metacog_pipeline.benchmarks.metamedqa.construction.pipeline import construct

    return {item.item_id: item for item in construct(Home(Path()), "sample").items}
