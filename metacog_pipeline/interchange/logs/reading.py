"""Which program a log is of: recognised by the kinds of its parts, not by names of columns alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange import answer_files
from metacog_pipeline.interchange.answer_files import AnswerFile
from metacog_pipeline.interchange.logs import batches, inspect_log, programs
from metacog_pipeline.interchange.record import Row, Sample, at, listed, mapping, objects, parsed

#: Names that a line or a row of a program has.
_LINES = (
    ({"doc", "model_response"}, programs.lighteval),
    ({"full_prompt", "predictions", "choices"}, programs.lighteval),
    ({"doc_id", "doc", "resps"}, programs.lm_eval),
    ({"evaluation_id", "sample_id", "evaluation"}, programs.every_eval),
    ({"promptIdx", "provider", "vars"}, programs.promptfoo),
)


def samples_of(path: Path, trust: Sequence[str] = ()) -> Iterator[Sample] | None:
    """Return the samples of a log, None for a plain table; StudyError here or while samples are read, where it is damaged.

    With ``status`` in ``trust`` a run that did not finish is read as far as it came.
    """
    if path.suffix.lower() == ".eval":
        return inspect_log.read_eval(path, trust)
    try:
        kind = answer_files.kind_of(path)
        if kind == ".json":
            found = parsed(answer_files.content(path), path)
            return _of_object(path, found, trust) if isinstance(found, dict) else None
        if kind in (".csv", ".tsv"):
            return None  # no program writes these, and a long one is not read for nothing
        rows = AnswerFile(path)
    except StudyError:  # read as a table, which names what is wrong
        return None
    return _of_rows(path, _whole(rows), next(iter(rows)).cells)


def _whole(rows: AnswerFile) -> Iterator[Row]:
    for row in rows:
        if row.broken is not None:
            what = f"line {row.number}: {row.broken}; cut off? nothing was kept; copy the file again"
            raise StudyError(f"{rows.path}: {what}")
        yield row.cells


def _of_object(path: Path, found: dict[str, Any], trust: Sequence[str]) -> Iterator[Sample] | None:
    if isinstance(found.get("eval"), dict):
        return inspect_log.read(path, found, listed(found.get("samples")), trust)
    if isinstance(found.get("adapter_spec"), dict) and isinstance(found.get("request_states"), list):
        return programs.helm(path, found)
    entries = found["details"] if isinstance(found.get("details"), dict) else found
    first = mapping(entries.get("0"))
    if isinstance(first.get("origin_prompt", first.get("prompt")), str | list):
        # details have the name of their type beside them
        return programs.opencompass(path, {n: mapping(each) for n, each in entries.items() if n.isdecimal()})
    rows = objects(at(found, "results", "results") or found.get("results"))
    return _of_rows(path, iter(rows), rows[0]) if rows else None


def _of_rows(path: Path, rows: Iterator[Row], first: Row) -> Iterator[Sample] | None:
    for names, read in _LINES:
        if names <= {*first}:
            return read(path, rows)
    if at(first, "spec", "eval_name") is not None:
        return programs.oaieval(path, rows)
    provider = batches.provider_of(first)
    return None if provider is None else batches.read(path, rows, provider)
