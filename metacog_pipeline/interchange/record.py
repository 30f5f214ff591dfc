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
from metacog_pipeline.llm.types import Completion, Status, TokenLogprob, Usage

LONGEST_ANSWER = 60  # characters of a right answer that a reader of short answers is asked to find
_OPTION_LINE = re.compile(r"^[ \t]*[(\[]?([A-J])[)\].:．、][ \t]*(\S.*)$")
_LABEL = re.compile(r"^\s*(?:question|q)\s{0,3}[:.]\s", re.IGNORECASE)
_ANSWER_LINE = re.compile(r"^\W*(?:answer|a)\b", re.IGNORECASE)
_VERDICTS = {"C": True, "I": False, "N": False, 1: True, 0: False}
OK = Completion(Status.OK)  # a reply that is not known yet, or never will be


@dataclass(slots=True)
class Sample:
    """One answer: what the file calls question, task and model, and what was replied."""

    name: str
    task: str
    model: str  # "" where the file does not say
    said: Completion = OK
    # columns of a `question_of`; None where the file does not hold it
    question: Mapping[str, Any] | None = None
    run: int = 1  # which repeat
    right: bool | None = None  # the log's verdict
    # temperature, seed and what else the log reports
    settings: Mapping[str, Any] = field(default_factory=dict)
    why: str | None = None  # it is not kept
    same: bool = False  # because another row has the same answer
    unscored: str | None = None  # why it is kept and not scored
    known: bool = False  # the item must be one of the study's, since the file does not say it whole
    key: Any = None  # that such an item must have
    item: str = ""
    order: str = ""  # letters of the item in the order in which this answer shows its options
    row: int = 0  # of a table
    condition: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)  # the replies by step, of a benchmark's item


def runs(first: Sample, replies: Any, lacks: str = "has no reply") -> Iterator[Sample]:
    """Yield a sample for each reply to one prompt, as runs; the log's verdict is of a single reply."""
    texts = [each for each in (replies if isinstance(replies, list) else [replies]) if isinstance(each, str)]
    if not texts:
        yield replace(first, why=lacks)
    for run, text in enumerate(texts, start=1):
        right = first.right if len(texts) == 1 else None
        yield replace(first, said=replace(first.said, text=text), run=run, right=right)


def weighed(likely: Sequence[float]) -> Completion:
    """Return the likeliest letter as a reply, with the chances that the log-likelihoods of the options come to."""
    top = max(likely)
    total = top + math.log(sum(math.exp(each - top) for each in likely))
    # an option of no chance (minus infinity) has no log-probability
    logs = tuple((x, each - total) for x, each in zip(LETTERS, likely, strict=False) if math.isfinite(each))
    letter, most = max(logs, key=lambda pair: pair[1])
    return Completion(Status.OK, letter, logprobs=(TokenLogprob(letter, most, logs),))


def parsed(data: bytes, where: str) -> Any:
    """Return JSON of any depth a log has; StudyError for what is none, or is nested too deeply."""
    try:
        return from_json(data, cache_strings="keys")
    except ValueError as error:
        why = one_line(str(error), 120)
        raise StudyError(f"{where}: not readable as JSON ({why}); nothing was kept") from None


# --- the question -----------------------------------------------------------------------------------------------------
def question_cells(
    text: Any, options: Any, answers: Any, *, read: bool = True, context: str = "", place: int | None = None
) -> dict[str, Any] | None:
    """Return the columns of a question, of which the option at ``place`` is right, or one of ``answers``.

    ``read`` says that a reader can decide what is right; else the log does.
    """
    if not isinstance(text, str) or not text.strip():
        return None
    texts = [*map(str, options)] if isinstance(options, list | tuple) else []  # a log may have anything there
    answers = answers if isinstance(answers, list) else [answers]
    answers = answers if place is None else [lettered(LETTERS[place], texts)]
    asked = {"question": without_options(text, texts), **({"context": context} if context.strip() else {})}
    if 1 < len(texts) <= len(LETTERS) and len(answers) == 1 and read:
        return {**asked, "options": texts, "answer": answers[0], "kind": "choice"}
    given = [each for each in answers if each is not None and str(each).strip()]
    short = [each for each in given if len(str(each)) <= LONGEST_ANSWER and "\n" not in str(each)]
    if read and short and not texts:
        return {**asked, "answers": [*map(ungrouped, short)]}
    return {**asked, "kind": "graded", "answers": [str(each)[:1_000] for each in given]}


def lettered(letter: Any, options: Sequence[Any]) -> Any:
    """Return a letter that names an option by place; in brackets where it is the text of another, such as a blood group."""
    of_another = isinstance(letter, str) and letter in [str(each).strip() for each in options]
    return f"({letter})" if of_another else letter


def asked_with_options(prompt: Any) -> tuple[str, list[str]] | None:
    """Return stem and options of a prompt that lists them by letter, of several examples the last; None of any other.

    >>> asked_with_options("Is it?\\nA. yes\\nB. no\\nAnswer: A\\n\\nQuestion: Which?\\nA. red\\nB. blue\\nAnswer:")
    ('Which?', ['red', 'blue'])
    """
    lines = str(prompt or "").split("\n")
    blocks: list[tuple[int, list[str]]] = []  # the first line of each list, and its texts
    for place, found in enumerate(map(_OPTION_LINE.match, lines)):
        if found is None:
            continue
        start, texts = blocks[-1] if blocks else (place, [])
        if found[1] == "A":
            blocks.append((place, [found[2].strip()]))
        elif blocks and place == start + len(texts) and found[1] == LETTERS[len(texts) : len(texts) + 1]:
            texts.append(found[2].strip())
    blocks = [each for each in blocks if len(each[1]) > 1]
    if not blocks:
        return None
    start = blocks[-2][0] + len(blocks[-2][1]) if len(blocks) > 1 else 0
    stem = lines[start : blocks[-1][0]]
    while stem and (not stem[0].strip() or (start and _ANSWER_LINE.match(stem[0]))):
        stem = stem[1:]
    return _LABEL.sub("", "\n".join(stem), count=1).strip(), blocks[-1][1]


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


# --- values of a log, which may have anything anywhere ----------------------------------------------------------------
def at(value: Any, *path: str) -> Any:
    """Return what a path of names leads to; None where there is nothing."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def mapping(value: Any) -> dict[str, Any]:
    """Return an object; an empty one where there is none."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """Return a list; an empty one where there is none."""
    return value if isinstance(value, list) else []


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list."""
    return [each for each in listed(value) if isinstance(each, dict)]


def whole(value: Any) -> int | None:
    """Return a count."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def amount(value: Any) -> float | None:
    """Return an amount of 0 or more."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
    return float(value) if good else None


def usage(value: Any, *names: str) -> Usage:
    """Return the counts of tokens that have these names."""
    return Usage(*(whole(at(value, name)) for name in names))


def verdict(value: Any) -> bool | None:
    """Return what a score says: right, wrong, or neither."""
    return _VERDICTS.get(value) if isinstance(value, str | bool | int | float) else None


def scored(scores: Mapping[str, Any], names: Sequence[str]) -> bool | None:
    """Return what the first of the scores with these names says."""
    return verdict(next((scores[name] for name in names if name in scores), None))


def moment(text: Any) -> datetime | None:
    """Return a date in UTC."""
    try:
        found = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return None
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
