"""The row every question set becomes, whatever it was published as, and its one form on disk: JSON Lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from metacog_pipeline.benchmarks.selfknowledge.construction import fields
from metacog_pipeline.benchmarks.selfknowledge.items import LANGUAGES
from metacog_pipeline.errors import SourceError
from metacog_pipeline.sources import JsonRow, Line, content_digest, read_lines, write_rows

MAX_BYTES = 1024**3


@dataclass(frozen=True, slots=True)
class Row:
    """One question of a set. ``number`` is its 0-based row in the file it was published in; the rest as in `Item`."""

    question_id: str
    questions: Mapping[str, str]
    answers: Mapping[str, tuple[str, ...]]
    number: int
    event_id: str = ""
    topic: str = ""
    difficulty: str = ""

    def record(self) -> JsonRow:
        """Return the row as JSON values; what is empty is left out."""
        record: JsonRow = {
            "question_id": self.question_id,
            "questions": dict(self.questions),
            "answers": {language: list(each) for language, each in self.answers.items()},
            "row": self.number,
        }
        more = {"event_id": self.event_id, "topic": self.topic, "difficulty": self.difficulty}
        return {**record, **{name: each for name, each in more.items() if each}}


def english(line: Line, number: int, question: object, answers: object, question_id: str = "") -> Row:
    """Return the row of an English question; without an id its row is one."""
    return Row(
        question_id or str(number),
        {"en": fields.text(line, "question", question)},
        {"en": fields.texts(line, "answers", answers)},
        number,
    )


def unique_ids(rows: Sequence[Row], lines: Sequence[Line]) -> list[Row]:
    """Return ``rows``, where ``lines`` are what they were read from; SourceError where an id comes twice."""
    seen: dict[str, str] = {}
    for row, line in zip(rows, lines, strict=True):
        if row.question_id in seen:
            raise fields.wrong(line, f"the id {row.question_id!r} stands at {seen[row.question_id]} already")
        seen[row.question_id] = line.where
    return list(rows)


def digest_of(rows: Sequence[Row]) -> str:
    """Return the SHA-256 of the content: the same however the questions were packed."""
    return content_digest(row.record() for row in rows)


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write the rows, one JSON object a line; the file is whole or absent."""
    write_rows(path, (row.record() for row in rows))


def read(path: Path) -> list[Row]:
    """Read what `write` wrote, or facts in the same layout; SourceError with file and line where something is wrong.

    ``row`` may be left out, and is then the place of the row in the file.
    """
    lines = read_lines(path, MAX_BYTES)
    if not lines:
        raise SourceError(f"{path}: no questions in it; replace the file")
    return [_row(line, number) for number, line in enumerate(lines)]


def _row(line: Line, number: int) -> Row:
    questions = fields.mapping(line, "questions", fields.value(line, "questions"))
    answers = fields.mapping(line, "answers", fields.value(line, "answers"))
    unknown = [language for language in (*questions, *answers) if language not in LANGUAGES]
    if unknown or not questions or set(questions) != set(answers):
        raise fields.wrong(
            line, f"questions and answers need the same languages, out of {', '.join(LANGUAGES)}"
        )
    place = line.row.get("row", number)
    if not isinstance(place, int) or isinstance(place, bool) or place < 0:
        raise fields.wrong(line, f"row is {place!r}, expected a whole number from 0")
    more = {name: line.row.get(name, "") for name in ("event_id", "topic", "difficulty")}
    return Row(
        fields.identifier(line, "question_id", fields.value(line, "question_id")),
        {name: fields.text(line, f"questions.{name}", each) for name, each in questions.items()},
        {name: fields.texts(line, f"answers.{name}", each) for name, each in answers.items()},
        place,
        **{name: fields.text(line, name, each) if each else "" for name, each in more.items()},
    )
