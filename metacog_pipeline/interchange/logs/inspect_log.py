"""Logs of inspect_ai: ``.eval`` (a zip of JSON files, one per sample) and ``.json``.

They are read here and not by inspect_ai, which makes every event of every sample an object. Nothing is unpacked to disk,
and no entry may be larger than `LARGEST`.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.record import Sample, at, listed, mapping, objects
from metacog_pipeline.llm.types import Completion, Status
from metacog_pipeline.llm.wire import values

LARGEST = 512 * 1024 * 1024  # bytes of one entry, unpacked
MOST = 64 * 1024**3  # bytes of all entries that are read, unpacked
_ZSTD, _HEAD = 93, 30  # a packing that Python's zipfile does not know; bytes of an entry's own header
#: Scorers that compare a short answer or a letter, as our readers do; of others the log's own verdict counts.
_READABLE = {"choice", "match", "includes", "exact", "answer", "pattern", "f1"}
_NO_MODEL = "none/none"  # of a task whose solver names its models itself
_STATUS = {"content_filter": Status.REFUSED, "max_tokens": Status.TRUNCATED, "model_length": Status.TRUNCATED}
_SETTINGS = ("temperature", "seed", "top_p", "max_tokens")
_COUNTS = ("input_tokens", "output_tokens", "reasoning_tokens")


def read_eval(path: Path, trust: Sequence[str] = ()) -> Iterator[Sample]:
    """Yield the samples of an ``.eval`` file; StudyError where it is cut off, did not finish, or is none."""
    found = (record.parsed(data, f"{path}: {name}") for name, data in _entries(path))
    yield from read(path, next(found), found, trust)


def _entries(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the header of an ``.eval`` file, then of each of its samples."""
    try:
        with zipfile.ZipFile(path) as archive:
            found = {entry.filename: entry for entry in archive.infolist()}
            if "header.json" not in found:
                why = "the run did not finish (no header.json)"
                raise StudyError(f"{path}: {why}; nothing was kept; run it to its end")
            samples = (name for name in found if name.startswith("samples/") and name.endswith(".json"))
            names = ["header.json", *sorted(samples)]
            large = [name for name in names if found[name].file_size > LARGEST]
            if large or sum(found[name].file_size for name in names) > MOST:
                why = f"{(large or names)[0]} unpacks to more than is read"
                raise StudyError(f"{path}: {why}; nothing was kept")
            with path.open("rb") as file:
                for name in names:
                    yield name, unpacked(path, file, found[name])
    except zipfile.BadZipFile:
        why = "cut off, or no log of inspect_ai"
        raise StudyError(f"{path}: {why}; nothing was kept; copy the file again") from None
    except OSError as error:
        raise StudyError(f"{path}: cannot be read: {error.strerror or error}") from None


def unpacked(path: Path, file: BinaryIO, entry: zipfile.ZipInfo) -> bytes:
    """Return an entry of the open ``file``, unpacked to the size it names and no further."""
    try:
        file.seek(entry.header_offset)
        head = file.read(_HEAD)
        file.seek(sum(struct.unpack("<HH", head[_HEAD - 4 :])), 1)  # its name and what else is there
        data = file.read(min(entry.compress_size, LARGEST))
        if entry.compress_type == _ZSTD:
            data = pa.decompress(data, decompressed_size=entry.file_size, codec="zstd", asbytes=True)
        elif entry.compress_type == zipfile.ZIP_DEFLATED:
            data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, max(entry.file_size, 1))
        # frames of zstd need not hold a checksum of their own
        if zlib.crc32(data) == entry.CRC:
            return bytes(data)
    except (zlib.error, pa.ArrowException, OSError, struct.error):
        pass
    raise StudyError(f"{path}: {entry.filename} is damaged; nothing was kept; copy the file again")


