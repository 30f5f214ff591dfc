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
from typing import TYPE_CHECKING

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark import source_files as common
from metacog_pipeline.benchmark.source_files import Fetched, Progress
from metacog_pipeline.benchmarks.signaldetection.construction.texts import Texts, read_sst2, read_table
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import replacing, sha256_hex
from metacog_pipeline.home import Home
from metacog_pipeline.sources import read_bytes

if TYPE_CHECKING:
    import httpx

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

    def path(self, home: Home) -> Path:
        """Return where it is kept."""
        return common.sources_folder(home, "signaldetection") / self.kept_as

    def expected(self, home: Home) -> str | None:
        """Return the digest it must have; None where nothing is pinned yet."""
        found = self.digest or common.read_note(self.note(home)).get("digest")
        return None if found is None else str(found)

    def note(self, home: Home) -> Path:
        """Return where its origin and digest are written down."""
        return self.path(home).with_suffix(".json")

    def read(self, file: Path) -> Texts:
        """Return the sentences of ``file``; SourceError where a row is not as it must be."""
        if self.kept_as.endswith(".parquet"):
            return read_sst2(file, self.name)
        return read_table(file, self.name, MAX_BYTES)

    def keep(self, home: Home, file: Path, origin: str) -> Fetched:
        """Check ``file`` and keep an unpacked copy of it with a note."""
        data = read_bytes(file, MAX_BYTES)
        digest = sha256_hex(data)
        self.require(digest, self.expected(home), origin, self.note(home))
        rows = len(self.read(file))
        with replacing(self.path(home)) as temporary:
            temporary.write_bytes(data)
        common.write_note(
            self.note(home), {"digest": digest, "origin": origin, "rows": rows, "source": self.name}
        )
        return Fetched(self.name, self.path(home), rows, digest, origin)

    def kept(self, home: Home) -> Fetched | None:
        """Return what is home already; None where nothing is, or nothing that is right."""
        noted = common.read_note(self.note(home))
        digest, rows = noted.get("digest"), noted.get("rows")
        if not isinstance(digest, str) or not isinstance(rows, int):
            return None
        try:
            return Fetched(
                self.name, load_source(home, self.name, {self.name: self}), rows, digest, "already here"
            )
        except SourceError:
            return None

    def require(self, digest: str, expected: str | None, where: str, note: Path | None = None) -> None:
        """Raise SourceError unless the digest is the expected one, where one is."""
        if expected is None or digest == expected:
            return
        what = "that of source" if self.digest is not None else "the one first fetched here as source"
        instead = "replace it or run `metacog doctor STUDY --fetch`"
        if self.digest is None and note is not None:
            instead = f"if the new file is meant, delete {note} and fetch again"
        raise SourceError(
            f"{where}: the content is not {what} {self.name!r}: expected sha256 {expected}, found {digest}; {instead}"
        )


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


def fetch(
    home: Home,
    names: Sequence[str] = (),
    *,
    folder: Path | None = None,
    transport: httpx.BaseTransport | None = None,
    progress: Progress | None = None,
    sources: Mapping[str, Pinned] = SOURCES,
) -> list[Fetched]:
    """Bring the named sources (all when empty) into ``home``, verified; what is already there is left alone.

    With ``folder`` they are taken from files in it or its subfolders, without it downloaded. Raises SourceError for an
    unknown name, a file that is not there or cannot be downloaded, or one that is not the pinned one.
    """
    if folder is not None and not folder.is_dir():
        raise SourceError(f"--from {folder}: no such folder")

    def bring(source: Pinned) -> Fetched:
        if (kept := source.kept(home)) is not None:
            return kept
        if folder is not None:
            return common.first_right(
                source.name, source.names, folder, lambda path: source.keep(home, path, str(path))
            )
        return common.downloaded(
            source.name,
            source.url,
            source.path(home).with_suffix(".download"),
            lambda path: source.keep(home, path, source.url),
            transport=transport,
            progress=progress,
            limit=MAX_BYTES,
        )

    return common.fetch_each("signaldetection", home, sources, names, bring)


def load_source(home: Home, name: str, sources: Mapping[str, Pinned] = SOURCES) -> Path:
    """Return the path of a kept source after checking it against its digest."""
    source = sources[name]
    path = source.path(home)
    if not path.exists():
        raise SourceError(
            f"{path}: source {name!r} is not fetched; run `metacog doctor STUDY --fetch`, or add `--from DIR` with a copy"
        )
    if source.expected(home) is None:
        raise SourceError(
            f"{path}: the note with its digest is gone; run `metacog doctor STUDY --fetch` again"
        )
    source.require(sha256_hex(read_bytes(path, MAX_BYTES)), source.expected(home), str(path))
    return path


def kept_digest(home: Home, name: str) -> str | None:
    """Return the digest a kept source must have, without reading it; None where there is none."""
    return SOURCES[name].expected(home) if SOURCES[name].path(home).exists() else None


def declared() -> tuple[contract.Source, ...]:
    """Return the sources as the contract wants them."""

    def one(name: str, home: Home, **how: object) -> Fetched:
        return fetch(home, (name,), **how)[0]  # type: ignore[arg-type]

    return tuple(
        contract.Source(name, (each.url,), each.licence, partial(one, name), partial(kept_digest, name=name))
        for name, each in SOURCES.items()
    )
