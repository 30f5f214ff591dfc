"""The published data set of MEDLEY-BENCH, version 1.0: where it is, what it must be, how it is fetched.

Its files are downloaded as the authors' repository archive at a fixed commit, or taken from a folder, a zip archive, or the
wheel of the package medley-bench 0.5.3, which is never installed: ``pip download medley-bench==0.5.3 --no-deps``, then
``metacog doctor STUDY --fetch --from FILE``.
"""

from __future__ import annotations

import contextlib
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmark import source_files
from metacog_pipeline.benchmark.source_files import Fetched
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import canonical_json, replacing, sha256_hex
from metacog_pipeline.home import Home
from metacog_pipeline.sources import read_bytes

PUBLISHED = "medley"
URL = "https://codeload.github.com/ki-smile/medley-bench/zip/7f7071ea9b140a07b651a8b7ba8734db17c3774e"
MAX_BYTES = 64 * 1024**2  # of one file
MAX_ARCHIVE_BYTES = 512 * 1024**2
INSTANCES = 130
DIGESTS = {
    "instances/medical.json": "fd99bd35c63eb9f98823d2ce468673a18cae9f28ac09a7dbbcc76b38780c2690",
    "instances/troubleshooting.json": "878d8577f406d7b12f4afb2a8b8dffa763ac760e90c00423c21cb4c5fd496610",
    "instances/code_review.json": "fd7ee11146a4986c35d1e11c076304b56e38eb483643e4dc06d64e6e06b85211",
    "instances/architecture.json": "70b4002594c52e8a39e1deb5b2969c729cc580b0f6891b1c74532ca9a8ba26ad",
    "instances/statistical_reasoning.json": "3514d9626f3872bf62d48587875a589fb97ce966850a9ff5abdc8f82bc02f40a",
    "consensus/medical.json": "72943ad524409327dfcdac7fbc7474b7e6b3f2b743b1e99ff20b132c2f027cd3",
    "consensus/troubleshooting.json": "8d452330ffb8bac4b6c5c1d1826c8dbb76daad50e657133c89a61b4a8c70d587",
    "consensus/code_review.json": "8ce7760a8736dcb31253556657deed9502fc1833253f8755395e51c3421250e1",
    "consensus/architecture.json": "1be310041fa91a747b7da6e9ff4121c24785780e10240d126e3f7372b9d9cfc0",
    "consensus/statistical_reasoning.json": "9148d37962c1e1b01068c7bbe9ba6762d138ec57bc979c564b59be7a390abbfe",
    "known_answers.json": "f74d6219a36ff1cd2782aa9a728a2841e55bbbaf5c8e2efb95c9f381d1620f93",
    "consensus_verification.json": "e195673e069f7e0079ac48f05a6a051b7d97652d039fb71b385fdf2bc52bcddf",
    "consensus_verified_wrong.json": "44448e12fa1350211d028ca203b352553f0266f9c4a9cc6b43d8b838338bd248",
    "selection_metadata.json": "1bba6e876536dfc3cf5aa774d0c6957c17a63344c21e8c908e2485954d27fa30",
    "metadata.json": "3f15fb88dfade3dd7d68671de983ab126edbb9e24ec11a72e60608cdacd11186",
}
DIGEST = sha256_hex(canonical_json(DIGESTS))


def source_path(home: Home) -> Path:
    """Return the folder in which the verified source is kept."""
    return source_files.sources_folder(home, "medley") / "v1.0"


def fetch(home: Home, names: Sequence[str] = (), *, folder: Path | None = None, **how: Any) -> list[Fetched]:
    """Bring the source into ``home``, verified, downloaded or from ``folder``; what is already there is left alone."""

    def bring(url: str) -> Fetched:
        with contextlib.suppress(SourceError):
            return Fetched(PUBLISHED, load_source(home), INSTANCES, DIGEST, "already here")
        if folder is not None:
            return _keep(home, folder, str(folder))
        keep, arrived = partial(_keep, home, origin=url), source_path(home).with_name("v1.0.download.zip")
        usual = {"transport": None, "progress": None, "limit": MAX_ARCHIVE_BYTES}
        return source_files.downloaded(PUBLISHED, url, arrived, keep, **{**usual, **how})

    return source_files.fetch_each("medley", home, {PUBLISHED: URL}, names, bring)


def load_source(home: Home) -> Path:
    """Return the folder of the kept source after checking every file against its digest."""
    if not (folder := source_path(home)).exists():
        told = "run `metacog doctor STUDY --fetch`, `--from PLACE` with a copy"
        raise SourceError(f"{folder}: source {PUBLISHED!r} is not fetched; {told}")
    for file in DIGESTS:
        _pinned(file, [read_bytes(folder / file, MAX_BYTES)], str(folder / file))
    return folder


def kept_digest(home: Home) -> str | None:
    """Return the digest the kept source must have, without reading its files; None where it is not kept."""
    return DIGEST if all((source_path(home) / file).is_file() for file in DIGESTS) else None


def _keep(home: Home, place: Path, origin: str) -> Fetched:
    """Find all files of the source in a folder or an archive, and only then keep copies of them with a note."""
    contents = {file: _pinned(file, _copies(place, file), origin) for file in DIGESTS}
    folder = source_path(home)
    for file, content in contents.items():
        with replacing(folder / file) as temporary:
            temporary.write_bytes(content)
    note = {"digest": DIGEST, "files": DIGESTS, "origin": origin, "source": PUBLISHED}
    source_files.write_note(folder.with_name("v1.0.json"), note)
    return Fetched(PUBLISHED, folder, INSTANCES, DIGEST, origin)


def _copies(place: Path, file: str) -> Iterator[bytes]:
    """Yield the files of this path in a folder, then those in its archives; or those in an archive."""
    archives = [place]
    if place.is_dir():
        yield from (read_bytes(path, MAX_BYTES) for path in sorted(place.rglob(file)))
        archives = sorted(path for path in place.iterdir() if path.suffix in (".whl", ".zip"))
    for archive in archives:
        try:
            with zipfile.ZipFile(archive) as opened:
                for member in opened.infolist():
                    if f"/{member.filename}".endswith(f"/{file}") and member.file_size <= MAX_BYTES:
                        yield opened.read(member)
        except (OSError, ValueError, RuntimeError, zipfile.BadZipFile) as error:
            why = f"cannot be read as a zip archive or wheel ({error}); replace the file"
            raise SourceError(f"{archive}: {why}") from None


def _pinned(file: str, copies: Iterable[bytes], where: str) -> bytes:
    found = {}
    for content in copies:
        found[sha256_hex(content)] = content
        if DIGESTS[file] in found:
            return content
    told = f"expected sha256 {DIGESTS[file]}, found {next(iter(found), 'no such file')}"
    why = f"the content is not that of {file!r} of source {PUBLISHED!r}: {told}"
    raise SourceError(f"{where}: {why}; replace it or run `metacog doctor STUDY --fetch`")
