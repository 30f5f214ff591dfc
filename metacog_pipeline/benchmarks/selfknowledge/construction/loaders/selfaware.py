"""SelfAware (Yin et al. 2023, arXiv:2305.18153): questions with an answer, and questions nobody can answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from metacog_pipeline.benchmarks.selfknowledge.construction import fields
from metacog_pipeline.benchmarks.selfknowledge.construction.loaders.reading import Loaded, read_published
from metacog_pipeline.benchmarks.selfknowledge.construction.rows import Row, english, unique_ids
from metacog_pipeline.sources import Line

_COLUMNS = ("question_id", "question", "answer", "answerable", "source")


def load(path: Path) -> Loaded:
    """Read the file; ``answer`` is null exactly where ``answerable`` is false."""
    lines = read_published(path, _COLUMNS, within=("example",))
    rows = [_row(line, number) for number, line in enumerate(lines)]
    return Loaded(tuple(unique_ids(rows, lines)), "selfaware")


def _row(line: Line, number: int) -> Row:
    answers, answerable = fields.value(line, "answer"), fields.value(line, "answerable")
    if not isinstance(answerable, bool) or answerable != bool(answers):
        raise fields.wrong(line, f"answerable is {answerable!r}, but the answer is {str(answers)[:40]!r}")
    name = fields.identifier(line, "question_id", fields.value(line, "question_id"))
    question = fields.value(line, "question")
    row = english(line, number, question, [] if answers is None else answers, name)
    origin = line.row.get("source")
    return row if origin is None else replace(row, topic=fields.text(line, "source", origin))
