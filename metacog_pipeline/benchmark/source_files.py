"""Published files brought home, verified: what every benchmark does alike when it fetches what it is built from."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import replacing, sha256_hex, write_text
from metacog_pipeline.home import Home
from metacog_pipeline.sources import MAX_SOURCE_BYTES, download, named_files, read_bytes

if TYPE_CHECKING:
    import httpx

    from metacog_pipeline.benchmark.contract import Source

SourceT = TypeVar("SourceT")
KeptT = TypeVar("KeptT")

Progress = Callable[[str, int, "int | None"], None]
"""Called with (source, bytes so far, total bytes or None)."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A source that is home and verified; ``origin`` is an address, a file or folder, or ``already here``."""

    name: str
    path: Path
    rows: int
    digest: str
    origin: str


def sources_folder(home: Home, benchmark: str) -> Path:
    """Return where the verified sources of a benchmark are kept."""
    return home.sources / benchmark


def fetch_each(
    benchmark: str, home: Home, sources: Mapping[str, SourceT], names: Sequence[str],
    bring: Callable[[SourceT], Fetched],
) -> list[Fetched]:  # fmt: skip
    """Call ``bring`` for each named source, or for all of them when none is named.

    SourceError for an unknown name, before anything is brought, and where nothing can be written.
    """
    for name in names:
        if name not in sources:
            raise SourceError(f"{name!r} is no source of {benchmark}; there are: {', '.join(sources)}")
    try:
        return [bring(sources[name]) for name in names or sources]
    except OSError as error:
        where, why = sources_folder(home, benchmark), error.strerror or error
        raise SourceError(f"{where}: cannot be written ({why}); check it and its space") from None


def first_right(name: str, names: Sequence[str], folder: Path, keep: Callable[[Path], KeptT]) -> KeptT:
    """Return what ``keep`` makes of the first file of a known name that it accepts, in ``folder`` or below.

    SourceError of the first file refused, where all are, or that there is none for the source ``name``.
    """
    wrong: SourceError | None = None
    for path in named_files(folder, names):
        try:
            return keep(path)
        except SourceError as error:
            wrong = wrong or error
    raise wrong or SourceError(
        f"{folder}: no file for source {name!r}; looked for {', '.join(names)} (also .gz) in it and below"
    )


def downloaded(
    name: str, url: str, arrived: Path, keep: Callable[[Path], KeptT], *, transport: httpx.BaseTransport | None,
    progress: Progress | None, limit: int = MAX_SOURCE_BYTES, redirects: Sequence[str] = (),
) -> KeptT:  # fmt: skip
    """Download source ``name`` to ``arrived`` and return what ``keep`` makes of it; the file itself goes away again."""
    shown = None if progress is None else lambda done, total: progress(name, done, total)
    download(url, arrived, transport=transport, progress=shown, limit=limit, redirects=redirects)
    try:
        return keep(arrived)
    finally:
        arrived.unlink(missing_ok=True)


def write_note(path: Path, note: Mapping[str, object]) -> None:
    """Write down what is known of a kept source."""
    write_text(path, json.dumps(note, indent=2, sort_keys=True) + "\n")


