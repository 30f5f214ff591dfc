"""What the replies to a question say: the answer, whether it is right, and how sure the model is. Any text is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import polars as pl

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.contract import Calls, Flag
from metacog_pipeline.benchmarks.questions.items import SHIPPED, Item
from metacog_pipeline.benchmarks.questions.prompts import ANSWER, P_TRUE, SAMPLED, said, steps
from metacog_pipeline.errors import one_line
from metacog_pipeline.interchange import question_rows
from metacog_pipeline.interchange.question import Answer, same_answer
from metacog_pipeline.interchange.question_rows import KINDS, question_of
from metacog_pipeline.judges.names import Asked, names_judging
from metacog_pipeline.reading import rows, tokens
from metacog_pipeline.reading.calls import TOO_LONG, ended, read_step, reading_of, said_with, why, words_of
from metacog_pipeline.reading.fields import Confidence, Field, YesNo
from metacog_pipeline.reading.numbers import in_percent
from metacog_pipeline.reading.reader import Reading
from metacog_pipeline.stats.confidence_scale import are_shares

UNREADABLE = ("answer_unparsed", "confidence_unparsed", "refused")
STATED, SURE = "verbal_percent", Confidence(0, 100)


@dataclass(slots=True)
class Response(contract.Response):
    """``kept`` is 0 where an answer was withheld, and null where it could not be.

    ``stated`` is a confidence whose number does not say on which scale it is: that of the whole log decides.
    """

    said: str | None = None
    correct: Flag = None
    confidence: float | None = None
    kept: Flag = None
    stated: float | None = None
    status: str = "not_run"
    reason: str | None = "not asked yet"


# --- one response -----------------------------------------------------------------------------------------------------
def read(item: Item, condition: str, calls: Calls, samples: int) -> Response:
    """Return what the calls of one question say under a condition."""
    names = steps(condition, samples)
    there = [name for name in names if name in calls]
    for call in (calls[name] for name in there):
        if end := ended(call):
            return Response(correct=0 if end[0] == "refused" else None, status=end[0], reason=end[1])
        if call.mode.startswith("unscored"):
            return Response(status="not_scored", reason=call.mode.removeprefix("unscored: "))
    if condition == SAMPLED and there:
        return _agreed(item, calls, names, there)
    return _single(item, condition, calls) if ANSWER in there else Response()


def again(item: Item, condition: str, response: Response) -> Iterable[tuple[str, str]]:
    """Yield the step to ask once more and the form to ask for, of a reply that cannot be read."""
    rating = "Confidence: <0 to 100>" if condition == STATED else ""
    if response.status == "answer_unparsed" and condition != SAMPLED:
        yield ANSWER, f"Answer: <{'letter' if item.kind == 'choice' else 'answer'}>\n{rating}".rstrip()
    elif response.status == "confidence_unparsed" and rating:
        yield ANSWER, rating


def _single(item: Item, condition: str, calls: Calls) -> Response:
    mode = calls[ANSWER].mode
    reading = read_step(calls, ANSWER, [item.shown_in(mode), *([SURE] if condition == STATED else [])])
    answer = reading["answer"]
    if condition == "abstain_allowed" and (answer.withheld or reading.status == "refused"):
        return Response(confidence=0.0, kept=0, status="ok", reason=None)
    words, graded = item.own_letter(said(item, calls, ANSWER, reading), mode), mode.removeprefix("graded: ")
    if item.kind == "graded" and graded not in ("0", "1"):
        return Response(words, status="not_scored", reason="the log does not say whether it is right")
    if words is None:
        status = {"refused": "refused", "truncated": TOO_LONG}.get(reading.status, "answer_unparsed")
        correct = None if status == TOO_LONG else 0
        return Response(correct=correct, status=status, reason=why(answer, "answer"))
    right = graded == "1" if item.kind == "graded" else item.right(item.own_letter(answer.value, mode), words)
    made = Response(words, int(right), status="ok", reason=None)
    if condition == "answer_only":
        return made
    if condition == P_TRUE and condition not in calls:
        return replace(made, correct=None, status="not_run", reason="the second call was not asked")
    if condition == "abstain_allowed":
        return replace(made, confidence=1.0, kept=1)
    made.confidence, made.stated = _confidence(item, condition, calls, reading)
    if made.confidence is None:
        logs = "the provider gave no log-probability of the answer"
        made.status = "confidence_unparsed"
        made.reason = logs if condition == "choice_logprob" else "no confidence can be read"
    return made


def _confidence(
    item: Item, condition: str, calls: Calls, reading: Reading
) -> tuple[float | None, float | None]:
    """Return the confidence, 0 to 1, and the number of one that does not say its scale."""
    if condition == "choice_logprob":
        return _chance(calls, ANSWER, reading, item.shown_in(calls[ANSWER].mode)), None
    if condition == P_TRUE:
        second = read_step(calls, condition, [YesNo()])
        if second.status != "ok":
            return None, None
        chance = _chance(calls, condition, second, YesNo())
        own = 1.0 if chance is None else chance
        return own if second["answer"].value == "yes" else 1 - own, None
    found = reading["confidence"]
    return (
        share(found.value, words_of(calls, ANSWER, reading, "confidence"))
        if found.status == "ok"
        else (None, None)
    )


def _chance(calls: Calls, step: str, reading: Reading, field: Field) -> float | None:
    words, mine = said_with(calls, step, reading, "answer"), reading["answer"].value
    return tokens.chance(words, lambda text: field.read(text).value == mine)


def _agreed(item: Item, calls: Calls, names: Sequence[str], there: Sequence[str]) -> Response:
    """Return the answer most samples agree on; their share is the confidence."""
    if len(there) < len(names):
        return Response(reason=f"{len(there)} of {len(names)} samples were asked")
    readings = {name: read_step(calls, name, [item.field]) for name in names}
    worded = ((each["answer"].value, said(item, calls, name, each)) for name, each in readings.items())
    largest = _largest(item.field, [(value, words) for value, words in worded if words])
    if not largest:
        return Response(correct=0, status="answer_unparsed", reason="no sample has a readable answer")
    value, words = largest[0]
    return Response(words, int(item.right(value, words)), len(largest) / len(names), status="ok", reason=None)


def _largest(field: Answer, answers: Sequence[tuple[Any, str]]) -> list[tuple[Any, str]]:
    """Return the largest group of answers, values with their words, that are one; of equal ones the first."""
    groups: list[list[tuple[Any, str]]] = []
    for each in answers:
        own = next((group for group in groups if same_answer(field, group[0][0], each[0])), None)
        if own is None:
            groups.append(own := [])
        own.append(each)
    return max(groups, key=len, default=[])


# --- confidence on one scale ------------------------------------------------------------------------------------------
def share(value: float, words: str) -> tuple[float, float | None]:
    """Return a stated number as a share, and the number itself where its ``words`` do not say its scale."""
    if re.search(r"/|\bof\b", words) or in_percent(words):
        return value / 100, None
    return value if 0 < value < 1 else value / 100, value


def on_one_scale(responses: pl.DataFrame) -> pl.DataFrame:
    """Return the responses of one model and run with a bare 1 as certainty where all their other numbers are shares."""
    if not are_shares(responses["stated"].drop_nulls().to_list()):
        return responses
    return responses.with_columns(confidence=pl.when(stated=1.0).then(1.0).otherwise("confidence"))


# --- short texts that are no accepted answer as they are written: the reader model decides --------------------------------
def _undecided(responses: pl.DataFrame) -> pl.DataFrame:
    kept = pl.col("kept").is_null() | (pl.col("kept") == 1)
    return responses.filter(kept, status="ok", correct=0).select("item_id", "condition", reply="said")


def _asked(item: Item, condition: str) -> Asked | None:
    return Asked(item.question, (item.answer, *item.accept)) if item.kind == "text" else None


JUDGING = names_judging(_undecided, _asked)


# --- a row of ``metacog read questions`` ----------------------------------------------------------------------------------
@cache
def _shipped() -> Mapping[str, Item]:
    return {item.item_id: item for item in question_rows.load([SHIPPED], Item)}


def read_row(row: rows.Row) -> dict[str, Any]:
    """Return answer, confidence and correctness of the reply in ``row``."""
    item = rows.found_item(row, _shipped()) or _own(row)
    calls = rows.calls_of(row, (ANSWER,), ANSWER)
    reading = reading_of(calls, ANSWER, [item.field, SURE])
    answer, sure, words = reading["answer"], reading["confidence"], words_of(calls, ANSWER, reading, "answer")
    correct = item.right(answer.value, words) if reading.status == "ok" and item.answer else None
    found = rows.result(reading, correct=correct, abstained=answer.withheld)
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
