"""NQ-Open (Lee, Chang and Toutanova 2019, P19-1612) and EfficientQA (Min et al. 2021, arXiv:2101.00133)."""

from __future__ import annotations

from pathlib import Path

from metacog_pipeline.benchmarks.selfknowledge.construction import fields
from metacog_pipeline.benchmarks.selfknowledge.construction.loaders.reading import Loaded, read_published
from metacog_pipeline.benchmarks.selfknowledge.construction.rows import english


def load(path: Path) -> Loaded:
    """Read the file; the id of a question is its row."""
    lines = read_published(path, ("question", "answer"))
    rows = [
        english(line, number, fields.value(line, "question"), fields.value(line, "answer"))
        for number, line in enumerate(lines)
    ]
    return Loaded(tuple(rows), "nq_open")
