"""Which program a log is of: recognised by the kinds of its parts, not by names of columns alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange import answer_files
from metacog_pipeline.interchange.logs import harnesses, inspect_log, lm_eval, runners
from metacog_pipeline.interchange.record import Sample, parsed

#: What a line of a program looks like, and what reads all of them.
_OF_LINES = (
    (lm_eval.is_row, lm_eval.read),
    (runners.is_every_eval, runners.read_every_eval),
    (runners.is_oaieval, runners.read_oaieval),
    (runners.is_promptfoo, runners.read_promptfoo),
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
    if not isinstance(found, dict):
        return None
    if isinstance(found.get("eval"), dict):
        return inspect_log.read_json(path, found, trust)
    if harnesses.is_helm(found):
        return harnesses.read_helm(path, found)
    if (results := runners.promptfoo_results(found)) is not None:
        return runners.read_promptfoo(path, results, found.get("config"))
    if (entries := harnesses.opencompass_rows(found)) is not None:
        return harnesses.read_opencompass(path, entries)
    if (rows := _batches().inlined(found)) is not None:
        return _of_batch(path, rows[0], iter(rows))
    if (detailed := runners.every_eval_file(path, found)) is not None:
        return _of_lines(detailed, answer_files.content(detailed))
    return None


def _of_parquet(path: Path) -> Iterator[Sample] | None:
    try:
        names = pq.read_schema(path).names
    except (OSError, ValueError, pa.ArrowException):
        return None
    if not harnesses.is_lighteval(names):
        return None
    return harnesses.read_lighteval(path, (row.cells for row in answer_files.AnswerFile(path)))


def _of_lines(path: Path, content: bytes) -> Iterator[Sample] | None:
    rows = lm_eval.lines(path, content)
    try:
        first = next(rows)
    except (StopIteration, StudyError):  # read as a table, which names what is wrong
        return None
    read = next((read for is_row, read in _OF_LINES if is_row(first)), None)
    every = chain([first], rows)
    return _of_batch(path, first, every) if read is None else read(path, every)


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
