"""Logs of inspect_ai: ``.eval`` (a zip of JSON files, one per sample) and ``.json``.

They are read here and not by inspect_ai, which makes every event of every sample an object. Nothing is unpacked to disk,
and no entry may be larger than `LARGEST`.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.record import Row, Sample, at, listed, mapping, objects
from metacog_pipeline.llm.types import Completion, Status
from metacog_pipeline.llm.wire import values

LARGEST = 512 * 1024 * 1024  # bytes of one entry, unpacked
MOST = 64 * 1024**3  # bytes of all entries that are read, unpacked
_ZSTD, _HEAD = 93, 30  # a packing that Python's zipfile does not know; bytes of an entry's own header
#: Scorers that compare a short answer or a letter, as our readers do; of others the log's own verdict counts.
_READABLE = {"choice", "match", "includes", "exact", "answer", "pattern", "f1"}
_STATUS = {"content_filter": Status.REFUSED, "max_tokens": Status.TRUNCATED, "model_length": Status.TRUNCATED}


def read_eval(path: Path, trust: Sequence[str] = ()) -> Iterator[Sample]:
    """Yield the samples of an ``.eval`` file; StudyError where it is cut off, did not finish, or is none."""
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as file:
            entries = {each.filename: each for each in archive.infolist()}
            names = sorted(name for name in entries if name.startswith("samples/") and name.endswith(".json"))
            if "header.json" not in entries:
                raise StudyError(f"{path}: the run did not finish; nothing was kept; run it to its end")
            wanted = [entries[each] for each in ("header.json", *names)]
            sizes = [each.file_size for each in wanted]
            if max(sizes) > LARGEST or sum(sizes) > MOST:
                raise StudyError(f"{path}: unpacks to more than is read; nothing was kept")
            found = (record.parsed(unpacked(path, file, each), f"{path}: {each.filename}") for each in wanted)
            yield from read(path, next(found), found, trust)
    except (zipfile.BadZipFile, OSError) as error:
        why = getattr(error, "strerror", None) or "cut off, or no log of inspect_ai"
        raise StudyError(f"{path}: {why}; nothing was kept; copy the file again") from None


def unpacked(path: Path, file: BinaryIO, entry: zipfile.ZipInfo) -> bytes:
    """Return an entry of the open ``file``, unpacked to the size it names and no further."""
    try:
        file.seek(entry.header_offset + _HEAD - 4)
        file.seek(sum(struct.unpack("<HH", file.read(4))), 1)  # its name and what else is there
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
    about, status = mapping(at(header, "eval")), str(at(header, "status") or "success")
    if status != "success" and "status" not in trust:
        raise StudyError(
            f"{path}: the run did not finish (status {one_line(status, 20)}); nothing was kept; run it to its end with "
            "`inspect eval-retry`, or take the samples it has with --trust status"
        )
    task = one_line(str(about.get("task") or path.stem), 80)
    model = str(about.get("model") or "").removeprefix("none/none")  # its solver names its models itself
    scorers = objects(about.get("scorers"))
    compares = not scorers or any(_compares(each.get("name")) for each in scorers)
    for each in map(mapping, found):
        made = Sample(str(each.get("id")), task, model, run=values.count_at(each, "epoch") or 1)
        yield _sample(made, each, compares)


def _sample(made: Sample, found: Row, compares: bool) -> Sample:
    """Return what one sample says; where a scorer compares short answers a reader can decide what is right."""
    output, error, limit = mapping(found.get("output")), found.get("error"), found.get("limit")
    choice = next(iter(objects(output.get("choices"))), {})
    if found.get("invalidation"):
        made.why = "its author took the sample back (invalidation)"
    elif error:
        made.why = f"ended with an error: {one_line(str(at(error, 'message') or error), 80)}"
    elif not choice:
        kind = one_line(str(at(limit, "type") or limit), 20)
        made.why = "has no answer" + (f": stopped at its limit ({kind})" if limit else "")
    if made.why is not None:
        return made
    options = found.get("choices")  # beside them a target is a letter
    answers = [record.lettered(each, listed(options)) for each in listed(found.get("target"))]
    asked, message = found.get("input"), mapping(choice.get("message"))
    turns = [each.get("content") for each in objects(asked) if each.get("role") == "user"]
    text = "\n".join(map(record.text_of, turns or [asked]))
    made.question = record.question_cells(text, options, answers, read=compares)
    reported, finish = str(output.get("model") or ""), str(choice.get("stop_reason") or "")
    made.model = made.model or reported
    made.said = Completion(
        _STATUS.get(finish, Status.OK), record.text_of(output.get("completion") or message.get("content")),
        finish or None, reported or None, record.usage(output.get("usage")),
        logprobs=values.token_logprobs(listed(at(choice, "logprobs", "content"))),
    )  # fmt: skip
    tools = any(each.get("tool_calls") for each in (*objects(found.get("messages")), message))
    files = any(part.get("type") != "text" for each in turns for part in objects(each))
    made.unscored = "calls a tool" if tools else "shows a picture or another file" if files else None
    scores = mapping(found.get("scores"))
    # a scorer that compares before others, which may measure the reply's length
    ordered = sorted(scores, key=lambda name: not _compares(name))
    made.right = record.scored({name: at(scores, name, "value") for name in ordered}, ordered)
    return made


def _compares(scorer: Any) -> bool:
    return str(scorer).rpartition("/")[2] in _READABLE
