"""What the replies to a question say: the answer, whether it is right, and how sure the model is. Any text is read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from metacog_pipeline.benchmark import contract as c
from metacog_pipeline.benchmarks.questions.items import item_of
from metacog_pipeline.benchmarks.questions.prompts import ANSWER, P_TRUE, SAMPLED, said, steps
from metacog_pipeline.interchange.question import Question, same_answer
from metacog_pipeline.reading import rows, tokens
from metacog_pipeline.reading.calls import TOO_LONG, ended, read_step, reading_of, said_with, why, words_of
from metacog_pipeline.reading.fields import Confidence, Field, YesNo
from metacog_pipeline.reading.numbers import in_percent
from metacog_pipeline.reading.reader import Reading

UNREADABLE = ("answer_unparsed", "confidence_unparsed", "refused")
STATED, SURE = "verbal_percent", Confidence(0, 100)
_NO_LOGS = "the provider gave no log-probability of the answer"


@dataclass(slots=True)
class Response(c.Response):
    """The reading of one question under one condition."""

    said: str | None = None
    correct: c.Flag = None
    confidence: float | None = None
    # 0 where an answer was withheld, null where it could not be
    kept: c.Flag = None
    stated: float | None = (
        # a confidence whose number does not say its scale: that of the whole log decides
        None
    )
    status: str = "not_run"
    reason: str | None = "not asked yet"


def read(item: Question, condition: str, calls: c.Calls, samples: int) -> Response:
    """Return what the calls of one question say under a condition."""
    names = steps(condition, samples)
    there = [name for name in names if name in calls]
    for call in (calls[name] for name in there):
        if end := ended(call):
            # Who refuses is wrong: accuracy is over all answers. A reply that was cut or lost says nothing of the model.
            return Response(correct=0 if end[0] == "refused" else None, status=end[0], reason=end[1])
        if call.mode.startswith("unscored"):
            return Response(status="not_scored", reason=call.mode.removeprefix("unscored: "))
    if condition == SAMPLED and there:
        return _agreed(item, calls, names, len(there))
    return _single(item, condition, calls) if ANSWER in there else Response()


def _single(item: Question, condition: str, calls: c.Calls) -> Response:
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
        return Response(None, None if status == TOO_LONG else 0, status=status, reason=why(answer, "answer"))
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
        made.status = "confidence_unparsed"
        made.reason = _NO_LOGS if condition == "choice_logprob" else "no confidence can be read"
    return made


def _confidence(
    item: Question, condition: str, calls: c.Calls, reading: Reading
) -> tuple[float | None, float | None]:
    """Return the confidence, 0 to 1, and the number of one that does not say its scale."""
    if condition == "choice_logprob":
        return _chance(calls, ANSWER, reading, item.shown_in(calls[ANSWER].mode)), None
    if condition != P_TRUE:
        return _share(calls, reading)
    second = read_step(calls, condition, [YesNo()])
    if second.status != "ok":
        return None, None
    chance = _chance(calls, condition, second, YesNo())
    # Without log-probabilities the word is all there is.
    own = 1.0 if chance is None else chance
    return own if second["answer"].value == "yes" else 1 - own, None


def _share(calls: c.Calls, reading: Reading) -> tuple[float | None, float | None]:
    """Return a stated number as a share, and the number itself where its words do not say its scale."""
    sure, words = reading["confidence"], words_of(calls, ANSWER, reading, "confidence")
    if sure.status != "ok":
        return None, None
    if re.search(r"/|\bof\b", words) or in_percent(words):
        return sure.value / 100, None
    return sure.value if 0 < sure.value < 1 else sure.value / 100, sure.value


def _chance(calls: c.Calls, step: str, reading: Reading, field: Field) -> float | None:
    words, mine = said_with(calls, step, reading, "answer"), reading["answer"].value
    return tokens.chance(words, lambda text: field.read(text).value == mine)


def _agreed(item: Question, calls: c.Calls, names: Sequence[str], asked: int) -> Response:
    """Return the answer most samples agree on; their share is the confidence."""
    # Shares of fewer samples would have other steps than those of the other questions.
    if asked < len(names):
        return Response(reason=f"{asked} of {len(names)} samples were asked")
    groups: list[list[tuple[Any, str]]] = []
    for name in names:
        reading = read_step(calls, name, [item.field])
        value, words = reading["answer"].value, said(item, calls, name, reading)
        if not words:
            continue
        own = next((group for group in groups if same_answer(item.field, group[0][0], value)), None)
        if own is None:
            groups.append(own := [])
        own.append((value, words))
    if not groups:
        return Response(correct=0, status="answer_unparsed", reason="no sample has a readable answer")
    largest = max(groups, key=len)
    value, words = largest[0]
    return Response(words, int(item.right(value, words)), len(largest) / len(names), status="ok", reason=None)


def read_row(row: rows.Row) -> dict[str, Any]:
    """Return answer, confidence and correctness of the reply in a row of ``metacog read``."""
    item, calls = item_of(row), rows.calls_of(row, (ANSWER,), ANSWER)
    reading = reading_of(calls, ANSWER, [item.field, SURE])
    answer, sure, words = reading["answer"], reading["confidence"], words_of(calls, ANSWER, reading, "answer")
    correct = item.right(answer.value, words) if reading.status == "ok" and item.answer else None
    found = rows.result(reading, correct=correct, abstained=answer.withheld)
    if correct:
        found["answer"] = item.as_keyed(answer.value, words)
    if sure.status == "ok":
        found["confidence01"] = _share(calls, reading)[0]
    elif sure.status == "out_of_range" and reading.status == "ok":
        found["confidence"] = sure.value
    return found
