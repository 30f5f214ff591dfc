"""One answer of a log or a table, in one form for every format: the record that all readers yield.

A question is a structure of its own (`question_cells`): stem, context, options with their order, right answers. So the same
question under two prompts is one item, and two passages under one question are two.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from pydantic_core import from_json

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.interchange.question import LETTERS
from metacog_pipeline.interchange.question_rows import ungrouped
from metacog_pipeline.llm.types import Completion, Status, TokenLogprob
from metacog_pipeline.llm.wire import values

LONGEST_ANSWER = 60  # characters of a right answer that a reader of short answers is asked to find
_OPTION_LINE = re.compile(r"^[ \t]*[(\[]?([A-J])[)\].:．、][ \t]*(\S.*)$")
LABEL = re.compile(r"^\s*(?:question|q)\s{0,3}[:.]\s", re.IGNORECASE)
_ANSWER_LINE = re.compile(r"^\W*(?:answer|a)\b", re.IGNORECASE)


@dataclass(slots=True)
class Sample:
    """One answer: what the log calls question, task and model, which repeat it is from 1, and what was replied.

    Attributes
    ----------
    question
        Columns of a `question_rows.question_of`; None where the log does not hold the question.
    right
        The log's verdict; None where it has none.
    settings
        How it was asked: temperature, seed and what else the log reports.
    why, same
        Why it is not kept; ``same`` where that is because another row has the same answer.
    unscored
        Why it is kept and not scored.
    known, key
        Whether the item must be one of the study's, since the file does not say it whole; the key that it has.
    item, order
        The item it is about, and its letters in the order in which this answer shows its options ("" in its own).
    row
        Its number in a table; 0 in a log.
    condition, texts
        Of a benchmark's item, the condition and the replies by step, where they are not those of the whole file.
    """

    name: str
    task: str
    model: str
    said: Completion
    question: Mapping[str, Any] | None = None
    run: int = 1
    right: bool | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    why: str | None = None
    same: bool = False
    unscored: str | None = None
    known: bool = False
    key: Any = None
    item: str = ""
    order: str = ""
    row: int = 0
    condition: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)


#: A reply that is not known yet, or never will be.
OK = Completion(Status.OK)


def nothing(name: object, task: str, model: str, why: str, run: int = 1, *, same: bool = False) -> Sample:
    """Return a sample of which nothing can be kept."""
    return Sample(str(name), task, model, OK, run=run, why=why, same=same)


def runs(first: Sample, replies: Any, lacks: str = "has no reply") -> Iterator[Sample]:
    """Yield a sample for each reply to one prompt, as runs; the log's verdict is of a single reply."""
    texts = [each for each in (replies if isinstance(replies, list) else [replies]) if isinstance(each, str)]
    if not texts:
        yield nothing(first.name, first.task, first.model, lacks)
    for run, text in enumerate(texts, start=1):
        right = first.right if len(texts) == 1 else None
        yield replace(first, said=replace(first.said, text=text), run=run, right=right)


def weighed(likely: Sequence[float]) -> Completion:
    """Return the likeliest letter as a reply, with the chances that the log-likelihoods of the options come to.

    An option of no chance (minus infinity) has no log-probability.
    """
    top = max(likely)
    total = top + math.log(sum(math.exp(each - top) for each in likely))
    logs = tuple(
        (letter, each - total) for letter, each in zip(LETTERS, likely, strict=False) if math.isfinite(each)
    )
    letter, most = max(logs, key=lambda pair: pair[1])
    return Completion(Status.OK, letter, logprobs=(TokenLogprob(letter, most, logs),))


def parsed(data: bytes, where: str, *, partial: bool = False) -> Any:
    """Return JSON of any depth a log has; StudyError for what is none, or is nested too deeply."""
    try:
        return from_json(data, allow_partial=partial, cache_strings="keys")
    except ValueError as error:
        raise StudyError(
            f"{where}: not readable as JSON ({one_line(str(error), 120)}); nothing was kept"
        ) from None


# --- the question -----------------------------------------------------------------------------------------------------
def question_cells(
    text: Any, options: Any, answers: Sequence[Any], *, read: bool, context: str = ""
) -> dict[str, Any] | None:
    """Return the columns of a question. ``read`` says that a reader can decide what is right; else the log does."""
    if not isinstance(text, str) or not text.strip():
        return None
    texts = (
        list(map(str, options)) if isinstance(options, list | tuple) else []
    )  # a log may have anything there
    asked = {"question": without_options(text, texts), **({"context": context} if context.strip() else {})}
    if 1 < len(texts) <= len(LETTERS) and len(answers) == 1 and read:
        return {**asked, "options": texts, "answer": answers[0], "kind": "choice"}
    given = [each for each in answers if each is not None and str(each).strip()]
    short = [each for each in given if len(str(each)) <= LONGEST_ANSWER and "\n" not in str(each)]
    if read and short and not texts:
        return {**asked, "answers": [ungrouped(each) for each in short]}
    return {**asked, "kind": "graded", "answers": [str(each)[:1_000] for each in given]}


