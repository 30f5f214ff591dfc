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
from typing import Any

import pyarrow as pa

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.record import Sample, listed, mapping, objects
from metacog_pipeline.llm.types import Completion, Status, Usage

LARGEST = 512 * 1024 * 1024  # bytes of one entry, unpacked
MOST = 64 * 1024**3  # bytes of all entries that are read, unpacked
_ZSTD, _HEAD = 93, 30  # a packing that Python's zipfile does not know; bytes of an entry's own header
#: Scorers that compare a short answer or a letter, as our readers do; of others the log's own verdict counts.
_READABLE = {"choice", "match", "includes", "exact", "answer", "pattern", "f1"}
_NO_MODEL = "none/none"  # of a task whose solver names its models itself
_STATUS = {"content_filter": Status.REFUSED, "max_tokens": Status.TRUNCATED, "model_length": Status.TRUNCATED}


def read_eval(path: Path, trust: Sequence[str] = ()) -> Iterator[Sample]:
    """Yield the samples of an ``.eval`` file; StudyError where it is cut off, did not finish, or is none."""
    found = (record.parsed(data, f"{path}: {name}") for name, data in entries(path))
    yield from _samples(path, next(found), found, trust)


def read_json(path: Path, whole: Mapping[str, Any], trust: Sequence[str] = ()) -> Iterator[Sample]:
    """Yield the samples of a log in one JSON object."""
    yield from _samples(path, whole, listed(whole.get("samples")), trust)


def entries(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the header of an ``.eval`` file, then of each of its samples.

    Raises ``StudyError`` if the file is cut off, no log, or unpacks to more than is read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            found = {entry.filename: entry for entry in archive.infolist()}
            if "header.json" not in found:
                raise StudyError(
                    f"{path}: the run did not finish (no header.json); nothing was kept; run it to its end"
                )
            samples = (name for name in found if name.startswith("samples/") and name.endswith(".json"))
            names = ["header.json", *sorted(samples)]
            large = [name for name in names if found[name].file_size > LARGEST]
            if large or sum(found[name].file_size for name in names) > MOST:
                raise StudyError(
                    f"{path}: {(large or names)[0]} unpacks to more than is read; nothing was kept"
                )
            for name in names:
                yield name, unpacked(path, archive, found[name])
    except zipfile.BadZipFile:
        raise StudyError(
            f"{path}: cut off, or no log of inspect_ai; nothing was kept; copy the file again"
        ) from None
    except OSError as error:
        raise StudyError(f"{path}: cannot be read: {error.strerror or error}") from None


def unpacked(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Return an entry, unpacked to the size it names and no further."""
    try:
        if entry.compress_type != _ZSTD:
            with archive.open(entry) as file:
                return file.read()  # no more than the size the entry names, and held to its checksum
        with path.open("rb") as file:
            file.seek(entry.header_offset)
            head = file.read(_HEAD)
            file.seek(sum(struct.unpack("<HH", head[_HEAD - 4 :])), 1)  # its name and what else is there
            packed = file.read(entry.compress_size)
        data = pa.decompress(packed, decompressed_size=entry.file_size, codec="zstd", asbytes=True)
        if zlib.crc32(data) == entry.CRC:
            return bytes(data)
    except (
        zipfile.BadZipFile, zlib.error, pa.ArrowException, OSError, EOFError, RuntimeError, struct.error,
    ):  # fmt: skip
        pass
    raise StudyError(f"{path}: {entry.filename} is damaged; nothing was kept; copy the file again")


def _samples(path: Path, header: Any, found: Iterable[Any], trust: Sequence[str]) -> Iterator[Sample]:
    about = mapping(header).get("eval")
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
    config = mapping(about.get("model_generate_config")) | mapping(mapping(header.get("plan")).get("config"))
    told = ("temperature", "seed", "top_p", "max_tokens")
    settings: dict[str, Any] = {name: config[name] for name in told if name in config}
    settings |= {"log": str(about.get("eval_id") or path.name), "created": str(about.get("created") or "")}
    scorers = objects(about.get("scorers"))
    read, there = not scorers or any(_compares(each.get("name")) for each in scorers), set[tuple[str, int]]()
    for each in found:
        if not isinstance(each, dict):
            raise StudyError(f"{path}: no sample of inspect_ai; nothing was kept")
        made = Sample(
            str(each.get("id")), task, model, Completion(Status.FAILED), run=record.whole(each.get("epoch")) or 1,
            settings=settings,
        )  # fmt: skip
        there.add((made.name, made.run))
        yield _sample(made, each, read)
    asked = record.whole(mapping(header.get("results")).get("total_samples")) or 0
    if there and (lacking := asked - len(there)) > 0:
        why = f"{lacking} of the {asked} samples of its run are not in the log"
        yield record.nothing("some", task, model, why)


def _sample(made: Sample, found: Mapping[str, Any], read: bool) -> Sample:
    """Return what one sample says; ``read`` says that a reader can decide what is right."""
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
        answers = [record.lettered(each, options) if isinstance(each, str) else each for each in answers]
    text, images = record.text_of(found.get("input"))
    turns = (*objects(found.get("messages")), mapping(choice.get("message")))
    tools = any(each.get("tool_calls") for each in turns)
    made.said, made.model = _completion(output, choice, found), made.model or str(output.get("model") or "")
    made.question = record.question_cells(text, options, answers, read=read)
    made.unscored = "calls a tool" if tools else "shows a picture or another file" if images else None
    scores = mapping(
        found.get("scores")
    )  # a scorer that compares before others, which may measure the reply's length
    named = sorted(scores, key=lambda each: not _compares(each))
    verdicts = (record.verdict(mapping(scores[name]).get("value")) for name in named)
    made.right = next((each for each in verdicts if each is not None), None)
    return made


def _completion(output: Mapping[str, Any], choice: Mapping[str, Any], found: Mapping[str, Any]) -> Completion:
    said, usage = output.get("completion"), mapping(output.get("usage"))
    text = said if isinstance(said, str) else record.text_of(mapping(choice.get("message")).get("content"))[0]
    finish = str(choice.get("stop_reason") or "") or None
    counts = ("input_tokens", "output_tokens", "reasoning_tokens")
    return Completion(
        _STATUS.get(finish or "", Status.OK), text, finish, str(output.get("model") or "") or None,
        Usage(*(record.whole(usage.get(name)) for name in counts)), record.amount(usage.get("total_cost")),
        record.tokens_of(mapping(choice.get("logprobs")).get("content")), started_at=record.moment(found.get("started_at")),
        latency_s=record.amount(output.get("time")) or 0.0,
    )  # fmt: skip


def _compares(scorer: Any) -> bool:
    """Whether a scorer holds the reply against a short answer or a letter."""
    return str(scorer).rpartition("/")[2] in _READABLE
