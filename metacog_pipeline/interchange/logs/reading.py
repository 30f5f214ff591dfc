"""Which program a log is of: recognised by the kinds of its parts, not by names of columns alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange import answer_files, parquet_bounds
from metacog_pipeline.interchange.logs import (
    every_eval,
    helm,
    inspect_log,
    lighteval,
    lm_eval,
    oaieval,
    open_compass,
    promptfoo,
)
from metacog_pipeline.interchange.record import Sample, parsed

#: One of them stands in each log that is one JSON object; other files are not parsed to find out.
_MARKS = (
    b'"eval"',
    b'"evaluation_results"',
    b'"request_states"',
    b'"promptIdx"',
    b'"origin_prompt"',
    b'"prediction"',
    b'"inlinedResponses"',
    b'"inlined_responses"',
)


def samples_of(path: Path, trust: Sequence[str] = ()) -> Iterator[Sample] | None:
    """Return the samples of a log; None for a file that is none, such as a plain table.

    With ``status`` in ``trust`` a run that did not finish is read as far as it came. Raises ``StudyError`` here or while
    samples are read, where a log is damaged or cannot be read.
    """
    if path.suffix.lower() == ".eval":
        return inspect_log.read_eval(path, trust)
    kind = _kind(path) if path.is_file() else ""
    if kind == ".parquet":
        return _of_parquet(path)
    if kind not in (".json", ".jsonl", ".ndjson"):
        return None
    content = answer_files.content(path)
    if kind == ".json":
        head = content.lstrip()[:1] == b"{" and any(each in content for each in _MARKS)
        found = parsed(content, str(path)) if head else None
        if not isinstance(found, dict):
            return None
        if isinstance(found.get("eval"), dict):
            return inspect_log.read_json(path, content, trust)
        if helm.is_state(found):
            return helm.read(path, found)
        if (results := promptfoo.results_of(found)) is not None:
            return promptfoo.read(path, results, found.get("config"))
        if (entries := open_compass.rows_of(found)) is not None:
            return open_compass.read(path, entries)
        if (rows := _batches().inlined(found)) is not None:
            return _of_batch(path, rows[0], iter(rows))
        if not every_eval.is_summary(found):
            return None
        path = every_eval.beside(path, found)
        content = answer_files.content(path)
    return _of_lines(path, content)


def _kind(path: Path) -> str:
    try:
        return answer_files.kind_of(path)
    except StudyError:
        return ""


def _of_parquet(path: Path) -> Iterator[Sample] | None:
    try:
        names = parquet_bounds.names_of(path)
    except (OSError, ValueError, pa.ArrowException):
        return None
    if not lighteval.is_table(names):
        return None
    return lighteval.read(path, (row.cells for row in answer_files.AnswerFile(path)))


def _of_lines(path: Path, content: bytes) -> Iterator[Sample] | None:
    rows = lm_eval.lines(path, content)
    try:
        first = next(rows)
    except (StopIteration, StudyError):  # read as a table, which names what is wrong
        return None
    every = chain([first], rows)
    if lm_eval.is_row(first):
        return lm_eval.read(path, every)
    if every_eval.is_row(first):
        return every_eval.read(path, every)
    if oaieval.is_head(first):
        return oaieval.read(path, every)
    if promptfoo.is_row(first):
        return promptfoo.read(path, every)
    return _of_batch(path, first, every)


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
