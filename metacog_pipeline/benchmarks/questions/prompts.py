"""In which words a question is asked, and how confidence is elicited. A wording file may replace each text by its name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from metacog_pipeline.benchmark.contract import Call, Calls, Chat
from metacog_pipeline.errors import one_line
from metacog_pipeline.interchange.question import Question
from metacog_pipeline.llm.types import Message, Status
from metacog_pipeline.reading.calls import read_step, words_of
from metacog_pipeline.reading.reader import Reading
from metacog_pipeline.study import wording

# A step; asked several times; and in a second call after the answer.
ANSWER, SAMPLED, P_TRUE = "answer", "self_consistency", "p_true"
_FORMS = {"choice": "the letter of one option", "number": "one number"}
_ONE = "Reply with one line:\nAnswer: <{form}>"
Words = Mapping[str, str]
TEXTS: Words = {
    "answer_only": _ONE,
    "verbal_percent": "Reply with two lines:\nAnswer: <{form}>\n"
    "Confidence: <the chance that your answer is right, in percent, 0 to 100>",
    "choice_logprob": "Reply with the letter of one option and nothing else.",
    P_TRUE: "Proposed answer: {said}\nIs the proposed answer right? Reply with one word, yes or no.",
    "abstain_allowed": "Reply with one line:\nAnswer: <{form}, or unknown if you would rather not answer>",
}


def load_wording(path: Path | None) -> Words:
    """Return the shipped texts, those of a TOML file in their place; StudyError for an unknown name or an empty text."""
    given = {} if path is None else wording.read_words(path)
    wording.require_known(str(path), given, TEXTS)
    return {**TEXTS, **{name: wording.require_text(f"{path}: {name}", text) for name, text in given.items()}}


def steps(condition: str, samples: int) -> tuple[str, ...]:
    """Return the calls one question takes."""
    if condition == SAMPLED:
        return tuple(f"sample_{number}" for number in range(1, samples + 1))
    return (ANSWER, P_TRUE) if condition == P_TRUE else (ANSWER,)


def first(item: Question, condition: str, words: Words) -> str:
    """Return the message of the first call."""
    text = words["answer_only" if condition in (SAMPLED, P_TRUE) else condition]
    return f"{item.stem}\n\n{text.replace('{form}', _FORMS.get(item.kind, 'a few words'))}"


def said(item: Question, calls: Calls, step: str, reading: Reading) -> str | None:
    """Return the answer as a reply words it, of a choice its letter; None where none can be read."""
    if reading["answer"].status != "ok":
        return None
    return words_of(calls, step, reading, "answer") if item.kind == "number" else str(reading["answer"].value)


async def ask(item: Question, condition: str, chat: Chat, words: Words, samples: int) -> None:
    """Ask every call of one question; equal calls of other conditions are paid for once."""
    asked = (Message("user", first(item, condition, words)),)
    if condition == SAMPLED:
        for number, step in enumerate(steps(condition, samples)):
            await chat(step, asked, top_logprobs=0, send_temperature=False, sample=number)
        return
    found = await chat(ANSWER, asked, top_logprobs=None if condition == "choice_logprob" else 0)
    if condition != P_TRUE or found.status is not Status.OK:
        return
    replies = {ANSWER: Call("ok", found.text)}
    answer = said(item, replies, ANSWER, read_step(replies, ANSWER, [item.field]))
    if answer is not None:
        text = words[P_TRUE].replace("{said}", one_line(answer, 300))
        await chat(P_TRUE, (Message("user", f"{item.stem}\n\n{text}"),))
