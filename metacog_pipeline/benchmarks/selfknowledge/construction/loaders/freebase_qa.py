"""FreebaseQA (Jiang, Wu and Jiang 2019, N19-1028): every answer's name of every parse is accepted, each once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from metacog_pipeline.benchmarks.selfknowledge.construction import fields
from metacog_pipeline.benchmarks.selfknowledge.construction.loaders.reading import Loaded, read_published
from metacog_pipeline.benchmarks.selfknowledge.construction.rows import Row, unique_ids
from metacog_pipeline.sources import Line

_COLUMNS = ("Question-ID", "RawQuestion", "Parses")


def load(path: Path) -> Loaded:
    """Read the file; names that are empty are passed over."""
    lines = read_published(path, _COLUMNS, within=("Questions",))
    rows = [_row(line, number) for number, line in enumerate(lines)]
    return Loaded(tuple(unique_ids(rows, lines)), "freebase_qa")


def _row(line: Line, number: int) -> Row:
    return Row(
        fields.identifier(line, "Question-ID", fields.value(line, "Question-ID")),
        {"en": fields.text(line, "RawQuestion", fields.value(line, "RawQuestion"))},
        {"en": fields.distinct(_names(line))},
        number,
    )


def _names(line: Line) -> Iterator[str]:
    for parse in fields.items(line, "Parses", fields.value(line, "Parses")):
        inside = Line(line.file, line.number, fields.mapping(line, "a parse", parse))
        for answer in fields.items(line, "Answers", fields.value(inside, "Answers")):
            held = Line(line.file, line.number, fields.mapping(line, "an answer", answer))
            for name in fields.items(line, "AnswersName", fields.value(held, "AnswersName")):
                if name is not None and name != "":
                    yield fields.text(line, "AnswersName", name)
