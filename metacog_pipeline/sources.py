"""Source data: reading JSON Lines safely, the digest of their content, and downloads that resume.

A source is pinned by the SHA-256 of its *canonical content*: one canonical JSON text per row, in file order. So
compression, white space and the order of keys do not matter, and one changed character of any field does.
"""

from __future__ import annotations

import codecs
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import TooLargeError, canonical_json, read_within, replacing, sha256_hex
from metacog_pipeline.ports import LOOPBACK_NAMES

JsonRow = dict[str, Any]

MAX_SOURCE_BYTES = 256 * 1024 * 1024
_TIMEOUT = httpx.Timeout(connect=15.0, read=60.0, write=15.0, pool=15.0)
_SEARCH_DEPTH = 4
_MOST_REDIRECTS = 4

Progress = Callable[[int, "int | None"], None]
"""Called with (bytes so far, total bytes or None when the server does not say)."""


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a JSON Lines file: the file's name, the 1-based line, and the object on it."""

    file: str
    number: int
    row: JsonRow

    @property
    def where(self) -> str:
        """``file:line``, as messages name it."""
        return f"{self.file}:{self.number}"


def read_bytes(path: Path, limit: int = MAX_SOURCE_BYTES) -> bytes:
    """Return the bytes of ``path``, unpacked when it is gzip; SourceError when unreadable or over ``limit``."""
    try:
        return read_within(path, limit)
    except FileNotFoundError:
        raise SourceError(f"{path}: no such file; check the path or fetch the source") from None
    except TooLargeError as error:
        raise SourceError(f"{path}: {error}; not a file this program expects") from None
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(f"{path}: cannot be read ({error}); replace the file") from None


