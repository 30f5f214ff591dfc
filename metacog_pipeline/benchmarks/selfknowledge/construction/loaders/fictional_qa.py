"""FictionalQA (Kirchenbauer et al. 2025, arXiv:2506.05639), configuration ``fict_qa``: facts that were made up.

Questions that repeat another (``duplicate_relationship`` is not null) are left out; ``natural_answer`` is accepted.
"""

from __future__ import annotations

from pathlib import Path

from metacog_pipeline.benchmarks.selfknowledge.construction import fields
from metacog_pipeline.benchmarks.selfknowledge.construction.loaders.reading import Loaded, read_published
from metacog_pipeline.benchmarks.selfknowledge.construction.rows import Row, unique_ids
from metacog_pipeline.errors import SourceError
from metacog_pipeline.sources import Line

_COLUMNS = ("question_id", "event_id", "question", "natural_answer", "duplicate_relationship")


def load(path: Path) -> Loaded:
    """Read the file; the number of a row counts the repeated ones."""
    lines = read_published(path, _COLUMNS)
    kept = [
        (number, line)
        for number, line in enumerate(lines)
        if fields.value(line, "duplicate_relationship") is None
    ]
    if not kept:
        raise SourceError(f"{path}: every question repeats another; replace the file")
    rows = [_row(line, number) for number, line in kept]
    return Loaded(tuple(unique_ids(rows, [line for _, line in kept])), "fictional_qa")


def _row(line: Line, number: int) -> Row:
    return Row(
        fields.identifier(line, "question_id", fields.value(line, "question_id")),
        {"en": fields.text(line, "question", fields.value(line, "question"))},
        {"en": (fields.text(line, "natural_answer", fields.value(line, "natural_answer")),)},
        number,
        event_id=fields.identifier(line, "event_id", fields.value(line, "event_id")),
    )
