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
from metacog_pipeline.interchange.record import Sample, at, listed, mapping, objects, parsed

_LIGHTEVAL = (
    {"doc", "model_response"},
    {"full_prompt", "predictions", "choices"},
)  # columns of its two generations


def samples_of(path: Path, trust: Sequence[str] = ()) -> Iterator[Sample] | None:
    """Return the samples of a log; None for a file that is none, such as a plain table.

    With ``status`` in ``trust`` a run that did not finish is read as far as it came. Raises ``StudyError`` here or while
    samples are read, where a log is damaged or cannot be read.
    """
    if path.suffix.lower() == ".eval":
        return inspect_log.read_eval(path, trust)
    try:
        kind = answer_files.kind_of(path) if path.is_file() else ""
        names = {*pq.read_schema(path).names} if kind == ".parquet" else set()
        if any(each <= names for each in _LIGHTEVAL):
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
    if isinstance(found.get("adapter_spec"), dict) and isinstance(found.get("request_states"), list):
        return programs.helm(path, found)
    inner = found.get("results")
    tests = objects(inner.get("results") if isinstance(inner, dict) else inner)
    if tests and _is_promptfoo(tests[0]):
        return programs.promptfoo(path, tests, found.get("config"))
    entries = found["details"] if isinstance(found.get("details"), dict) else found
    numbered = {str(name): mapping(each) for name, each in entries.items() if str(name).isdecimal()}
    first = next(iter(numbered.values()), {})
    asks = isinstance(first.get("origin_prompt", first.get("prompt")), str | list)
    if asks and len(numbered) >= len(entries) - 1:  # details have the name of their type beside them
        return programs.opencompass(path, numbered)
    if (rows := batches.inlined(found)) is not None:
        return batches.read(path, iter(rows), rows[0])
    if {"evaluation_id", "evaluation_results"} <= set(found):
        one = "import the .jsonl of single results that belongs to it"
        raise StudyError(f"{path}: holds scores of whole tasks only; {one}")
    return None


def _is_promptfoo(row: dict[str, Any]) -> bool:
    return {"promptIdx", "provider", "vars"} <= {*row} and ("response" in row or "error" in row)


def _of_lines(path: Path, content: bytes) -> Iterator[Sample] | None:
    from metacog_pipeline.interchange.logs import batches

    rows = _lines(path, content)
    try:
        first = next(rows)
    except (StopIteration, StudyError):  # read as a table, which names what is wrong
        return None
    every = chain([first], rows)
    if {"doc_id", "doc", "resps"} <= {*first}:
        return lm_eval.read(path, every)
    if {"evaluation_id", "sample_id", "evaluation"} <= {*first}:
        return programs.every_eval(path, every)
    if at(first, "spec", "eval_name") is not None:
        return programs.oaieval(path, every)
    return programs.promptfoo(path, every) if _is_promptfoo(first) else batches.read(path, every, first)


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
