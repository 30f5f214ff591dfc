"""Files that are either whole or absent, canonical JSON, digests, and what ships with the package."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import gzip
import hashlib
import json
import os
import re
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ASIDE = ".damaged"  # the end of the name of a file that was found damaged and is kept
TIGHTEST, UNPACKED_ALWAYS = 100, 64 * 2**20  # gzip makes logs 5 to 30 times smaller, and zeros 1,000 times
MOST_TOML = 4 * 2**20  # a study of a thousand models is 0.3 MB; 4 MB are read in 4 s
#: What a disk refuses, full or failing.
OF_DISKS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.EROFS)
_OS_ERROR = re.compile(r"\(os error (\d{1,4})\)")
_PACKAGE = Path(__file__).resolve().parent
#: Made once: it is called per row.
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


class TooLargeError(ValueError):
    """A file is larger than anything that is read whole."""


def shipped(*parts: str) -> Path:
    """Return the path of a shipped file: ``shipped("data", "metamedqa", ...)`` or ``shipped("dbt_like_sql")``."""
    inside = _PACKAGE / "_shipped"  # in a wheel; in a checkout the two folders are next to the package
    return (inside if inside.is_dir() else _PACKAGE.parent).joinpath(*parts)


def canonical_json(value: object) -> str:
    """Return JSON with sorted keys and no spaces, ASCII only, so equal values give equal bytes."""
    return _ENCODER.encode(value)


def sha256_hex(data: str | bytes) -> str:
    """Return the SHA-256 of ``data`` as 64 hex digits; text is encoded as UTF-8, lone surrogates kept."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    return hashlib.sha256(raw).hexdigest()


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes as 64 hex digits, read in pieces. Raises ``OSError``."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def state_of(path: Path) -> tuple[int, int]:
    """Return when a file was changed and its size: what was read of it holds until one differs; zeros where it is gone."""
    with contextlib.suppress(OSError):
        found = path.stat()
        return found.st_mtime_ns, found.st_size
    return 0, 0


def read_within(path: Path, limit: int, packed: bool | None = None) -> bytes:
    """Return the bytes of a file of unknown origin, unpacked where it is ``packed`` with gzip (None: by its first bytes).

    Raises `TooLargeError` where they are more than ``limit``, or packed so tightly that no real text is;
    ``OSError``, ``EOFError`` or ``zlib.error`` where they cannot be read.
    """
    with path.open("rb") as plain:
        size = path.stat().st_size
        if packed is None:
            packed = plain.read(2) == b"\x1f\x8b"
            plain.seek(0)
        if packed:
            limit = min(limit, max(UNPACKED_ALWAYS, TIGHTEST * size))
            found = gzip.GzipFile(fileobj=plain).read(limit + 1)
        else:
            found = plain.read(min(limit, size) + 1)  # space for all that is asked for is set aside
    if len(found) > limit:
        raise TooLargeError(f"larger than {limit} bytes{' unpacked' if packed else ''}")
    return found


def read_toml(path: Path) -> dict[str, Any]:
    """Return the table of a TOML file of unknown origin. Raises as `read_within`, or ``ValueError``, ``RecursionError``."""
    return tomllib.loads(read_within(path, MOST_TOML).decode("utf-8-sig"))


def _umask() -> int:
    mask = os.umask(0o077)  # it cannot be read without being set
    os.umask(mask)
    return mask


UMASK = _umask()  # of the process, read while no other thread writes; temporary files ignore it


@contextlib.contextmanager
def replacing(path: Path, *, folder: bool = False) -> Iterator[Path]:
    """Yield a temporary file or ``folder``, renamed to ``path`` once it is on disk; on an error that is as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # A dot before the name and another suffix: no glob for the final one meets it.
    given: dict[str, Any] = {"prefix": f".{path.name}.", "suffix": ".tmp", "dir": path.parent}
    if folder:
        temporary = Path(tempfile.mkdtemp(**given))
    else:
        handle, name = tempfile.mkstemp(**given)
        os.close(handle)
        temporary = Path(name)
    try:
        with naming(path):
            yield temporary
            sync(temporary)
            temporary.chmod((0o777 if folder else 0o666) & ~UMASK)
            temporary.replace(path)
            sync(path.parent)
    except BaseException:
        if folder:
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)
        raise


making_folder = functools.partial(replacing, folder=True)


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Have what a disk refuses inside say that it is of ``path``: a late write, and Polars, do not."""
    try:
        yield
    except Exception as error:
        words = _OS_ERROR.search(str(error))
        number = error.errno if isinstance(error, OSError) else int(words[1]) if words else None
        if number not in OF_DISKS:
            raise
        raise OSError(number, os.strerror(number), str(path)) from error


def put_aside(path: Path) -> Path:
    """Rename ``path`` to its name and ``.damaged``, with a number where that is taken; return the new path."""
    number, target = 1, path.with_name(f"{path.name}{ASIDE}")
    while target.exists():
        number += 1
        target = path.with_name(f"{path.name}{ASIDE}{number}")
    path.rename(target)
    sync(path.parent)
    return target


def write_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8 so that ``path`` holds either the old or the new content, never a part."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_changed(path: Path, text: str | bytes) -> None:
    """Write ``text``, or its UTF-8, as `write_text` does, unless the file has it already and keeps its time."""
    content = text.encode("utf-8") if isinstance(text, str) else text
    with contextlib.suppress(OSError):
        if path.read_bytes() == content:
            return
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def probe_writing(folder: Path) -> None:
    """Raise ``OSError`` when a small file cannot be written in ``folder``; leave no file."""
    with tempfile.NamedTemporaryFile(prefix=".probe.", suffix=".tmp", dir=folder) as file:
        os.write(file.fileno(), bytes(4096))


def sync(path: Path) -> None:
    """Bring a file, or the renames inside a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        sync_open(descriptor)
    finally:
        os.close(descriptor)


def sync_open(descriptor: int) -> None:
    """Bring what was written to an open file to the disk. Raises ``OSError``."""
    # On macOS fsync ends at the drive's cache, which a power cut empties; only F_FULLFSYNC goes through it.
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        with contextlib.suppress(OSError):  # network and FAT volumes do not know it
            fcntl.fcntl(descriptor, full)
            return
    os.fsync(descriptor)
