"""TriviaQA (Joshi et al. 2017, arXiv:1705.03551), reading-comprehension part: ``answer.aliases`` are accepted.

The part joins questions with evidence from the web and from Wikipedia: one with both stands there twice, under one id.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from metacog_pipeline.benchmarks.selfknowledge.construction import fields
from metacog_pipeline.benchmarks.selfknowledge.construction.loaders.reading import Loaded, read_published
from metacog_pipeline.benchmarks.selfknowledge.construction.rows import Row
from metacog_pipeline.errors import SourceError
from metacog_pipeline.sources import Line

_COLUMNS = ("question_id", "question", "answer.aliases")


def load(path: Path) -> Loaded:
    """Read the file; refuse the test part, whose answers were never published."""
    lines = read_published(path, _COLUMNS, within=("Data",))
    if all(_is_question(line) for line in lines) and not any(_has_aliases(line) for line in lines):
        raise SourceError(
            f"{path}: no question has an answer, as in the test part of TriviaQA, whose answers are not published: nothing "
            "could be right and d′ is undefined; take the validation part"
        )
    rows = [_row(line, number) for number, line in enumerate(lines)]
    first: dict[str, Row] = {}
    for row, line in zip(rows, lines, strict=True):
        if first.setdefault(row.question_id, row).questions != row.questions:
            raise fields.wrong(line, f"the id {row.question_id!r} is that of another question already")
    return Loaded(tuple(rows), "authors" if "QuestionId" in lines[0].row else "hub")


def _is_question(line: Line) -> bool:
    return "question" in line.row or "Question" in line.row


def _has_aliases(line: Line) -> bool:
    answer: Any = line.row.get("answer", line.row.get("Answer"))
    return isinstance(answer, dict) and bool(answer.get("aliases", answer.get("Aliases")))


def _row(line: Line, number: int) -> Row:
    answer = fields.mapping(line, "answer", fields.value(line, "answer", "Answer"))
    inside = Line(line.file, line.number, answer)
    aliases = fields.texts(line, "answer.aliases", fields.value(inside, "aliases", "Aliases"))
    return Row(
        fields.identifier(line, "question_id", fields.value(line, "question_id", "QuestionId")),
        {"en": fields.text(line, "question", fields.value(line, "question", "Question"))},
        {"en": aliases},
        number,
    )
