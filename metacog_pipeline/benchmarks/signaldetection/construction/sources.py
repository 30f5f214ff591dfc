"""The published texts of the signal-detection tasks: where they are, what they must be, how they are fetched.

=============  ==========================================================================================  ======
``sst2``       train split of SST-2 (Socher et al. 2013), as the authors of the benchmark keep it: task A  67,349
``test4plus``  ``Test4Plus_Raw.txt`` of Zenodo record 7694423: tasks B and C
=============  ==========================================================================================  ======

``sst2`` is pinned by the SHA-256 of the file. Of ``test4plus`` no digest is published with the benchmark, so it is
pinned on first use: every line of the first file fetched must be a label 0 or 1, a tab and a sentence, in UTF-8; then
its digest is written down beside it, and from then on only the same file is accepted in this home. Two homes agree
when their digests do.

A fetched source is kept as ``<home>/sources/signaldetection/<file>`` with a note of its origin and digest beside it,
and checked against the digest whenever it is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmarks.common.sources import (
    Fetched,
    Progress,
    downloaded,
    fetch_each,
    first_right,
    read_note,
    sources_folder,
    write_note,
)
from metacog_pipeline.benchmarks.signaldetection.construction.texts import read_sst2, read_table
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import replacing, sha256_hex
from metacog_pipeline.sources import read_bytes

REVIEWS, SENTENCES = "sst2", "test4plus"
MAX_BYTES = 1024**3


@dataclass(frozen=True, slots=True)
class Pinned:
    """A published file. ``kept_as`` is its name in a home, and what it ends in says how it is read.

    ``digest`` is the SHA-256 of its bytes, None where it is pinned on first use; ``names`` are the file names looked
    for in a folder, each also with ``.gz``.
    """

    name: str
    url: str
    kept_as: str
    digest: str | None
    names: tuple[str, ...]
    licence: str


SOURCES: Mapping[str, Pinned] = {
    source.name: source
    for source in (
        Pinned(
            REVIEWS,
            "https://raw.githubusercontent.com/sshrichard/metacognition-of-AI/8746b30bb0383b9a97cd4bf6cf899dc68e3a90aa"
            "/train-00000-of-00001.parquet",
            "sst2.parquet",
            "c7921283b75a42e685f50edecb96798607ea0fcbfd0739ee8975f22c12d55f09",
            ("train-00000-of-00001.parquet", "sst2.parquet"),
            "SST-2 is given for research; the copy states no licence",
        ),
        Pinned(
            SENTENCES,
            "https://zenodo.org/records/7694423/files/Test4Plus_Raw.txt?download=1",
            "test4plus.tsv",
            None,
            ("Test4Plus_Raw.txt", "test4plus.tsv"),
            "as stated in the Zenodo record 7694423",
        ),
    )
}


def source_path(home: Path, name: str) -> Path:
    """Return where a verified source is kept."""
    known = SOURCES.get(name)
    return sources_folder(home, "signaldetection") / (known.kept_as if known else name)


def fetch(
    home: Path,
    names: Sequence[str] = (),
    *,
    folder: Path | None = None,
    transport: httpx.BaseTransport | None = None,
    progress: Progress | None = None,
    sources: Mapping[str, Pinned] | None = None,
) -> list[Fetched]:
    """Bring the named sources (all when empty) into ``home``, verified; what is already there is left alone.

    With ``folder`` they are taken from files in it or its subfolders, without it downloaded. ``sources`` are
    :data:`SOURCES` where none are given.

    Raises
    ------
    SourceError
        For an unknown name, a file that is not there or cannot be downloaded, or one that is not the pinned one.
    """
    sources = SOURCES if sources is None else sources
    if folder is not None and not folder.is_dir():
        raise SourceError(f"--from {folder}: no such folder")

    def bring(source: Pinned) -> Fetched:
        kept = _kept(home, source)
        if kept is not None:
            return kept
        if folder is not None:
            return first_right(
                source.name, source.names, folder, lambda path: _keep(home, source, path, str(path))
            )
        return downloaded(
            source.name,
            source.url,
            source_path(home, source.name).with_suffix(".download"),
            lambda path: _keep(home, source, path, source.url),
            transport=transport,
            progress=progress,
            limit=MAX_BYTES,
        )

    return fetch_each("signaldetection", home, sources, names, bring)


def load_source(home: Path, name: str, sources: Mapping[str, Pinned] | None = None) -> Path:
    """Return the path of a kept source after checking it against its digest."""
    source = (SOURCES if sources is None else sources)[name]
    path = source_path(home, name)
    if not path.exists():
        raise SourceError(
            f"{path}: source {name!r} is not fetched; run `metacog fetch`, or `metacog fetch --from DIR` with a copy"
        )
    expected = source.digest or read_note(_note_path(home, source)).get("digest")
    if expected is None:
        raise SourceError(f"{path}: the note with its digest is gone; run `metacog fetch` again")
    _require(source, sha256_hex(read_bytes(path, MAX_BYTES)), str(expected), str(path))
    return path


def kept_digest(home: Path, name: str) -> str | None:
    """Return the digest a kept source must have, without reading it; None where there is none."""
    source = SOURCES[name]
    expected = source.digest or read_note(_note_path(home, source)).get("digest")
    return str(expected) if expected is not None and source_path(home, name).exists() else None


def declared() -> tuple[contract.Source, ...]:
    """Return the sources as the contract wants them."""
    return tuple(
        contract.Source(
            name, (source.url,), source.licence, partial(_fetch_one, name), partial(kept_digest, name=name)
        )
        for name, source in SOURCES.items()
    )


def _fetch_one(name: str, home: Path, **how: Any) -> Fetched:
    (found,) = fetch(home, (name,), **how)
    return found


def _kept(home: Path, source: Pinned) -> Fetched | None:
    noted = read_note(_note_path(home, source))
    digest, rows = noted.get("digest"), noted.get("rows")
    if not isinstance(digest, str) or not isinstance(rows, int):
        return None
    try:
        path = load_source(home, source.name, {source.name: source})
    except SourceError:
        return None
    return Fetched(source.name, path, rows, digest, "already here")


def _keep(home: Path, source: Pinned, file: Path, origin: str) -> Fetched:
    """Check ``file`` and keep an unpacked copy of it with a note."""
    data = read_bytes(file, MAX_BYTES)
    digest = sha256_hex(data)
    expected = source.digest or read_note(_note_path(home, source)).get("digest")
    if expected is not None:
        _require(source, digest, str(expected), origin, _note_path(home, source))
    rows = _rows(source, file)
    path = source_path(home, source.name)
    with replacing(path) as temporary:
        temporary.write_bytes(data)
    note = {"digest": digest, "origin": origin, "rows": rows, "source": source.name}
    write_note(_note_path(home, source), note)
    return Fetched(source.name, path, rows, digest, origin)


def _rows(source: Pinned, file: Path) -> int:
    """Return the number of rows of ``file``; SourceError where one of them is not as it must be."""
    if source.kept_as.endswith(".parquet"):
        return len(read_sst2(file, source.name))
    return len(read_table(file, source.name, MAX_BYTES))


def _require(source: Pinned, digest: str, expected: str, where: str, note: Path | None = None) -> None:
    if digest == expected:
        return
    what = "that of source" if source.digest is not None else "the one first fetched here as source"
    instead = "replace the file or run `metacog fetch` again"
    if source.digest is None and note is not None:
        instead = f"if the new file is meant, delete {note} and fetch again"
    raise SourceError(
        f"{where}: the content is not {what} {source.name!r}: expected sha256 {expected}, found {digest}; {instead}"
    )


def _note_path(home: Path, source: Pinned) -> Path:
    return source_path(home, source.name).with_suffix(".json")