def named_files(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield files of the given names, also with ``.gz``, names in order of preference, at most a few folders deep."""
    found: dict[str, list[Path]] = {}
    base = len(folder.parts)
    for place, below, files in os.walk(folder):
        if len(Path(place).parts) - base >= _SEARCH_DEPTH:
            below.clear()
        below.sort()
        for file in sorted(files):
            found.setdefault(file, []).append(Path(place) / file)
    for name in names:
        yield from found.get(name, [])
        yield from found.get(f"{name}.gz", [])


def read_lines(path: Path, limit: int = MAX_SOURCE_BYTES) -> list[Line]:
    """Read a ``.jsonl`` or ``.jsonl.gz`` file of objects; blank lines are skipped.

    Raises ``SourceError`` with file and line: not UTF-8, not JSON, not an object, a key given twice, or a number JSON
    cannot hold.
    """
    return _lines(read_bytes(path, limit), path)


def read_objects(
    path: Path, within: Sequence[str] = (), limit: int = MAX_SOURCE_BYTES, longest: int | None = None
) -> list[Line]:
    """Read JSON objects however they are kept: one a line, in an array, or in a list under one of the keys ``within``.

    ``number`` of each is its line, or its 1-based place in the list. Errors as `read_lines`; ``longest`` is the most
    bytes a line may have.
    """
    data = read_bytes(path, limit)
    start = data.removeprefix(codecs.BOM_UTF8).lstrip()
    if start.startswith(b"["):
        return _objects(_decode(start, str(path)), path)
    if within and not _one_a_line(start, within):
        whole = _decode(start, str(path))
        key = next((key for key in within if isinstance(whole, dict) and key in whole), None)
        if key is None:
            raise SourceError(
                f"{path}: expected JSON Lines, an array, or an object with {' or '.join(within)}; replace the file"
            )
        return _objects(whole[key], path)
    return _lines(data, path, longest)


def _one_a_line(data: bytes, within: Sequence[str]) -> bool:
    """Whether the first line is an object of its own, if a broken one, and not the one that holds all the others."""
    first = data.partition(b"\n")[0].rstrip()
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return first.endswith(b"}")
    return not (isinstance(row, dict) and any(isinstance(row.get(key), list) for key in within))


def _lines(data: bytes, path: Path, longest: int | None = None) -> list[Line]:
    lines: list[Line] = []
    for number, raw in enumerate(data.split(b"\n"), start=1):
        if longest is not None and len(raw) > longest:
            raise SourceError(
                f"{path}:{number}: a line of {len(raw)} bytes, more than {longest}; replace the file"
            )
        if raw.strip():
            row = _decode(raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw, f"{path}:{number}")
            lines.append(_line(str(path), number, row))
    return lines


def _objects(rows: Any, path: Path) -> list[Line]:
    if not isinstance(rows, list):
        raise SourceError(f"{path}: expected a JSON array, got {type(rows).__name__}; mend the file")
    return [_line(str(path), number, row) for number, row in enumerate(rows, start=1)]


def read_array(path: Path, limit: int = MAX_SOURCE_BYTES) -> list[Line]:
    """Read a JSON array of objects; ``number`` of each is its 1-based place in the array. Errors as `read_lines`."""
    return _objects(_decode(read_bytes(path, limit), str(path)), path)


def _decode(raw: bytes, where: str) -> Any:
    try:
        value = json.loads(raw.decode("utf-8"), object_pairs_hook=_object, parse_constant=_refuse)
        canonical_json(value)
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{where}: not UTF-8 ({error.reason} at byte {error.start}); replace the file"
        ) from None
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{where}: not JSON ({error}); mend or replace it") from None
    return value


def _line(file: str, number: int, row: Any) -> Line:
    if not isinstance(row, dict):
        raise SourceError(
            f"{file}:{number}: expected a JSON object, got {type(row).__name__}; one object per line"
        )
    return Line(file, number, row)


def _object(pairs: list[tuple[str, Any]]) -> JsonRow:
    row = dict(pairs)
    if len(row) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"key {next(n for n in names if names.count(n) > 1)!r} is given twice")
    return row


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def content_digest(rows: Iterable[JsonRow]) -> str:
    """Return the SHA-256 (64 hex digits) over the canonical JSON of each row and a line feed, in order."""
    return sha256_hex("".join(canonical_json(row) + "\n" for row in rows))


def write_rows(path: Path, rows: Iterable[JsonRow]) -> None:
    """Write one canonical JSON object per line so that ``path`` is either the old or the whole new file."""
    with replacing(path) as temporary, temporary.open("w", encoding="ascii", newline="\n") as out:
        out.writelines(canonical_json(row) + "\n" for row in rows)


def download(
    url: str,
    path: Path,
    *,
    transport: httpx.BaseTransport | None = None,
    progress: Progress | None = None,
    limit: int = MAX_SOURCE_BYTES,
    redirects: Sequence[str] = (),
) -> None:
    """Stream ``url`` to ``path``; a cut download is continued from ``<path>.part`` on the next call.

    The validator of the first answer (ETag, else Last-Modified) is kept in ``<path>.part.json`` and sent as ``If-Range``,
    so a file that changed on the server starts again instead of being spliced. Redirects are followed to hosts that end
    in one of ``redirects`` only, so by default not at all. Plain http is accepted for this machine only. Raises
    ``SourceError`` for a wrong scheme, any status but 200 or 206, more than ``limit`` bytes, or a connection that breaks.
    """
    _require_https(url)
    part = path.with_name(path.name + ".part")
    note = part.with_name(part.name + ".json")
    path.parent.mkdir(parents=True, exist_ok=True)
    headers = {
        "Accept-Encoding": "identity",
        "User-Agent": "metacog-pipeline",
        **_resume_headers(url, part, note),
    }
    try:
        with (
            httpx.Client(transport=transport, timeout=_TIMEOUT, follow_redirects=False) as client,
            client.stream("GET", _final(client, url, redirects), headers=headers) as answer,
        ):
            if answer.status_code == 416:
                part.unlink(missing_ok=True)
                raise SourceError(
                    f"{url}: the kept part is longer than the file; it was removed, fetch again"
                )
            start = _accepted_start(url, answer, part)
            if start == 0:
                note.write_text(json.dumps({"url": url, "validator": _validator(answer)}), encoding="utf-8")
            _receive(url, answer, part, start, progress, limit)
    except httpx.HTTPError as error:
        kept = part.stat().st_size if part.exists() else 0
        raise SourceError(
            f"{url}: download broke off after {kept} bytes ({_reason(error)}); "
            "fetch again to continue, or use metacog doctor STUDY --fetch --from DIR"
        ) from None
    part.replace(path)
    note.unlink(missing_ok=True)


def _final(client: httpx.Client, url: str, allowed: Sequence[str]) -> str:
    """Return the address ``url`` leads to, over at most a few redirects to allowed hosts; refused ones are left."""
    if not allowed:
        return url
    for _ in range(_MOST_REDIRECTS):
        answer = client.head(url, headers={"Accept-Encoding": "identity"})
        if not answer.is_redirect:
            break
        target = str(answer.request.url.join(answer.headers.get("location", "")))
        host = urlsplit(target).hostname or ""
        if not any(host == each or host.endswith(f".{each}") for each in allowed):
            break
        _require_https(target)
        url = target
    return url


def _require_https(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK_NAMES):
        return
    raise SourceError(f"{url}: sources are fetched over https only; use --from DIR for a local copy")


def _resume_headers(url: str, part: Path, note: Path) -> dict[str, str]:
    """Ask for the rest only when the kept part is of this address and its version can be named."""
    size = part.stat().st_size if part.exists() else 0
    try:
        kept = json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not size or not isinstance(kept, dict) or kept.get("url") != url or not kept.get("validator"):
        return {}
    return {"Range": f"bytes={size}-", "If-Range": str(kept["validator"])}


def _validator(answer: httpx.Response) -> str | None:
    tag: str | None = answer.headers.get("etag")
    if tag and not tag.startswith("W/"):
        return tag
    modified: str | None = answer.headers.get("last-modified")
    return modified


def _reason(error: httpx.HTTPError) -> str:
    """Return in words why a download ended, without those of the operating system."""
    if isinstance(error, httpx.TimeoutException):
        return "no answer in time"
    if isinstance(error, httpx.ConnectError):
        return "the server cannot be reached: is there a network?"
    return "the connection was lost"


def _accepted_start(url: str, answer: httpx.Response, part: Path) -> int:
    """Return the byte the answer begins at: 0 for a whole file, the size of the part for its continuation."""
    if answer.status_code == 200:
        return 0
    size = part.stat().st_size if part.exists() else 0
    if answer.status_code == 206 and answer.headers.get("content-range", "").startswith(f"bytes {size}-"):
        return size
    if answer.is_redirect:
        target = answer.headers.get("location", "nowhere")
        raise SourceError(f"{url}: redirected to {target}, which is refused; use --from DIR")
    raise SourceError(
        f"{url}: the server answered {answer.status_code}; use --from DIR with a copy of the file"
    )


def _receive(
    url: str, answer: httpx.Response, part: Path, start: int, progress: Progress | None, limit: int
) -> None:
    length = answer.headers.get("content-length", "")
    total = start + int(length) if length.isdecimal() else None
    if total is not None and total > limit:
        raise SourceError(f"{url}: {total} bytes announced, more than the {limit} allowed; not fetched")
    done = start
    with part.open("r+b" if start else "wb") as out:
        out.seek(start)
        out.truncate()
        for chunk in answer.iter_raw():  # as they arrive: a fixed size would lose the tail of a cut download
            done += len(chunk)
            if done > limit:
                raise SourceError(f"{url}: more than the {limit} bytes allowed; not fetched")
            out.write(chunk)
            if progress is not None:
                progress(done, total)
    if total is not None and done < total:
        raise httpx.RemoteProtocolError(f"{done} of {total} bytes came")
