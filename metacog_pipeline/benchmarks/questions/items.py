"""The questions of a study: those of the files it names, then those that came with imported logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmarks.questions.settings import SAMPLE
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import file_sha256
from metacog_pipeline.interchange import question_files
from metacog_pipeline.interchange.question import LETTERS as LETTERS
from metacog_pipeline.interchange.question import Question

NAME = "questions"
SHIPPED = Path(__file__).with_name("sample.jsonl")


class Item(Question):
    """A question of a file."""


def files_of(benchmark: Any) -> list[Path]:
    """Return the files the items are read from."""
    named = benchmark.settings.items
    own = [SHIPPED if each == SAMPLE else benchmark.context.beside(each) for each in named]
    return [*own, *sorted(benchmark.context.home.imported.glob("*.jsonl"))]


def digests(benchmark: Any) -> list[str]:
    """Return what the items depend on besides the settings."""
    return [file_sha256(path) if path.is_file() else "" for path in files_of(benchmark)]


def make(benchmark: Any, inputs: contract.Inputs) -> contract.Made:
    """Read every file."""
    if not (files := files_of(benchmark)):
        why = 'names no questions: give items = "my.jsonl", or import a log that has them'
        raise SourceError(f"[benchmarks.{NAME}] {why}")
    rows = question_files.load(files, Item)
    kinds = [item.kind for item in rows]
    return contract.Made(rows=rows, facts={kind: kinds.count(kind) for kind in dict.fromkeys(kinds)})


STEPS = (contract.Step("items", "The questions of the study's files.", make, writes=Item, inputs=digests),)
