"""Logs of inspect_ai: ``.eval`` (a zip of JSON files, one per sample) and ``.json``.

They are read here and not by inspect_ai, which makes every event of every sample an object: of a sample only what stands
before its events is decoded. Nothing is unpacked to disk, and no entry may be larger than `LARGEST`.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
from pydantic_core import SchemaValidator, core_schema

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.record import Sample
from metacog_pipeline.llm.types import Completion, Status, Usage

LARGEST = 512 * 1024 * 1024  # bytes of one entry, unpacked
MOST = 64 * 1024**3  # bytes of all entries that are read, unpacked
_HEAD, _EXTRA = 30, 64  # bytes of an entry's own header, and of what may stand behind its name
_ZSTD, _DEFLATED, _STORED = 93, zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED
_SAMPLE = re.compile(r"samples/.+\.json")
#: Scorers that compare a short answer or a letter, as our readers do; of others the log's own verdict counts.
_READABLE = {"choice", "match", "includes", "exact", "answer", "pattern", "f1"}
_NO_MODEL = "none/none"  # of a task whose solver names its models itself
#: What is read of a sample. Of all else, its events above all, no object is made: that takes a fourth of the time.
_FIELDS = [
    *("id", "epoch", "input", "choices", "target", "messages", "output", "scores"),
    *("error", "limit", "started_at", "invalidation"),
]
_read = SchemaValidator(
    core_schema.typed_dict_schema(
        {name: core_schema.typed_dict_field(core_schema.any_schema(), required=False) for name in _FIELDS}
    )
).validate_json
_STATUS = {"content_filter": Status.REFUSED, "max_tokens": Status.TRUNCATED, "model_length": Status.TRUNCATED}


def read_eval(path: Path, trust: Sequence[str] = ()) -> Iterator[Sample]:
    """Yield the samples of an ``.eval`` file; StudyError where it is cut off, did not finish, or is none."""
    told: Header | None = None
    summaries: Mapping[tuple[Any, Any], Any] = {}
    for name, data in entries(path, about=True):
        where = f"{path}: {name}"
        if name == "header.json":
            told = Header(path, record.parsed(data, where), trust)
        elif name == "summaries.json":
            summaries = _summaries(record.parsed(data, where))
        else:
            assert told is not None
            yield _sample(told, data, summaries, where)
    if told is not None:
        yield from told.lacking()


def entries(path: Path, *, about: bool = False) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each sample of an ``.eval`` file; with ``about`` first its header and summaries.

    Raises ``StudyError`` where the file is cut off, no log, or unpacks to more than is read.
    """
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            found = {entry.filename: entry for entry in archive.infolist()}
            names = sorted(name for name in found if _SAMPLE.fullmatch(name))
            first = [name for name in ("header.json", "summaries.json") if about and name in found]
            read = [name for name in (*names, "header.json") if name in found]
            large = [name for name in read if found[name].file_size > LARGEST]
            if large or sum(found[name].file_size for name in names) > MOST:
                raise StudyError(
                    f"{path}: {(large or names)[0]} unpacks to more than is read; nothing was kept"
                )
            if "header.json" not in found:
                raise StudyError(
                    f"{path}: the run did not finish (no header.json); nothing was kept; run it to its end"
                )
            for name in (*(each for each in first if found[each].file_size <= LARGEST), *names):
                yield name, _content(path, file, found[name])
    except zipfile.BadZipFile:
        raise StudyError(
            f"{path}: cut off, or no log of inspect_ai; nothing was kept; copy the file again"
        ) from None
    except OSError as error:
        raise StudyError(f"{path}: cannot be read: {error.strerror or error}") from None


def read_json(path: Path, content: bytes, trust: Sequence[str] = ()) -> Iterator[Sample]:
    """Yield the samples of a log in one JSON object."""
    whole = record.parsed(content, str(path))
    told = Header(path, whole, trust)
    for each in record.listed(whole.get("samples")):
        yield told.sample(each if isinstance(each, dict) else {})
    yield from told.lacking()


