"""WebQuestions (Berant et al. 2013, D13-1160), as the hub has it (``hub``) or as YodaQA's authors keep it (``brmson``).

A ``url`` names the page a question is about. Several questions share one, so it is no key.
"""

from __future__ import annotations

from pathlib import Path

from metacog_pipeline.benchmarks.selfknowledge.construction import fields
from metacog_pipeline.benchmarks.selfknowledge.construction.loaders.reading import Loaded, read_published
from metacog_pipeline.benchmarks.selfknowledge.construction.rows import Row, english, unique_ids
from metacog_pipeline.sources import Line

_COLUMNS = ("url", "question", "answers", "qId", "qText")


def load(path: Path) -> Loaded:
    """Read the file in the layout its first row has."""
    lines = read_published(path, _COLUMNS)
    if "qText" in lines[0].row:
        rows = [_brmson(line, number) for number, line in enumerate(lines)]
        return Loaded(tuple(unique_ids(rows, lines)), "brmson")
    return Loaded(tuple(_hub(line, number) for number, line in enumerate(lines)), "hub")


def _hub(line: Line, number: int) -> Row:
    url = line.row.get("url")
    name = "" if url is None else fields.text(line, "url", url)
    return english(line, number, fields.value(line, "question"), fields.value(line, "answers"), name)


def _brmson(line: Line, number: int) -> Row:
    name = fields.identifier(line, "qId", fields.value(line, "qId"))
    return english(line, number, fields.value(line, "qText"), fields.value(line, "answers"), name)
