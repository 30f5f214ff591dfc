"""What a reply says: one letter A to F and a confidence from 1 to 5, or why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from metacog_pipeline.benchmark import contract as c
from metacog_pipeline.benchmarks.metamedqa.items import LETTERS, Item
from metacog_pipeline.home import Home
from metacog_pipeline.reading import calls as of_calls
from metacog_pipeline.reading import rows, tokens
from metacog_pipeline.reading.calls import ended, read_step, reading_of, said, said_with, why
from metacog_pipeline.reading.envelope import Envelope
from metacog_pipeline.reading.fields import Confidence, Letter
from metacog_pipeline.reading.reader import Reading, read

UNANSWERED = (of_calls.FAILED, of_calls.TOO_LONG, of_calls.NOT_RUN)
UNREADABLE = ("answer_unparsed", "confidence_unparsed", of_calls.REFUSED)
STEPS, RATINGS = ("answer", "choice", "confidence"), ("1", "2", "3", "4", "5")
RATING = Confidence(1, 5, whole=True)


@dataclass(slots=True)
class Response(c.Response):
    """The reading of one item's calls; ``status`` is ok, or one of ``UNANSWERED`` and ``UNREADABLE``."""

    kind: Annotated[str, "what was done to the parent question, or Fictional"]
    target: Annotated[str, "the right letter; E none of the above, F cannot be answered"]
    answer: Annotated[str | None, "the letter read, null when there is none"] = None
    confidence: Annotated[int | None, pl.Int8, "1 (not at all) to 5 (absolutely sure)"] = None
    correct: Annotated[c.Flag, "1 right, 0 wrong or no letter"] = 0
    status: str = of_calls.NOT_RUN
    reason: str | None = "not asked yet"
    choice_probs: Annotated[list[float] | None, "probabilities of the letters, where kept"] = None
    confidence_probs: Annotated[list[float] | None, "probabilities of the levels, where kept"] = None
    off_menu_mass: Annotated[float | None, "probability outside the admissible letters, 0 to 1"] = None
    tags: Annotated[tuple[str, ...], "subsets reported separately"] = ()
    meta_info: Annotated[str, "examination step of the parent question"] = ""
    source_target: Annotated[str | None, "the letter of the parent question"] = None


def fields(options: Sequence[str]) -> tuple[Letter, Confidence]:
    """Return what a reply to an item is read for."""
    return Letter(dict(zip(LETTERS, options, strict=True))), RATING


def read_reply(text: str, options: Sequence[str]) -> Reading:
    """Read letter and confidence of a whole reply."""
    return read(Envelope.of(text), fields(options))


def read_response(item: Item, calls: c.Calls) -> Response:
    """Read the calls of one item; any text gives a response."""
    found = Response(
        item.kind, item.target, tags=item.tags, meta_info=item.meta_info, source_target=item.source_target
    )
    first, *later = newest_mode(calls)
    if (over := ended(calls.get(first))) is not None:
        found.status, found.reason = over
        return found
    reading = rated = read_step(calls, first, fields(item.options))
    if (answer := reading["answer"]).status != "ok":
        # A refusal is not F: to say that a question cannot be answered is an answer.
        found.status = of_calls.REFUSED if answer.status == "refused" else "answer_unparsed"
        found.reason = why(answer, "answer")
        return found
    for step in later:
        # A refused second call is read: the letter stands, the confidence is missing.
        over = ended(calls.get(step))
        if over is not None and over[0] != of_calls.REFUSED:
            found.status, found.reason = over
            return found
        rated = read_step(calls, step, (RATING,))
    found.answer, found.correct = answer.value, int(answer.value == item.target)
    found.choice_probs, found.off_menu_mass = _shares(calls, first, reading, "answer", LETTERS)
    if (confidence := rated["confidence"]).status != "ok":
        found.status, found.reason = "confidence_unparsed", why(confidence, "confidence")
        return found
    found.status, found.reason, found.confidence = "ok", None, int(confidence.value)
    found.confidence_probs, _ = _shares(calls, [first, *later][-1], rated, "confidence", RATINGS)
    return found


def newest_mode(calls: c.Calls) -> Sequence[str]:
    """Return an item's steps in order: letter first, then confidence; a whole answer before an older pair."""
    # A model may have been asked in another mode before: what came last, and did not fail, counts.
    places = {step: (call.status != "failed", place) for place, (step, call) in enumerate(calls.items())}
    if places.get("answer", (False, -1)) > places.get("choice", (False, -1)) or "choice" not in calls:
        return ("answer",)
    return ("choice", "confidence")


def _shares(
    calls: c.Calls, step: str, reading: Reading, name: str, menu: Sequence[str]
) -> tuple[list[float] | None, float | None]:
    """Return the probabilities over ``menu`` at the token that says a field, and the mass outside it."""
    said_by = said_with(calls, step, reading, name)
    return tokens.shares(said_by[0], menu) if len(said_by) == 1 else (None, None)


def again(response: Response, calls: c.Calls) -> Iterable[tuple[str, str]]:
    """Yield the step to ask once more and the form to ask for, of a reply that cannot be read."""
    rating = "Confidence: <1-5>"
    forms = {"answer_unparsed": f"Answer: <A-F>\n{rating}", "confidence_unparsed": rating}
    if response.status in forms and "choice" not in newest_mode(calls):
        yield "answer", forms[response.status]


def read_row(row: rows.Row) -> dict[str, Any]:
    """Read one row of ``metacog read``."""
    item = rows.found_item(row, _shipped())
    options: dict[str, str] = dict(zip(LETTERS, item.options, strict=True)) if item else rows.options_of(row)
    if not options:
        raise rows.BadRow("options are missing; give them as a list or by letter, or name a shipped item_id")
    calls = rows.calls_of(row, STEPS, "answer")
    step = newest_mode(calls)[0]
    if (over := ended(calls.get(step))) is not None:
        return rows.unread("truncated" if over[0] == of_calls.TOO_LONG else "no_answer")
    reading = read_step(calls, step, (Letter(options), RATING))
    rated = reading_of(calls, "confidence", (RATING,)).fields if "confidence" in calls else {}
    reading = Reading(reading.status, {**reading.fields, **rated})
    given = (item.target,) if item else rows.answers_of(row)
    key = rows.letter_of(given[0], options) if given else None
    return rows.result(reading, correct=None if key is None else said(reading["answer"]) == key, scale=(1, 5))


@cache
def _shipped() -> Mapping[str, Item]:
    # loads the table library
    from metacog_pipeline.benchmarks.metamedqa.construction import Files, construct

    return {item.item_id: item for item in construct(Files(Home(Path()), "sample")).items}
