"""In which words a question is asked, and how confidence is elicited. A wording file may replace each text by its name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from metacog_pipeline.benchmark.contract import Call, Calls, Chat
from metacog_pipeline.benchmarks.questions.items import Item
from metacog_pipeline.errors import one_line
from metacog_pipeline.llm.types import Message, Status
from metacog_pipeline.reading.calls import read_step, words_of
from metacog_pipeline.reading.reader import Reading
from metacog_pipeline.study import wording

ANSWER = "answer"
FORMS = {"choice": "the letter of one option", "number": "one number", "text": "a few words"}
_ONE = "Reply with one line:\nAnswer: <{form}>"
_TWO = "Reply with two lines:\nAnswer: <{form}>\n"
TEXTS: Mapping[str, str] = {
    "answer_only": _ONE,
    "verbal_percent": _TWO + "Confidence: <the chance that your answer is right, in percent, 0 to 100>",
    "choice_logprob": "Reply with the letter of one option and nothing else.",
    "p_true": "Proposed answer: {said}\nIs the proposed answer right? Reply with one word, yes or no.",
    "abstain_allowed": "Reply with one line:\nAnswer: <{form}, or unknown if you would rather not answer>",
}
#: Asked several times; and in a second call after the answer.
SAMPLED, P_TRUE = "self_consistency", "p_true"
Words = Mapping[str, str]


def load_wording(path: Path | None) -> Words:
    """Return the shipped texts, those of a TOML file in their place; StudyError for an unknown name or an empty text."""
    if path is None:
        return TEXTS
    given = wording.read_words(path)
    wording.require_known(str(path), given, TEXTS)
    return {**TEXTS, **{name: wording.require_text(f"{path}: {name}", text) for name, text in given.items()}}


def steps(condition: str, samples: int) -> tuple[str, ...]:
    """Return the calls one question takes."""
    if condition == SAMPLED:
        return tuple(f"sample_{number}" for number in range(1, samples + 1))
    return (ANSWER, P_TRUE) if condition == P_TRUE else (ANSWER,)


def first(item: Item, condition: str, words: Words) -> str:
    """Return the message of the first call."""
    name = "answer_only" if condition in (SAMPLED, P_TRUE) else condition
    return f"{item.stem}\n\n{words[name].replace('{form}', FORMS.get(item.kind, FORMS['text']))}"


def said(item: Item, calls: Calls, step: str, reading: Reading | None = None) -> str | None:
    """Return the answer as a reply words it, of a choice its letter; None where none can be read."""
    reading = reading or read_step(calls, step, [item.field])
    if reading["answer"].status != "ok":
        return None
    return words_of(calls, step, reading, "answer") if item.kind == "number" else str(reading["answer"].value)


async def ask(item: Item, condition: str, chat: Chat, words: Words, samples: int) -> None:
    """Ask every call of one question; equal calls of other conditions are paid for once."""
    asked = Message("user", first(item, condition, words))
    if condition == SAMPLED:
        for number, step in enumerate(steps(condition, samples)):
            await chat(step, (asked,), top_logprobs=0, send_temperature=False, sample=number)
        return
    logs = None if condition == "choice_logprob" else 0
    found = await chat(ANSWER, (asked,), top_logprobs=logs)
    if condition != P_TRUE or found.status is not Status.OK:
        return
    answer = said(item, {ANSWER: Call("ok", found.text)}, ANSWER)
    if answer is None:
        return
    text = words[condition].replace("{said}", one_line(answer, 300))
    await chat(condition, (Message("user", f"{item.stem}\n\n{text}"),))
