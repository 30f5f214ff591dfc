"""Published question sets brought home, verified: what ``question_sets`` lists.

A file is read in whatever packing it is published and kept as ``<home>/sources/selfknowledge/<source>.jsonl``, one
question a line in the layout of ``construction.rows``, with a note of its origin, revision and digests beside it. The
digest is that of the questions, so it does not depend on the packing. Where it is known, only these questions are
accepted; where it is not, the first file fetched must have the published number of questions and pins the source for
this home. A kept source is checked against the digest whenever it is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from metacog_pipeline.benchmarks.selfknowledge.construction import rows as question_rows
from metacog_pipeline.benchmarks.selfknowledge.construction.loaders import Loaded
from metacog_pipeline.benchmarks.selfknowledge.construction.rows import MAX_BYTES, Row, digest_of
from metacog_pipeline.benchmarks.selfknowledge.question_sets import SOURCES, Source
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import sha256_hex
from metacog_pipeline.home import Home
from metacog_pipeline.interchange.source_files import (
    Fetched,
    Progress,
    downloaded,
    fetch_each,
    first_right,
    read_note,
    sources_folder,
    write_note,
)
from metacog_pipeline.sources import named_files, read_bytes

if TYPE_CHECKING:
    import httpx

__all__ = [
    "SOURCES", "Fetched", "Source", "fetch", "folder_digest", "kept_digest", "load_source", "read_folder",
    "source_path",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """The questions of a file in a folder; ``published`` where they are, verified, those of the source."""

    path: Path
    rows: tuple[Row, ...]
    digest: str
    published: bool


def source_path(home: Home, name: str) -> Path:
    """Return where a verified source is kept."""
    return sources_folder(home, "selfknowledge") / f"{name}.jsonl"


def fetch(
    home: Home,
    names: Sequence[str] = (),
    *,
    folder: Path | None = None,
    transport: httpx.BaseTransport | None = None,
    progress: Progress | None = None,
    sources: Mapping[str, Source] | None = None,
) -> list[Fetched]:
    """Bring the named sources (all when empty) into ``home``, verified; what is already there is left alone.

    With ``folder`` they are taken from files in it or its subfolders, or from that very file when it is one; without it
    downloaded. ``sources`` are :data:`SOURCES` where none are given. SourceError for an unknown name, a file that is not
    there or cannot be downloaded or read, or one that is not the pinned one.
    """
    sources = SOURCES if sources is None else sources
    if folder is not None and not folder.exists():
        raise SourceError(f"--from {folder}: no such folder")

    def bring(source: Source) -> Fetched:
        kept = _kept(home, source)
        if kept is not None:
            return kept
        if folder is not None and folder.is_file():
            return _keep(home, source, folder, str(folder))
        if folder is not None:
            return first_right(
                source.name, source.names, folder, lambda path: _keep(home, source, path, str(path))
            )
        return downloaded(
            source.name, source.url, source_path(home, source.name).with_suffix(".download"),
            lambda path: _keep(home, source, path, source.url), transport=transport, progress=progress,
            limit=MAX_BYTES, redirects=source.redirects,
        )  # fmt: skip

    return fetch_each("selfknowledge", home, sources, names, bring)


def load_source(home: Home, name: str) -> list[Row]:
    """Return the questions of a kept source after checking them against its digest."""
    path = source_path(home, name)
    if not path.exists():
        raise SourceError(
            f"{path}: source {name!r} is not fetched; run `metacog doctor STUDY --fetch --source {name}`, or add "
            "`--from DIR` with a copy"
        )
    expected = read_note(_note_path(home, name)).get("digest")
    if not isinstance(expected, str):
        raise SourceError(
            f"{path}: the note with its digest is gone; `metacog doctor STUDY --fetch --source {name}` again"
        )
    rows = question_rows.read(path)
    found = digest_of(rows)
    if found != expected:
        raise SourceError(
            f"{path}: the content is not the one fetched: expected sha256 {expected}, found {found}; delete it and run "
            f"`metacog doctor STUDY --fetch --source {name}` again"
        )
    return rows


def read_folder(name: str, folder: Path) -> Found:
    """Return the questions of the first file of a known name in ``folder`` that can be read as source ``name``.

    They need not be the published ones; `Found.published` says whether they are.
    """
    source = SOURCES[name]
    if not folder.is_dir():
        raise SourceError(f"{folder}: no such folder; it is to hold a file of {name}")
    path, loaded = first_right(name, source.names, folder, lambda path: (path, source.load(path)))
    digest = digest_of(loaded.rows)
    return Found(path, loaded.rows, digest, source.digests.get(loaded.layout) == digest)


def folder_digest(name: str, folder: Path) -> str:
    """Return the SHA-256 over the files in ``folder`` that source ``name`` could be read from, unread."""
    found = (
        [path.read_bytes() for path in named_files(folder, SOURCES[name].names)] if folder.is_dir() else []
    )
    return sha256_hex("".join(map(sha256_hex, found)))


def kept_digest(home: Home, name: str) -> str | None:
    """Return the digest a kept source must have, without reading it; None where there is none."""
    digest = read_note(_note_path(home, name)).get("digest")
    return digest if isinstance(digest, str) and source_path(home, name).exists() else None


def _kept(home: Home, source: Source) -> Fetched | None:
    """Return what is home already; None where nothing is, or nothing that is right."""
    noted = read_note(_note_path(home, source.name))
    digest, layout = noted.get("digest"), noted.get("layout")
    if not isinstance(digest, str) or source.digests.get(str(layout), digest) != digest:
        return None
    try:
        rows = load_source(home, source.name)
    except SourceError:
        return None
    return _fetched(home, source, rows, digest, "already here")


def _keep(home: Home, source: Source, file: Path, origin: str) -> Fetched:
    """Check ``file`` and keep its questions with a note."""
    loaded = source.load(file)
    digest = digest_of(loaded.rows)
    _require(home, source, loaded, digest, origin)
    question_rows.write(source_path(home, source.name), loaded.rows)
    verified = loaded.layout in source.digests or origin == source.url
    note = {
        "digest": digest,
        "file_digest": sha256_hex(read_bytes(file, MAX_BYTES)),
        "layout": loaded.layout,
        "origin": origin,
        "revision": source.revision if verified else None,
        "rows": len(loaded.rows),
        "source": source.name,
        "unanswerable": sum(not row.answers.get("en") for row in loaded.rows),
    }
    write_note(_note_path(home, source.name), note)
    return _fetched(home, source, loaded.rows, digest, origin)


def _require(home: Home, source: Source, loaded: Loaded, digest: str, origin: str) -> None:
    """Raise SourceError unless the questions are the published ones, as far as that can be known."""
    known = source.digests.get(loaded.layout)
    if known is not None:
        if digest != known:
            raise SourceError(
                f"{origin}: the content is not that of source {source.name!r}: expected sha256 {known}, found {digest}; "
                "replace the file, or name its folder in the study file (folder = …) to use it as it is"
            )
        return
    if source.rows is not None and len(loaded.rows) != source.rows:
        raise SourceError(
            f"{origin}: {len(loaded.rows)} questions, but source {source.name!r} has {source.rows}; replace the file, or "
            "name its folder in the study file (folder = …) to use it as it is"
        )
    noted = read_note(_note_path(home, source.name))
    first = noted.get("digest") if noted.get("layout") == loaded.layout else None
    if isinstance(first, str) and digest != first:
        raise SourceError(
            f"{origin}: the content is not the one first fetched here as source {source.name!r}: expected sha256 {first}, "
            f"found {digest}; if the new file is meant, delete {_note_path(home, source.name)} and fetch again"
        )


def _fetched(home: Home, source: Source, rows: Sequence[Row], digest: str, origin: str) -> Fetched:
    return Fetched(source.name, source_path(home, source.name), len(rows), digest, origin)


def _note_path(home: Home, name: str) -> Path:
    return source_path(home, name).with_suffix(".json")