def read(path: Path, header: Any, found: Iterable[Any], trust: Sequence[str] = ()) -> Iterator[Sample]:
    """Yield the samples ``found`` below a header."""
    about = at(header, "eval")
    if not isinstance(about, dict):
        raise StudyError(f"{path}: no log of inspect_ai: its header names no task; nothing was kept")
    status = str(header.get("status") or "success")
    if status != "success" and "status" not in trust:
        raise StudyError(
            f"{path}: the run did not finish (status {one_line(status, 20)}); nothing was kept; run it to its end with "
            "`inspect eval-retry`, or take the samples it has with --trust status"
        )
    task = one_line(str(about.get("task") or path.stem), 80)
    model = "" if about.get("model") == _NO_MODEL else str(about.get("model") or "")
    config = mapping(about.get("model_generate_config")) | mapping(at(header, "plan", "config"))
    settings: dict[str, Any] = {name: config[name] for name in _SETTINGS if name in config}
    settings |= {"log": str(about.get("eval_id") or path.name), "created": str(about.get("created") or "")}
    scorers = objects(about.get("scorers"))
    compares = not scorers or any(_compares(each.get("name")) for each in scorers)
    there = set[tuple[str, int]]()
    for each in found:
        if not isinstance(each, dict):
            raise StudyError(f"{path}: no sample of inspect_ai; nothing was kept")
        run = record.whole(each.get("epoch")) or 1
        made = Sample(str(each.get("id")), task, model, run=run, settings=settings)
        there.add((made.name, made.run))
        yield _sample(made, each, compares)
    asked = record.whole(at(header, "results", "total_samples")) or 0
    if there and (lacking := asked - len(there)) > 0:
        why = f"{lacking} of the {asked} samples of its run are not in the log"
        yield Sample("some", task, model, why=why)


def _sample(made: Sample, found: Mapping[str, Any], compares: bool) -> Sample:
    """Return what one sample says; where a scorer compares short answers a reader can decide what is right."""
    output, error = mapping(found.get("output")), found.get("error")
    choice, limit = next(iter(listed(output.get("choices"))), None), found.get("limit")
    if found.get("invalidation"):
        made.why = "its author took the sample back (invalidation)"
    elif error:
        message = error.get("message") if isinstance(error, dict) else error
        made.why = f"ended with an error: {one_line(str(message), 80)}"
    elif not isinstance(choice, dict):
        kind = limit.get("type") if isinstance(limit, dict) else limit
        made.why = "has no answer" + (f": stopped at its limit ({one_line(str(kind), 20)})" if kind else "")
    if made.why is not None or not isinstance(choice, dict):
        return made
    target, options = found.get("target"), found.get("choices")
    answers = list(target) if isinstance(target, list) else [target]
    if isinstance(options, list):  # a target is a letter then
        answers = [record.lettered(each, options) for each in answers]
    text, images = _text_of(found.get("input"))
    turns = (*objects(found.get("messages")), mapping(choice.get("message")))
    tools = any(each.get("tool_calls") for each in turns)
    made.said, made.model = _completion(output, choice, found), made.model or str(output.get("model") or "")
    made.question = record.question_cells(text, options, answers, read=compares)
    made.unscored = "calls a tool" if tools else "shows a picture or another file" if images else None
    scores = mapping(found.get("scores"))
    # a scorer that compares before others, which may measure the reply's length
    ordered = sorted(scores, key=lambda name: not _compares(name))
    verdicts = (record.verdict(at(scores, name, "value")) for name in ordered)
    made.right = next((each for each in verdicts if each is not None), None)
    return made


def _completion(output: Mapping[str, Any], choice: Mapping[str, Any], found: Mapping[str, Any]) -> Completion:
    said, finish = output.get("completion"), str(choice.get("stop_reason") or "") or None
    return Completion(
        _STATUS.get(finish or "", Status.OK),
        said if isinstance(said, str) else _text_of(at(choice, "message", "content"))[0],
        finish, str(output.get("model") or "") or None, record.usage(output.get("usage"), *_COUNTS),
        record.amount(at(output, "usage", "total_cost")), values.token_logprobs(listed(at(choice, "logprobs", "content"))),
        started_at=record.moment(found.get("started_at")), latency_s=record.amount(output.get("time")) or 0.0,
    )  # fmt: skip


def _text_of(content: Any) -> tuple[str, bool]:
    """Return the text of a message, of parts, or of the user's messages, and whether there is more than text."""
    if isinstance(content, str):
        return content, False
    texts, more = [], False
    for part in listed(content):
        if "role" in mapping(part):
            text, other = _text_of(part.get("content"))
            texts += [text] if part["role"] == "user" else []
            more = more or other
        elif isinstance(part, dict) and part.get("type") in ("text", None):
            texts.append(str(part.get("text") or ""))
        else:
            more = more or at(part, "type") != "reasoning"
    return "\n".join(each for each in texts if each), more


def _compares(scorer: Any) -> bool:
    return str(scorer).rpartition("/")[2] in _READABLE