def choice_cells(text: Any, options: Sequence[str], place: int, context: str = "") -> dict[str, Any] | None:
    """Return the columns of a question of which the option at one place is right."""
    return question_cells(text, options, [lettered(LETTERS[place], options)], read=True, context=context)


def lettered(letter: str, options: Sequence[Any]) -> str:
    """Return a letter that names an option by place; in brackets where it is the text of another, such as a blood group."""
    return f"({letter})" if letter in [str(each).strip() for each in options] else letter


def asked_with_options(prompt: str) -> tuple[str, list[str]] | None:
    """Return stem and options of a prompt that lists them by letter, of several examples the last; None of any other.

    >>> asked_with_options("Is it?\\nA. yes\\nB. no\\nAnswer: A\\n\\nQuestion: Which?\\nA. red\\nB. blue\\nAnswer:")
    ('Which?', ['red', 'blue'])
    """
    lines = prompt.split("\n")
    blocks: list[tuple[int, list[str]]] = []  # the first line of each list, and its texts
    for place, line in enumerate(lines):
        found = _OPTION_LINE.match(line)
        if found is not None and found[1] == "A":
            blocks.append((place, [found[2].strip()]))
        elif found is not None and blocks:
            start, texts = blocks[-1]
            if place == start + len(texts) and found[1] == LETTERS[len(texts) : len(texts) + 1]:
                texts.append(found[2].strip())
    blocks = [each for each in blocks if len(each[1]) > 1]
    if not blocks:
        return None
    start = blocks[-2][0] + len(blocks[-2][1]) if len(blocks) > 1 else 0
    stem = lines[start : blocks[-1][0]]
    while stem and (not stem[0].strip() or (start and _ANSWER_LINE.match(stem[0]))):
        stem = stem[1:]
    return LABEL.sub("", "\n".join(stem), count=1).strip(), blocks[-1][1]


def without_options(text: str, options: Sequence[str]) -> str:
    """Return a question without the list of its options at its end: a template put it there, another puts none."""
    found = asked_with_options(text) if len(options) > 1 else None
    if found is None or not found[0] or found[1] != [each.strip() for each in options]:
        return text
    lines, n = text.rstrip().split("\n"), len(options)
    # only a list at the very end: an instruction below it is part of what was asked
    return "\n".join(lines[:-n]).strip() if all(map(_OPTION_LINE.match, lines[-n:])) else text


def last_asked(prompt: Any) -> str | None:
    """Return what a prompt asks: a text, or the last turn of the user in a list of messages, also one written as text."""
    if isinstance(prompt, str) and prompt.lstrip().startswith('[{"'):
        try:
            prompt = from_json(prompt)
        except ValueError:
            return str(prompt)
    if isinstance(prompt, str):
        return prompt
    turns = [each for each in objects(prompt) if each.get("role") in ("user", "system", "HUMAN")]
    said = [each.get("content", each.get("prompt")) for each in turns]
    return next((each for each in reversed(said) if isinstance(each, str)), None)


def text_of(content: Any) -> tuple[str, bool]:
    """Return the text of a message, of parts, or of the user's messages, and whether there is more than text."""
    if isinstance(content, str):
        return content, False
    texts, more = [], False
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and "role" in part:
            text, other = text_of(part.get("content"))
            texts += [text] if part["role"] == "user" else []
            more = more or other
        elif isinstance(part, dict) and part.get("type") in ("text", None):
            texts.append(str(part.get("text") or ""))
        elif not (isinstance(part, dict) and part.get("type") == "reasoning"):
            more = True
    return "\n".join(each for each in texts if each), more


# --- values -----------------------------------------------------------------------------------------------------------
def verdict(value: Any) -> bool | None:
    """Return what a score says: right, wrong, or neither."""
    if isinstance(value, str):
        value = {"C": 1.0, "I": 0.0, "N": 0.0}.get(value, value)
    if isinstance(value, bool | int | float) and value in (0, 1):
        return bool(value)
    return None


def moment(text: Any) -> datetime | None:
    """Return a date of a log in UTC; None for what is none."""
    try:
        found = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return None
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def tokens_of(entries: Any) -> tuple[TokenLogprob, ...]:
    """Return log-probabilities in OpenAI's form; none where any of them is odd."""
    return values.token_logprobs(entries) if isinstance(entries, list) else ()


def mapping(value: Any) -> dict[str, Any]:
    """Return an object of a log; an empty one where there is none."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """Return a list of a log; an empty one where there is none."""
    return value if isinstance(value, list) else []


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list of a log; none where there is no list."""
    return [each for each in listed(value) if isinstance(each, dict)]


def whole(value: Any) -> int | None:
    """Return a count of a log; None for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def amount(value: Any) -> float | None:
    """Return an amount of a log, 0 or more; None for what is none."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
    return float(value) if good else None
