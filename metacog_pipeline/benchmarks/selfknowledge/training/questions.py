"""Questions with accepted answers: the shipped facts, the items of a study, or a file of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from metacog_pipeline.benchmark.item_files import read_rows
from metacog_pipeline.benchmarks.selfknowledge.items import SAMPLE, SAMPLE_FILE, Item, of_rows, own
from metacog_pipeline.benchmarks.selfknowledge.settings import Language
from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.files import canonical_json, sha256_hex, write_text


class Question(NamedTuple):
    """A question in one language with the answers that are accepted; without any, nothing is right."""

    id: str
    text: str
    answers: tuple[str, ...]


def load_questions(source: str, language: Language = "en") -> list[Question]:
    """Return the questions of a source in a language: ``sample``, items of a study (Parquet), or rows of one's own."""
    if source.endswith(".parquet"):
        items = read_rows(Path(source), Item)
        asked = [(each.item_id, each.question(language), each.accepted(language)) for each in items]
    else:
        path, reader = SAMPLE_FILE if source == SAMPLE else Path(source), partial(own, language=language)
        rows = of_rows(path, reader)
        asked = [
            (each.question_id, each.questions.get(language), each.answers.get(language, ())) for each in rows
        ]
    found = [Question(name, text, tuple(answers)) for name, text, answers in asked if text is not None]
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
