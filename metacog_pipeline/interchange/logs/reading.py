"""Which program a log is of, told by its name and its first lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange import answer_files
from metacog_pipeline.interchange.logs import every_eval, harness, helm, inspect_log, oaieval, promptfoo
from metacog_pipeline.interchange.logs.sample import Sample, parsed

#: One of them stands in each log that is one JSON object; other files are not parsed to find out.
_MARKS = (b'"eval"', b'"evaluation_results"', b'"request_states"', b'"promptIdx"')


def samples_of(path: Path, trust: Sequence[str] = ()) -> Iterator[Sample] | None:
    """Return the samples of a log; None for a file that is none, such as a plain table.

    With ``status`` in ``trust`` a run that did not finish is read as far as it came. Raises ``StudyError`` here or while
    samples are read, where a log is damaged or cannot be read.
    """
    if path.suffix.lower() == ".eval":
        return inspect_log.read_eval(path, trust)
    if not path.is_file() or (kind := _kind(path)) not in (".json", ".jsonl", ".ndjson"):
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


def _of_lines(path: Path, content: bytes) -> Iterator[Sample] | None:
    rows = harness.lines(path, content)
    try:
        first = next(rows)
    except (StopIteration, StudyError):  # read as a table, which names what is wrong
        return None
    every = chain([first], rows)
    if harness.is_row(first):
        return harness.read(path, every)
    if every_eval.is_row(first):
        return every_eval.read(path, every)
    if oaieval.is_head(first):
        return oaieval.read(path, every)
    if promptfoo.is_row(first):
        return promptfoo.read(path, every)
    from metacog_pipeline.interchange.logs import (
        batch_output,  # knows batches as they are submitted, HTTP and all
    )

    if batch_output.asks(first):
        raise StudyError(
            f"{path}: holds what was asked in a batch, no replies; import the file of its results"
        )
    provider = batch_output.provider_of(first)
    return None if provider is None else batch_output.read(path, every, provider)
