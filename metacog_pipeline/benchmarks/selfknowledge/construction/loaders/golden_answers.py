"""Samples of TriviaQA and of PopQA (Mallen et al. 2023, arXiv:2212.10511) with ``golden_answers``.

PopQA's rows also say which property is asked for (``metadata.prop``): the topic.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from metacog_pipeline.benchmarks.selfknowledge.construction import fields
from metacog_pipeline.benchmarks.selfknowledge.construction.loaders.reading import Loaded, read_published
from metacog_pipeline.benchmarks.selfknowledge.construction.rows import Row, english, unique_ids
from metacog_pipeline.sources import Line

_COLUMNS = ("id", "question", "golden_answers", "metadata")


def load(path: Path) -> Loaded:
    """Read the file."""
    lines = read_published(path, _COLUMNS)
    rows = [_row(line, number) for number, line in enumerate(lines)]
    return Loaded(tuple(unique_ids(rows, lines)), "golden_answers")


def _row(line: Line, number: int) -> Row:
    name = fields.identifier(line, "id", fields.value(line, "id"))
    row = english(line, number, fields.value(line, "question"), fields.value(line, "golden_answers"), name)
    about = line.row.get("metadata")
    if about is None:
        return row
    asked_for = fields.mapping(line, "metadata", about).get("prop")
    return row if asked_for is None else replace(row, topic=fields.text(line, "metadata.prop", asked_for))
