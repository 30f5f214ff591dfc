"""Which program a log is of: recognised by the kinds of its parts, not by names of columns alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange import answer_files
from metacog_pipeline.interchange.logs import inspect_log, lm_eval, programs
from metacog_pipeline.interchange.record import Sample, listed, parsed

#: What a line of a program looks like, and what reads all of them.
_OF_LINES = (
    (lm_eval.is_row, lm_eval.read),
    (programs.is_every_eval, programs.every_eval),
    (programs.is_oaieval, programs.oaieval),
    (programs.is_promptfoo, programs.promptfoo),
)


def samples_of(path: Path, trust: Sequence[str] = ()) -> Iterator[Sample] | None:
    """Return the samples of a log; None for a file that is none, such as a plain table.

    With ``status`` in ``trust`` a run that did not finish is read as far as it came. Raises ``StudyError`` here or while
    samples are read, where a log is damaged or cannot be read.
    """
    if path.suffix.lower() == ".eval":
        return inspect_log.read_eval(path, trust)
    try:
        kind = answer_files.kind_of(path) if path.is_file() else ""
        if kind == ".parquet" and programs.is_lighteval(pq.read_schema(path).names):
            return programs.lighteval(path, (row.cells for row in answer_files.AnswerFile(path)))
    except (StudyError, OSError, ValueError, pa.ArrowException):  # read as a table, which names what is wrong
        return None
    if kind not in (".json", ".jsonl", ".ndjson"):
        return None
    content = answer_files.content(path)
    if kind != ".json":
        return _of_lines(path, content)
    found = parsed(content, str(path)) if content.lstrip()[:1] == b"{" else None
    return _of_object(path, found, trust) if isinstance(found, dict) else None


def _of_object(path: Path, found: dict[str, Any], trust: Sequence[str]) -> Iterator[Sample] | None:
    from metacog_pipeline.interchange.logs import batches  # knows batches as they are submitted, HTTP and all

    if isinstance(found.get("eval"), dict):
        return inspect_log.read(path, found, listed(found.get("samples")), trust)
    if programs.is_helm(found):
        return programs.helm(path, found)
    if (results := programs.of_promptfoo(found)) is not None:
        return programs.promptfoo(path, results, found.get("config"))
    if (entries := programs.of_opencompass(found)) is not None:
        return programs.opencompass(path, entries)
    if (rows := batches.inlined(found)) is not None:
        return batches.read(path, iter(rows), rows[0])
    if {"evaluation_id", "evaluation_results"} <= set(found):
        one = "import the .jsonl of single results that belongs to it"
        raise StudyError(f"{path}: holds scores of whole tasks only; {one}")
    return None


def _of_lines(path: Path, content: bytes) -> Iterator[Sample] | None:
    from metacog_pipeline.interchange.logs import batches

    rows = _lines(path, content)
    try:
        first = next(rows)
    except (StopIteration, StudyError):  # read as a table, which names what is wrong
        return None
    read = next((read for is_row, read in _OF_LINES if is_row(first)), None)
    every = chain([first], rows)
    return batches.read(path, every, first) if read is None else read(path, every)


def _lines(path: Path, content: bytes) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            what = f"line {number} is no JSON object; cut off? nothing was kept; copy the file again"
            raise StudyError(f"{path}: {what}")
        yield row
