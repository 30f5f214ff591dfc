"""Published files brought home, verified: what every benchmark does alike when it fetches what it is built from."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import write_text
from metacog_pipeline.home import Home
from metacog_pipeline.sources import MAX_SOURCE_BYTES, download, named_files

if TYPE_CHECKING:
    import httpx

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
    benchmark: str,
    home: Home,
    sources: Mapping[str, SourceT],
    names: Sequence[str],
    bring: Callable[[SourceT], Fetched],
) -> list[Fetched]:
    """Call ``bring`` for each named source, or for all of them when none is named.

    SourceError for an unknown name, before anything is brought, and where nothing can be written.
    """
    for name in names:
        if name not in sources:
            raise SourceError(f"{name!r} is no source of {benchmark}; there are: {', '.join(sources)}")
    try:
        return [bring(sources[name]) for name in names or sources]
    except OSError as error:
        where = sources_folder(home, benchmark)
        raise SourceError(
            f"{where}: cannot be written ({error.strerror or error}); check it and its space"
        ) from None


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
    name: str,
    url: str,
    arrived: Path,
    keep: Callable[[Path], KeptT],
    *,
    transport: httpx.BaseTransport | None,
    progress: Progress | None,
    limit: int = MAX_SOURCE_BYTES,
    redirects: Sequence[str] = (),
) -> KeptT:
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