class Header:
    """What a log says of all its samples."""

    def __init__(self, path: Path, header: Any, trust: Sequence[str] = ()) -> None:
        about = header.get("eval") if isinstance(header, dict) else None
        if not isinstance(about, dict):
            raise StudyError(f"{path}: no log of inspect_ai: its header names no task; nothing was kept")
        status = str(header.get("status") or "success")
        if status != "success" and "status" not in trust:
            raise StudyError(
                f"{path}: the run did not finish (status {one_line(status, 20)}); nothing was kept; run it to its end with "
                "`inspect eval-retry`, or take the samples it has with --trust status"
            )
        self._there = set[tuple[str, int]]()
        self._asked = record.whole(record.mapping(header.get("results")).get("total_samples")) or 0
        self._epochs = record.whole(record.mapping(about.get("config")).get("epochs")) or 1
        self._ids = record.listed(record.mapping(about.get("dataset")).get("sample_ids"))
        self.task = one_line(str(about.get("task") or path.stem), 80)
        self.model = "" if about.get("model") == _NO_MODEL else str(about.get("model") or "")
        self.version = str(about.get("task_version") or 0)
        plan = record.mapping(header.get("plan"))
        config = record.mapping(about.get("model_generate_config")) | record.mapping(plan.get("config"))
        told = ("temperature", "seed", "top_p", "max_tokens")
        self.settings: dict[str, Any] = {name: config[name] for name in told if name in config}
        self.settings["log"] = str(about.get("eval_id") or path.name)
        self.settings["created"] = str(about.get("created") or "")
        scorers = record.objects(about.get("scorers"))
        self.read = not scorers or any(_compares(each.get("name")) for each in scorers)

    def lacking(self) -> Iterator[Sample]:
        """Yield what the header counts and the log, whose samples were all read, does not hold."""
        there = self._there
        if not there or len(there) >= self._asked:
            return
        places = [(str(each), epoch) for each in self._ids for epoch in range(1, self._epochs + 1)]
        if len(places) == self._asked:
            for name, run in places:
                if (name, run) not in there:
                    yield record.nothing(name, self.task, self.model, "is not in the log", run)
        else:
            why = f"{self._asked - len(there)} of the {self._asked} samples of its run are not in the log"
            yield record.nothing("some", self.task, self.model, why)

    def sample(self, found: Mapping[str, Any]) -> Sample:
        """Return what one sample says."""
        name, run = str(found.get("id")), record.whole(found.get("epoch")) or 1
        self._there.add((name, run))
        if found.get("invalidation"):
            why = "its author took the sample back (invalidation)"
            return record.nothing(name, self.task, self.model, why, run)
        if error := found.get("error"):
            message = error.get("message") if isinstance(error, dict) else error
            why = f"ended with an error: {one_line(str(message), 80)}"
            return record.nothing(name, self.task, self.model, why, run)
        output = record.mapping(found.get("output"))
        choice = next(iter(record.listed(output.get("choices"))), None)
        if not isinstance(choice, dict):
            limit = found.get("limit")
            kind = limit.get("type") if isinstance(limit, dict) else limit
            why = "has no answer" + (f": stopped at its limit ({one_line(str(kind), 20)})" if kind else "")
            return record.nothing(name, self.task, self.model, why, run)
        target = found.get("target")
        answers = list(target) if isinstance(target, list) else [target]
        if isinstance(options := found.get("choices"), list):  # a target is a letter then
            answers = [record.lettered(each, options) if isinstance(each, str) else each for each in answers]
        text, images = _text_of(found.get("input"))
        messages = record.objects(found.get("messages"))
        last = record.mapping(choice.get("message"))
        tools = any(each.get("tool_calls") for each in (*messages, last))
        return Sample(
            name, self.task, str(output.get("model") or self.model) if not self.model else self.model,
            _completion(output, choice, found), version=self.version, run=run, settings=self.settings,
            question=record.question_cells(text, found.get("choices"), answers, read=self.read),
            right=_right(found.get("scores")),
            unscored="calls a tool" if tools else "shows a picture or another file" if images else None,
        )  # fmt: skip


def _sample(told: Header, data: bytes, summaries: Mapping[tuple[Any, Any], Any], where: str) -> Sample:
    cut = (
        data.find(b'"events":') if summaries else 0
    )  # without summaries an error may stand behind the events
    found = record.parsed(data[:cut], where, partial=True) if cut > 0 else _decoded(data, where)
    if not isinstance(found, dict):
        raise StudyError(f"{where}: no sample of inspect_ai; nothing was kept")
    summary = summaries.get((found.get("id"), found.get("epoch")))
    if cut > 0 and (summary is None or "output" not in found):  # or its own fields are called events
        found = _decoded(data, where)
    return told.sample({**(summary or {}), **found})


