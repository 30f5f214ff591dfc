"""Which program a log is of: recognised by the kinds of its parts, not by names of columns alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange import answer_files
from metacog_pipeline.interchange.logs import batches, inspect_log, lm_eval, programs
from metacog_pipeline.interchange.record import Sample, at, listed, mapping, objects, parsed

#: Columns of the two generations of lighteval.
_LIGHTEVAL = {"doc", "model_response"}, {"full_prompt", "predictions", "choices"}


def samples_of(path: Path, trust: Sequence[str] = ()) -> Iterator[Sample] | None:
    """Return the samples of a log, None for a plain table; StudyError here or while samples are read, where it is damaged.

    With ``status`` in ``trust`` a run that did not finish is read as far as it came.
    """
    if path.suffix.lower() == ".eval":
        return inspect_log.read_eval(path, trust)
    try:
        kind = answer_files.kind_of(path)
        names = {*pq.read_schema(path).names} if kind == ".parquet" else set()
        content = answer_files.content(path) if kind in (".json", ".jsonl", ".ndjson") else b""
    except (StudyError, OSError, ValueError, pa.ArrowException):  # read as a table, which names what is wrong
        return None
    if any(each <= names for each in _LIGHTEVAL):
        return programs.lighteval(path, _rows(path))
    if kind == ".json":
        found = parsed(content, path) if content.lstrip()[:1] == b"{" else None
        return _of_object(path, found, trust) if isinstance(found, dict) else None
    with suppress(ValueError, RecursionError):
        first = json.loads(content.lstrip().partition(b"\n")[0])
        return _of_rows(path, _rows(path), first) if isinstance(first, dict) else None
    return None


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    for row in answer_files.AnswerFile(path):
        if row.broken is not None:
            what = f"line {row.number}: {row.broken}; cut off? nothing was kept; copy the file again"
            raise StudyError(f"{path}: {what}")
        yield row.cells


def _of_object(path: Path, found: dict[str, Any], trust: Sequence[str]) -> Iterator[Sample] | None:
    if isinstance(found.get("eval"), dict):
        return inspect_log.read(path, found, listed(found.get("samples")), trust)
    if isinstance(found.get("adapter_spec"), dict) and isinstance(found.get("request_states"), list):
        return programs.helm(path, found)
    rows = objects(at(found, "results", "results")) or objects(found.get("results"))
    if rows and (made := _of_rows(path, iter(rows), rows[0])) is not None:
        return made
    entries = found["details"] if isinstance(found.get("details"), dict) else found
    first = mapping(entries.get("0"))
    if isinstance(first.get("origin_prompt", first.get("prompt")), str | list):
        # details have the name of their type beside them
        return programs.opencompass(path, {n: mapping(each) for n, each in entries.items() if n.isdecimal()})
    return None


def _of_rows(
    path: Path, rows: Iterator[Mapping[str, Any]], first: Mapping[str, Any]
) -> Iterator[Sample] | None:
    if {"doc_id", "doc", "resps"} <= {*first}:
        return lm_eval.read(path, rows)
    if {"evaluation_id", "sample_id", "evaluation"} <= {*first}:
        return programs.every_eval(path, rows)
    if at(first, "spec", "eval_name") is not None:
        return programs.oaieval(path, rows)
    if {"promptIdx", "provider", "vars"} <= {*first} and {"response", "error"} & {*first}:
        return programs.promptfoo(path, rows)
    provider = batches.provider_of(first)
    return None if provider is None else batches.read(path, rows, provider)
