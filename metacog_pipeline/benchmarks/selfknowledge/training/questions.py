"""Questions with accepted answers: the shipped facts, the items of a study, or a file of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from metacog_pipeline.benchmark.item_files import read_rows
from metacog_pipeline.benchmarks.selfknowledge.items import Item
from metacog_pipeline.errors import SourceError, StudyError, one_line
from metacog_pipeline.files import canonical_json, sha256_hex, shipped, write_text
from metacog_pipeline.sources import Line, read_lines

SAMPLE = "sample"


class Question(NamedTuple):
    """A question in one language with the answers that are accepted; without any, nothing is right."""

    id: str
    text: str
    answers: tuple[str, ...]


class _Row(BaseModel):
    """A line of a file: one language, or texts and answers by language."""

    model_config = ConfigDict(strict=True)

    id: str | int | None = None
    question_id: str | int | None = None
    question: str | None = None
    questions: dict[str, str] = {}
    answer: str | list[str] | None = None
    answers: str | list[str] | dict[str, list[str]] = []

    def in_language(self, language: str) -> tuple[str | None, list[str]]:
        """Return the question and its answers; no question where there is none in the language."""
        text = self.questions.get(language) if self.question is None else self.question
        found = self.answers if self.answer is None else self.answer
        accepted = found.get(language, []) if isinstance(found, dict) else found
        return text, [accepted] if isinstance(accepted, str) else accepted


def load_questions(source: str, language: str = "en") -> list[Question]:
    """Return the questions of a source in a language.

    A source is ``sample``, a Parquet file of a study's items, or JSON Lines: ``question`` and ``answers`` (a text or
    a list), or both by language under ``questions`` and ``answers``; ``question_id`` or ``id`` where there is one.
    """
    if source.endswith(".parquet"):
        found = [
            Question(item.item_id, text, item.accepted(language))
            for item in read_rows(Path(source), Item)
            if (text := item.question(language)) is not None
        ]
    else:
        path = shipped("data", "selfknowledge", SAMPLE, "facts.jsonl") if source == SAMPLE else Path(source)
        rows = (_question(line, number, language) for number, line in enumerate(read_lines(path)))
        found = [row for row in rows if row is not None]
    if not found:
        raise StudyError(f'{source}: no question in language "{language}"')
    return found


def write_questions(path: Path, questions: Sequence[Question]) -> None:
    """Write questions as JSON Lines that `load_questions` reads."""
    rows = ({"id": each.id, "question": each.text, "answers": each.answers} for each in questions)
    write_text(path, "".join(canonical_json(row) + "\n" for row in rows))


def split(
    questions: Sequence[Question], share: float, seed: int
) -> tuple[tuple[Question, ...], tuple[Question, ...]]:
    """Return questions for training and held out, drawn by SHA-256 of seed and question; equal texts stay together."""
    texts = sorted({each.text for each in questions}, key=lambda text: sha256_hex(f"{seed}\0{text}"))
    away = set(texts[: round(share * len(texts))])
    held = tuple(each for each in questions if each.text in away)
    rest = tuple(each for each in questions if each.text not in away)
    if not held or not rest:
        raise StudyError(
            f"{len(questions)} questions cannot be split with {share} held out; give more, or another share"
        )
    return rest, held


def refuse_overlap(held_out: Sequence[Question], training: Sequence[Question], source: str) -> None:
    """Raise `StudyError` where held-out questions are trained on; case and spaces make no question another one."""
    trained = {_same(each) for each in training}
    both = [each.text for each in held_out if _same(each) in trained]
    if both:
        raise StudyError(
            f"{source}: {len(both)} of its {len(held_out)} questions are trained on too, as "
            f'"{one_line(both[0], 100)}"; hold out others, or leave these out of one of the two'
        )


def digest(questions: Sequence[Question]) -> str:
    """Return SHA-256 over the questions in their order."""
    return sha256_hex(canonical_json(questions))


def _same(question: Question) -> str:
    return " ".join(question.text.casefold().split())


def _question(line: Line, number: int, language: str) -> Question | None:
    try:
        row = _Row.model_validate(line.row)
    except ValidationError as error:
        wrong = error.errors()[0]
        where = ".".join(map(str, wrong["loc"][:1]))
        raise SourceError(f"{line.where}: {where}: {wrong['msg']}; correct or replace the file") from None
    text, answers = row.in_language(language)
    if text is None:
        if row.questions:
            return None
        raise SourceError(f"{line.where}: question is missing; correct or replace the file")
    name = row.question_id if row.question_id is not None else row.id
    return Question(str(number if name is None else name), text, tuple(answers))