def _decoded(data: bytes, where: str) -> Any:
    """Return the fields of a sample that are read; what is no object as it is. StudyError for what is no JSON."""
    try:
        return _read(data)
    except ValueError:
        return record.parsed(data, where)  # which says what is wrong


def _summaries(rows: Any) -> dict[tuple[Any, Any], Any]:
    """Return what stands behind the events of each sample: its error, its dates."""
    kept = ("error", "limit", "started_at", "completed_at", "invalidation")
    return {
        (row.get("id"), row.get("epoch")): {name: row[name] for name in kept if row.get(name)}
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, dict)
    }


def _content(path: Path, file: BinaryIO, entry: zipfile.ZipInfo) -> bytes:
    """Return an entry, unpacked to the size it names and no further."""
    near = _HEAD + len(entry.filename.encode()) + _EXTRA + entry.compress_size  # nearly always all of it
    file.seek(entry.header_offset)
    found = file.read(near)
    if len(found) < _HEAD or found[:4] != b"PK\x03\x04":
        raise zipfile.BadZipFile
    names, extra = struct.unpack("<HH", found[_HEAD - 4 : _HEAD])
    begin, end = _HEAD + names + extra, _HEAD + names + extra + entry.compress_size
    packed = memoryview(found if end <= near else found + file.read(end - near))[begin:end]
    try:
        if entry.compress_type == _STORED:
            data = bytes(packed)
        elif entry.compress_type == _DEFLATED:
            data = zlib.decompressobj(-15).decompress(packed, entry.file_size + 1)
        elif entry.compress_type == _ZSTD:
            data = pa.decompress(packed, decompressed_size=entry.file_size, codec="zstd", asbytes=True)
        else:
            raise StudyError(
                f"{path}: packed in a way that is not known ({entry.compress_type}); nothing was kept"
            )
    except (zlib.error, pa.ArrowException, OSError):
        data = b""
    if len(data) != entry.file_size or zlib.crc32(data) != entry.CRC:
        raise StudyError(f"{path}: {entry.filename} is damaged; nothing was kept; copy the file again")
    return data


def _completion(output: Mapping[str, Any], choice: Mapping[str, Any], found: Mapping[str, Any]) -> Completion:
    message = record.mapping(choice.get("message"))
    said = output.get("completion")
    text = said if isinstance(said, str) else _text_of(message.get("content"))[0]
    usage = record.mapping(output.get("usage"))
    finish = str(choice.get("stop_reason") or "") or None
    logs = record.mapping(choice.get("logprobs"))
    counts = ("input_tokens", "output_tokens", "reasoning_tokens")
    return Completion(
        _STATUS.get(finish or "", Status.OK), text, finish, str(output.get("model") or "") or None,
        Usage(*(record.whole(usage.get(name)) for name in counts)), record.amount(usage.get("total_cost")),
        record.tokens_of(logs.get("content")), started_at=record.moment(found.get("started_at")),
        latency_s=record.amount(output.get("time")) or 0.0,
    )  # fmt: skip


def _text_of(content: Any) -> tuple[str, bool]:
    """Return the text of a message, of parts, or of the user's messages, and whether there is more than text."""
    if isinstance(content, str):
        return content, False
    texts, more = [], False
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and "role" in part:
            text, other = _text_of(part.get("content"))
            texts += [text] if part["role"] == "user" else []
            more = more or other
        elif isinstance(part, dict) and part.get("type") in ("text", None):
            texts.append(str(part.get("text") or ""))
        elif not (isinstance(part, dict) and part.get("type") == "reasoning"):
            more = True
    return "\n".join(each for each in texts if each), more


def _compares(scorer: Any) -> bool:
    """Whether a scorer holds the reply against a short answer or a letter."""
    return str(scorer).rpartition("/")[2] in _READABLE


def _right(scores: Any) -> bool | None:
    """Return the first verdict; of a scorer that compares answers before others, which may measure the reply's length."""
    named = record.mapping(scores)
    for name in sorted(named, key=lambda each: not _compares(each)):
        found = record.verdict(record.mapping(named[name]).get("value"))
        if found is not None:
            return found
    return None
