"""Questions with accepted answers, from the shipped facts, the items of a study, or a file of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from metacog_pipeline.benchmark.item_files import read_rows
from metacog_pipeline.benchmarks.selfknowledge.construction import fields
from metacog_pipeline.benchmarks.selfknowledge.items import Item
from metacog_pipeline.errors import SourceError, StudyError, one_line
from metacog_pipeline.files import canonical_json, sha256_hex, shipped
from metacog_pipeline.sources import Line, read_lines

SAMPLE = "sample"
_TEXTS, _ANSWERS = ("question", "questions"), ("answers", "answer", "golden_answers")


@dataclass(frozen=True, slots=True)
class Question:
    """A question in one language with the answers that are accepted; without any, nothing is right."""

    id: str
    text: str
    answers: tuple[str, ...]


def load_questions(source: str, language: str = "en") -> list[Question]:
    """Return questions in a language.

    Parameters
    ----------
    source
        ``sample`` for the shipped facts, a Parquet file of a study's items, or JSON Lines: ``question`` and ``answers``
        (a text or a list), or both by language under ``questions`` and ``answers``; ``question_id`` or ``id`` where
        there is one.

    Raises SourceError with file and line where something is not as it should be; StudyError when there is no question
    in the language.
    """
    if source.endswith(".parquet"):
        found = [
            Question(item.item_id, text, dict(item.answers).get(language, ()))
            for item in read_rows(Path(source), Item)
            if (text := dict(item.questions).get(language)) is not None
        ]
    else:
        path = shipped("data", "selfknowledge", SAMPLE, "facts.jsonl") if source == SAMPLE else Path(source)
        rows = (_question(line, number, language) for number, line in enumerate(read_lines(path)))
        found = [row for row in rows if row is not None]
    if not found:
        raise StudyError(f'{source}: no question in language "{language}"')
    return found


def answerable(questions: Sequence[Question]) -> list[Question]:
    """Return the questions with an accepted answer: nothing can be learnt from the others."""
    return [each for each in questions if each.answers]


def split(
    questions: Sequence[Question], share: float, seed: int
) -> tuple[tuple[Question, ...], tuple[Question, ...]]:
    """Return questions for training and held out, drawn by SHA-256 of seed and question; equal texts stay together."""
    texts = sorted({each.text for each in questions}, key=lambda text: sha256_hex(f"{seed}\0{text}"))
    away = set(texts[: round(share * len(texts))])
    held = tuple(each for each in questions if each.text in away)
    kept = tuple(each for each in questions if each.text not in away)
    if not held or not kept:
        raise StudyError(
            f"{len(questions)} questions cannot be split with {share} held out; give more, or another share"
        )
    return kept, held


def apart(held_out: Sequence[Question], training: Sequence[Question], source: str) -> tuple[Question, ...]:
    """Return the questions held out, which were read from ``source``; case and spaces make no question another one.

    Raises StudyError where some of them are trained on: what a model does on these is no held-out measure.
    """
    trained = {_same(each) for each in training}
    both = [each.text for each in held_out if _same(each) in trained]
    if both:
        raise StudyError(
            f'{source}: {len(both)} of its {len(held_out)} questions are trained on too, as "{one_line(both[0], 100)}"; '
            "hold out others, or leave these out of one of the two"
        )
    return tuple(held_out)


def _same(question: Question) -> str:
    return " ".join(question.text.casefold().split())


def digest(questions: Sequence[Question]) -> str:
    """Return SHA-256 over the questions in their order."""
    return sha256_hex(canonical_json([[each.id, each.text, list(each.answers)] for each in questions]))


def _question(line: Line, number: int, language: str) -> Question | None:
    asked, accepted = fields.value(line, *_TEXTS), fields.value(line, *_ANSWERS)
    if isinstance(asked, dict):
        accepted = accepted.get(language, []) if isinstance(accepted, dict) else accepted
        asked = asked.get(language)
        if asked is None:
            return None
    answers = [accepted] if isinstance(accepted, str) else accepted
    name = next((line.row[key] for key in ("question_id", "id") if key in line.row), number)
    if not isinstance(name, str | int):
        raise SourceError(f"{line.where}: id {name!r} is neither text nor number; mend or replace the file")
    return Question(str(name), fields.text(line, "question", asked), fields.texts(line, "answers", answers))
