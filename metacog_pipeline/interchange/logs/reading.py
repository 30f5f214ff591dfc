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
from metacog_pipeline.interchange.logs import (
    every_eval,
    helm,
    inspect_log,
    lighteval,
    lm_eval,
    oaieval,
    opencompass,
    promptfoo,
)
from metacog_pipeline.interchange.record import Sample, parsed

#: What a line of a program looks like, and what reads all of them.
_OF_LINES = (
    (lm_eval.is_row, lm_eval.read),
    (every_eval.is_every_eval, every_eval.read),
    (oaieval.is_oaieval, oaieval.read),
    (promptfoo.is_promptfoo, promptfoo.read),
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
    except StudyError:
        kind = ""
    if kind == ".parquet":
        return _of_parquet(path)
    if kind not in (".json", ".jsonl", ".ndjson"):
        return None
    content = answer_files.content(path)
    if kind != ".json":
        return _of_lines(path, content)
    found = parsed(content, str(path)) if content.lstrip()[:1] == b"{" else None
    return _of_object(path, found, trust) if isinstance(found, dict) else None


def _of_object(path: Path, found: dict[str, Any], trust: Sequence[str]) -> Iterator[Sample] | None:
    if isinstance(found.get("eval"), dict):
        return inspect_log.read_json(path, found, trust)
    if helm.is_helm(found):
        return helm.read(path, found)
    if (results := promptfoo.results(found)) is not None:
        return promptfoo.read(path, results, found.get("config"))
    if (entries := opencompass.entries(found)) is not None:
        return opencompass.read(path, entries)
    if (rows := _batches().inlined(found)) is not None:
        return _of_batch(path, rows[0], iter(rows))
    if (detailed := every_eval.detailed(path, found)) is not None:
        return _of_lines(detailed, answer_files.content(detailed))
    return None


def _of_parquet(path: Path) -> Iterator[Sample] | None:
    try:
        names = pq.read_schema(path).names
    except (OSError, ValueError, pa.ArrowException):
        return None
    rows = (row.cells for row in answer_files.AnswerFile(path)) if lighteval.is_lighteval(names) else None
    return None if rows is None else lighteval.read(path, rows)


def _of_lines(path: Path, content: bytes) -> Iterator[Sample] | None:
    rows = _lines(path, content)
    try:
        first = next(rows)
    except (StopIteration, StudyError):  # read as a table, which names what is wrong
        return None
    read = next((read for is_row, read in _OF_LINES if is_row(first)), None)
    every = chain([first], rows)
    return _of_batch(path, first, every) if read is None else read(path, every)


def _lines(path: Path, content: bytes) -> Iterator[dict[str, Any]]:
    """Yield the objects of JSON Lines; StudyError with its number for a line that is none."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise StudyError(
                f"{path}: line {number} is no JSON object; cut off? nothing was kept; copy the file again"
            )
        yield row


def _of_batch(path: Path, first: dict[str, Any], rows: Iterator[dict[str, Any]]) -> Iterator[Sample] | None:
    batches = _batches()
    if batches.asks(first):
        raise StudyError(
            f"{path}: holds what was asked in a batch, no replies; import the file of its results"
        )
    if batches.of_nobody(first):
        raise StudyError(
            f"{path}: holds responses of Gemini that do not say which request they answer; nothing was kept; give each "
            "request a metadata.key, the id of its question, and keep it with its response"
        )
    provider = batches.provider_of(first)
    return None if provider is None else batches.read(path, rows, provider)


def _batches() -> Any:
    from metacog_pipeline.interchange.logs import batches  # knows batches as they are submitted, HTTP and all

    return batches
