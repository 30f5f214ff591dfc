"""Reading single files out of a folder, a wheel, a zip or a tar archive, without unpacking or running any of it."""

from __future__ import annotations

import gzip
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from metacog_pipeline.errors import SourceError

ZIP_ENDINGS = (".whl", ".zip")
TAR_ENDINGS = (".tar.gz", ".tgz", ".tar")
_SEARCH_DEPTH = 6
_MOST_MEMBERS = 100_000
_UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,  # encrypted, or packed in a way zipfile does not know
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    gzip.BadGzipFile,
)


def is_archive(path: Path) -> bool:
    """Say by its name whether ``path`` is an archive that can be read."""
    return path.name.lower().endswith(ZIP_ENDINGS + TAR_ENDINGS)


def files_ending_in(place: Path, ending: str, limit: int) -> Iterator[tuple[str, bytes]]:
    """Yield (where, content) of each file in a folder or an archive whose path ends in ``/ending`` or is ``ending``.

    Files of a folder come before those of the archives in it. Nothing larger than ``limit`` bytes is read. Raises
    SourceError for an archive that is damaged, encrypted or too large, a file that cannot be read, or one over the limit.
    """
    archives = [place]
    if place.is_dir():
        yield from _in_folder(place, ending, limit)
        archives = sorted(path for path in place.iterdir() if path.is_file() and is_archive(path))
    for archive in archives:
        yield from _in_archive(archive, ending, limit)


def _in_folder(folder: Path, ending: str, limit: int) -> Iterator[tuple[str, bytes]]:
    for path in sorted(_walk(folder)):
        if _ends_in(path.as_posix(), ending) and path.is_file():
            try:
                with path.open("rb") as stream:
                    found = _read(stream, limit, str(path))
            except OSError as error:
                raise SourceError(f"{path}: cannot be read ({error}); replace the file") from None
            yield found


def _walk(folder: Path) -> Iterator[Path]:
    base = len(folder.parts)
    for place, below, files in os.walk(folder):
        if len(Path(place).parts) - base >= _SEARCH_DEPTH:
            below.clear()
        yield from (Path(place) / file for file in files)


def _in_archive(archive: Path, ending: str, limit: int) -> Iterator[tuple[str, bytes]]:
    within = _in_zip if archive.name.lower().endswith(ZIP_ENDINGS) else _in_tar
    try:
        yield from within(archive, ending, limit)
    except FileNotFoundError:
        raise SourceError(f"{archive}: no such file; check the path or fetch the source") from None
    except _UNREADABLE as error:
        raise SourceError(f"{archive}: cannot be read as an archive ({error}); replace the file") from None


def _in_zip(archive: Path, ending: str, limit: int) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(archive) as opened:
        for member in opened.infolist():
            if not member.is_dir() and _ends_in(member.filename, ending):
                with opened.open(member) as stream:
                    yield _read(stream, limit, f"{archive}:{member.filename}")


def _in_tar(archive: Path, ending: str, limit: int) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(archive) as opened:
        for number, member in enumerate(opened):
            if number >= _MOST_MEMBERS:
                raise SourceError(
                    f"{archive}: more than {_MOST_MEMBERS} files; not an archive of this source"
                )
            stream = opened.extractfile(member) if member.isreg() and _ends_in(member.name, ending) else None
            if stream is not None:
                yield _read(stream, limit, f"{archive}:{member.name}")


def _ends_in(name: str, ending: str) -> bool:
    return name == ending or name.endswith(f"/{ending}")


def _read(stream: IO[bytes], limit: int, where: str) -> tuple[str, bytes]:
    content = stream.read(limit + 1)
    if len(content) > limit:
        raise SourceError(f"{where}: larger than {limit} bytes; not a file of this source")
    return where, content
