"""A row of a file that says a question: multiple choice, true or false, a number, or a few words, with its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from metacog_pipeline.benchmark.answers.reading import AnswerKey
from metacog_pipeline.benchmark.answers.text import folded
from metacog_pipeline.benchmark.item import Item
from metacog_pipeline.columns import number
from metacog_pipeline.errors import one_line
from metacog_pipeline.files import canonical_json, sha256_hex

LETTERS = "ABCDEFGHIJ"
KINDS = {
    **dict.fromkeys(("choice", "multiple_choice", "mc"), "choice"),
    **dict.fromkeys(("true_false", "boolean", "tf"), "true_false"),
    **dict.fromkeys(("number", "numeric"), "number"),
    **dict.fromkeys(("text", "short_answer"), "text"),
    "graded": "graded",
}
LONGEST = 100_000  # characters of a question


class Question(Item):
    """A question. ``answer`` is right (the letter where there are ``options``), and so is what ``accept`` lists; what is
    ``graded`` is right or wrong as its log says. Questions of one ``task`` have a board together; those of one ``group``
    are drawn together."""

    task: str
    question: str
    kind: Literal["choice", "number", "text", "graded"]
    answer: str = ""
    accept: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()
    tolerance: float = 0.0
    unit: str = ""
    group: str = ""

    @property
    def cluster(self) -> str:
        """The group, else the question itself."""
        return self.group or self.item_id

    @cached_property
    def stem(self) -> str:
        """The question as it is asked, options below it."""
        listed = (f"{letter}) {text}" for letter, text in zip(LETTERS, self.options, strict=False))
        return "\n".join([self.question.strip(), *listed])

    @cached_property
    def key(self) -> AnswerKey:
        """What is right, as the readers take it."""
        about = self.stem if self.options else self.question
        forms = (self.answer, *self.accept) if self.answer else ()
        return AnswerKey(self.kind, forms, self.reject, self.tolerance, unit=self.unit, question=about)


def question_of(cells: Mapping[str, Any], dataset: str) -> dict[str, Any]:
    """Return the fields of the `Question` a row says; ValueError where it says none.

    Columns: ``question``, ``answer`` or a list ``answers``, ``options``, ``kind``, ``id``, ``dataset``, ``group``,
    ``reject``, ``tolerance``, ``unit``; other names of some are known. The right option is named by its letter, its text
    or its place from 0.
    """
    question = _first(cells, "question", "input", "prompt")
    if not isinstance(question, str) or len(question) > LONGEST:
        raise ValueError(f"question must be a text of at most {LONGEST} characters")
    options = _options(_first(cells, "options", "choices"))
    answers = _listed(_first(cells, "answers", "answer", "target", "key"))
    kind = KINDS.get(str(cells.get("kind") or _kind_of(options, answers)))
    if kind is None:
        raise ValueError(f"kind is {cells['kind']!r}; use one of {', '.join(KINDS)}")
    if kind == "true_false":
        kind, options = "choice", ("True", "False")
        answers = ["A" if str(each).strip().casefold() in ("true", "1", "yes") else "B" for each in answers]
    if not answers and kind != "graded":
        raise ValueError("there is no answer; give answer, or a list answers")
    if kind == "choice":
        answers = [_letter(answers[0], options)]
    if kind == "number" and any(number(each) is None for each in answers):
        raise ValueError(f"answer {str(answers[0])[:40]!r} is no number")
    name = _first(cells, "item_id", "id")
    forms = [str(each) for each in answers]
    return {
        "item_id": f"q-{content_digest(question, options)}" if name is None else one_line(str(name), 200),
        "dataset": "own",
        "task": one_line(" ".join(str(cells.get("dataset") or dataset).split()), 80),
        **{"question": question, "kind": kind, "options": options, "answer": forms[0] if forms else ""},
        "accept": tuple(forms[1:]),
        "reject": tuple(map(str, _listed(cells.get("reject")))),
        "tolerance": float(cells.get("tolerance") or 0),
        **{name: str(cells.get(name) or "") for name in ("unit", "group")},
    }


def content_digest(question: str, options: Sequence[str]) -> str:
    """Return what tells one question from another, but for case, spaces and quotes."""
    return sha256_hex(canonical_json([folded(question), [folded(each) for each in options]]))[:16]


def _first(cells: Mapping[str, Any], *names: str) -> Any:
    found = (cells.get(name) for name in names)
    return next((each for each in found if each is not None and str(each).strip()), None)


def _listed(value: Any) -> list[Any]:
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
    if isinstance(value, list | tuple):
        return list(value)
    return [] if value is None or not str(value).strip() else [value]


def _options(value: Any) -> tuple[str, ...]:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = json.loads(value)
    if isinstance(
        value, dict
    ):  # letters or numbers with their texts, or a column of texts as some data sets have it
        value = value.get("text") or [value[name] for name in sorted(value)]
    found = tuple(one_line(str(each), 2_000) for each in _listed(value))
    if len(found) == 1 or len(found) > len(LETTERS):
        raise ValueError(f"there are {len(found)} options; give 2 to {len(LETTERS)}")
    return found


def _kind_of(options: Sequence[str], answers: Sequence[Any]) -> str:
    if options:
        return "choice"
    if answers and all(str(each).strip().casefold() in ("true", "false") for each in answers):
        return "true_false"
    return "number" if answers and all(number(each) is not None for each in answers) else "text"


def _letter(answer: Any, options: Sequence[str]) -> str:
    """Return the letter of the right option: named by its letter, its text, or its place from 0."""
    text = str(answer).strip()
    if (
        len(text) == 1
        and 0 <= (place := LETTERS.find(text)) < len(options)
        and not any(len(o) < 3 for o in options)
    ):
        return text
    plain = [folded(each) for each in options]
    if plain.count(folded(text)) == 1:
        return LETTERS[plain.index(folded(text))]
    bare = text.strip("().:")
    place = LETTERS.find(bare.upper()) if len(bare) == 1 else -1
    if place < 0 and text.isdecimal():
        place = int(text[:9])
    if not 0 <= place < len(options):
        raise ValueError(
            f"answer {text[:40]!r} is none of the {len(options)} options, by letter, text or place from 0"
        )
    return LETTERS[place]