def read_note(path: Path) -> Mapping[str, object]:
    """Return what was written down; empty where there is nothing that can be read."""
    try:
        note = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return note if isinstance(note, dict) else {}


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """One published file, kept unpacked in a home with a note of its origin and digest."""

    benchmark: str
    name: str
    url: str
    licence: str
    kept_as: str  # its file name in the home; the note next to it ends in .json
    digest: str | None  # SHA-256; None where none is published: the first file fetched pins it for this home
    names: tuple[str, ...]  # looked for in a folder, each also with .gz
    rows: Callable[[Path], int]  # SourceError where a row is not as it must be
    limit: int = MAX_SOURCE_BYTES  # bytes
    redirects: tuple[str, ...] = ()  # hosts its address may lead on to

    @property
    def declared(self) -> Source:
        """The source as the contract has it."""
        from metacog_pipeline.benchmark.contract import Source  # loads Polars; settings are read without

        return Source(self.name, (self.url,), self.licence, self.fetch, self.kept_digest)

    def path(self, home: Home) -> Path:
        """Return where it is kept."""
        return sources_folder(home, self.benchmark) / self.kept_as

    def kept_digest(self, home: Home) -> str | None:
        """Return the digest the kept file must have, without reading it; None where no file is kept."""
        return self._expected(home) if self.path(home).exists() else None

    def load(self, home: Home) -> Path:
        """Return the path of the kept file after checking it against its digest."""
        path = self.path(home)
        if self.kept_digest(home) is None:
            what = "the note with its digest is gone" if path.exists() else "it is not fetched"
            raise SourceError(
                f"{path}: source {self.name!r}: {what}; run `metacog doctor STUDY --fetch`, or add `--from DIR` with a copy"
            )
        self._require(home, sha256_hex(read_bytes(path, self.limit)), str(path))
        return path

    def fetch(
        self, home: Home, folder: Path | None = None, transport: httpx.BaseTransport | None = None,
        progress: Progress | None = None,
    ) -> Fetched:  # fmt: skip
        """Take the file from ``folder`` or below, else download it; a file that is kept and right is left alone."""
        noted = read_note(self._note(home))
        digest, rows = noted.get("digest"), noted.get("rows")
        if isinstance(digest, str) and isinstance(rows, int):
            with contextlib.suppress(SourceError):
                return Fetched(self.name, self.load(home), rows, digest, "already here")
        if folder is not None:
            if not folder.is_dir():
                raise SourceError(f"--from {folder}: no such folder")
            return first_right(self.name, self.names, folder, lambda path: self._keep(home, path, str(path)))
        return downloaded(
            self.name, self.url, self.path(home).with_suffix(".download"),
            lambda path: self._keep(home, path, self.url),
            transport=transport, progress=progress, limit=self.limit, redirects=self.redirects,
        )  # fmt: skip

    def _note(self, home: Home) -> Path:
        return self.path(home).with_suffix(".json")

    def _expected(self, home: Home) -> str | None:
        found = self.digest or read_note(self._note(home)).get("digest")
        return None if found is None else str(found)

    def _keep(self, home: Home, file: Path, origin: str) -> Fetched:
        data = read_bytes(file, self.limit)
        digest = sha256_hex(data)
        self._require(home, digest, origin)
        rows = self.rows(file)
        with replacing(self.path(home)) as temporary:
            temporary.write_bytes(data)
        write_note(self._note(home), {"digest": digest, "origin": origin, "rows": rows, "source": self.name})
        return Fetched(self.name, self.path(home), rows, digest, origin)

    def _require(self, home: Home, digest: str, where: str) -> None:
        expected = self._expected(home)
        if expected in (None, digest):
            return
        what, instead = "that of", "replace it or run `metacog doctor STUDY --fetch`"
        if self.digest is None:
            what = "the one first fetched here as"
            instead = f"if the new file is meant, delete {self._note(home)} and fetch again"
        raise SourceError(
            f"{where}: the content is not {what} source {self.name!r}: expected sha256 {expected}, found {digest}; "
            f"{instead}"
        )


def fetch(
    sources: Mapping[str, PinnedFile], home: Home, names: Sequence[str] = (), *, folder: Path | None = None,
    transport: httpx.BaseTransport | None = None, progress: Progress | None = None,
) -> list[Fetched]:  # fmt: skip
    """Bring the named ones of a benchmark's ``sources`` (all when empty) into ``home``, verified."""
    benchmark = next(iter(sources.values())).benchmark
    return fetch_each(
        benchmark, home, sources, names, lambda each: each.fetch(home, folder, transport, progress)
    )


def kept_digests(sources: Mapping[str, PinnedFile], home: Home, names: Sequence[str]) -> dict[str, str]:
    """Return the digests of the named sources that are kept in ``home``; one that is not fetched is left out."""
    found = {name: sources[name].kept_digest(home) for name in names}
    return {name: digest for name, digest in found.items() if digest is not None}


def brought(sources: Mapping[str, PinnedFile], benchmark: Any) -> str:
    """Bring what a bound benchmark needs home and return where it comes from; its data set where it needs nothing."""
    if names := benchmark.needed_sources():
        return "; ".join(each.origin for each in fetch(sources, benchmark.study.home, names))
    return str(benchmark.settings.dataset)
