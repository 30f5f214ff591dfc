"""Source data: JSON Lines read safely, the digest of their content, and downloads.

A source is pinned by the SHA-256 of its *canonical content*: one canonical JSON text per row, in file order. So
compression, white space and the order of keys do not matter, and one changed character of any field does.
"""

from __future__ import annotations

import codecs
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import TooLargeError, canonical_json, read_within, replacing, sha256_hex
from metacog_pipeline.ports import LOOPBACK_NAMES

if TYPE_CHECKING:  # it loads slowly, and whoever has the files fetches nothing
    import httpx

JsonRow = dict[str, Any]

MAX_SOURCE_BYTES = 256 * 1024 * 1024
_TIMEOUT = (15.0, 60.0, 15.0, 15.0)  # seconds to connect, read, write, and for a connection of the pool
_HEADERS = {"Accept-Encoding": "identity", "User-Agent": "metacog-pipeline"}
_SEARCH_DEPTH = 4

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
    for name in (each for plain in names for each in (plain, f"{plain}.gz")):
        for depth in range(_SEARCH_DEPTH):
            yield from (path for path in sorted(folder.glob("*/" * depth + name)) if path.is_file())


def read_lines(path: Path, limit: int = MAX_SOURCE_BYTES) -> list[Line]:
    """Read JSON objects, one a line; blank lines are skipped. Raises ``SourceError`` with file and line."""
    return _lines(read_bytes(path, limit), path)


def read_objects(path: Path, within: Sequence[str] = (), limit: int = MAX_SOURCE_BYTES) -> list[Line]:
    """Read JSON objects however they are kept: one a line, in an array, or in a list under one of the keys ``within``.

    ``number`` of each is its line, or its 1-based place in the list. Errors as `read_lines`.
    """
    data = read_bytes(path, limit)
    start = data.removeprefix(codecs.BOM_UTF8).lstrip()
    if start.startswith(b"["):
        return _objects(_decode(start, str(path)), path)
    try:
        whole = json.loads(start) if within else None  # of JSON Lines no more is read than the first object
    except (ValueError, RecursionError):
        whole = None
    key = next((key for key in within if isinstance(whole, dict) and key in whole), None)
    return _lines(data, path) if key is None else _objects(_decode(start, str(path))[key], path)


def _lines(data: bytes, path: Path) -> list[Line]:
    rows = enumerate(data.removeprefix(codecs.BOM_UTF8).split(b"\n"), start=1)
    return [_line(path, number, _decode(raw, f"{path}:{number}")) for number, raw in rows if raw.strip()]


def _objects(rows: Any, path: Path) -> list[Line]:
    if not isinstance(rows, list):
        raise SourceError(f"{path}: expected a JSON array, got {type(rows).__name__}; correct the file")
    return [_line(path, number, row) for number, row in enumerate(rows, start=1)]


def _line(path: Path, number: int, row: Any) -> Line:
    if not isinstance(row, dict):
        kind = type(row).__name__
        raise SourceError(f"{path}:{number}: expected a JSON object, got {kind}; one object per line")
    return Line(str(path), number, row)


def _decode(raw: bytes, where: str) -> Any:
    try:
        value = json.loads(raw.decode("utf-8"), object_pairs_hook=_object)
        canonical_json(value)  # NaN and Infinity are no JSON numbers
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{where}: not UTF-8 text of JSON ({error}); correct or replace it") from None
    return value


def _object(pairs: list[tuple[str, Any]]) -> JsonRow:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise ValueError(f"key {max(names, key=names.count)!r} is given twice")
    return dict(pairs)


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
    """Stream ``url`` to ``path``, which holds all of it or is as it was; redirects lead to hosts of ``redirects`` only."""
    import httpx

    hooks = {"request": [lambda request: _require_allowed(url, request.url, redirects)]}
    try:
        with (
            httpx.Client(
                transport=transport, timeout=_TIMEOUT, follow_redirects=bool(redirects), event_hooks=hooks
            ) as client,
            client.stream("GET", url, headers=_HEADERS) as answer,
            replacing(path) as temporary,
        ):
            _receive(url, answer, temporary, progress, limit)
    except httpx.HTTPError as error:
        raise SourceError(
            f"{url}: cannot be fetched ({type(error).__name__}); is there a network? Fetch again, or use --from DIR"
        ) from None


def _require_allowed(url: str, target: httpx.URL, redirects: Sequence[str]) -> None:
    """Refuse what is not encrypted, and redirects of ``url`` to hosts that are not named."""
    if target.scheme != "https" and not (target.scheme == "http" and target.host in LOOPBACK_NAMES):
        raise SourceError(f"{target}: sources are fetched over https only; use --from DIR for a local copy")
    from httpx import URL

    if target != URL(url) and not any(f".{target.host}".endswith(f".{each}") for each in redirects):
        raise SourceError(f"{url}: redirected to {target}, which is refused; use --from DIR")


def _receive(url: str, answer: httpx.Response, target: Path, progress: Progress | None, limit: int) -> None:
    if answer.status_code != 200:
        said = f"redirected to {answer.headers.get('location')}" if answer.is_redirect else answer.status_code
        raise SourceError(f"{url}: the server answered {said}; use --from DIR with a copy of the file")
    length = answer.headers.get("content-length", "")
    total, done = int(length) if length.isdecimal() else None, 0
    with target.open("wb") as out:
        for chunk in answer.iter_raw():
            done += len(chunk)
            if max(done, total or 0) > limit:
                raise SourceError(f"{url}: more than the {limit} bytes allowed; not fetched")
            out.write(chunk)
            if progress is not None:
                progress(done, total)
    if total is not None and done < total:
        import httpx

        raise httpx.RemoteProtocolError(f"{done} of {total} bytes came")
