"""The published data set of MEDLEY-BENCH, version 1.0: where it is, what it must be, how it is fetched.

One source of fifteen files: five of instances, five of their consensus, the known answers, the verification by three
judges with the claims found wrong, how the analysts were selected, and a small description. They are downloaded as the
authors' repository archive at a fixed commit, or taken from a folder, a repository archive, or the wheel of the package
medley-bench 0.5.3, which holds the same files; a wheel is read as the zip file it is, and never installed. One comes with
``pip download medley-bench==0.5.3 --no-deps``, and ``metacog doctor STUDY --fetch --from FILE`` takes the data out of it.

Each file is pinned by the SHA-256 of its bytes and kept as ``<home>/sources/medley/v1.0/<file>``, with a note of its
origin beside the folder; it is checked again whenever the source is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from metacog_pipeline.benchmarks.medley.archives import files_ending_in, is_archive
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import canonical_json, replacing, sha256_hex
from metacog_pipeline.home import Home
from metacog_pipeline.interchange.source_files import (
    Fetched,
    Progress,
    downloaded,
    fetch_each,
    sources_folder,
    write_note,
)
from metacog_pipeline.sources import read_bytes

if TYPE_CHECKING:
    import httpx

PUBLISHED = "medley"
MAX_BYTES = 64 * 1024**2  # of one file
MAX_ARCHIVE_BYTES = 512 * 1024**2
_INSTANCES = 130


@dataclass(frozen=True, slots=True)
class Source:
    """A published set of files. ``kept_as`` is its folder in a home, ``digests`` {path: SHA-256 of the bytes}.

    ``url`` is an archive that holds the files; ``rows`` the number of instances.
    """

    name: str
    url: str
    kept_as: str
    digests: Mapping[str, str]
    rows: int


SOURCES: Mapping[str, Source] = {
    PUBLISHED: Source(
        PUBLISHED,
        "https://codeload.github.com/ki-smile/medley-bench/zip/7f7071ea9b140a07b651a8b7ba8734db17c3774e",
        "v1.0",
        {
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
        },
        _INSTANCES,
    )
}


def source_path(home: Home, name: str) -> Path:
    """Return the folder in which a verified source is kept."""
    known = SOURCES.get(name)
    return sources_folder(home, "medley") / (known.kept_as if known else name)


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

    With ``folder`` they are taken from it: a folder with the files, or with an archive of them, or such an archive
    itself (wheel, zip, tar). Without it they are downloaded. ``sources`` are :data:`SOURCES` where none are given. Raises
    SourceError for an unknown name, a file that is not there or cannot be downloaded, or one that is not the pinned one.
    """
    sources = SOURCES if sources is None else sources
    if folder is not None and not folder.is_dir() and not (folder.is_file() and is_archive(folder)):
        raise SourceError(f"--from {folder}: no such folder, wheel or archive (.whl, .zip, .tar.gz)")

    def bring(source: Source) -> Fetched:
        kept = _kept(home, source)
        if kept is not None:
            return kept
        if folder is not None:
            return _keep(home, source, folder, str(folder))
        return downloaded(
            source.name,
            source.url,
            source_path(home, source.name).with_name(f"{source.kept_as}.download.zip"),
            lambda archive: _keep(home, source, archive, source.url),
            transport=transport,
            progress=progress,
            limit=MAX_ARCHIVE_BYTES,
        )

    return fetch_each("medley", home, sources, names, bring)


def load_source(home: Home, name: str = PUBLISHED, sources: Mapping[str, Source] | None = None) -> Path:
    """Return the folder of a kept source after checking every file against its digest."""
    source = (SOURCES if sources is None else sources)[name]
    folder = source_path(home, name)
    if not folder.exists():
        raise SourceError(
            f"{folder}: source {name!r} is not fetched; run `metacog doctor STUDY --fetch`, `--from PLACE` with a copy"
        )
    for file, digest in source.digests.items():
        _require(source, file, sha256_hex(read_bytes(folder / file, MAX_BYTES)), digest, str(folder / file))
    return folder


def kept_digest(home: Home, name: str = PUBLISHED) -> str | None:
    """Return the digest a kept source must have, without reading its files; None where it is not kept."""
    source = SOURCES[name]
    folder = source_path(home, name)
    return _digest(source) if all((folder / file).is_file() for file in source.digests) else None


def _kept(home: Home, source: Source) -> Fetched | None:
    try:
        path = load_source(home, source.name, {source.name: source})
    except SourceError:
        return None
    return Fetched(source.name, path, source.rows, _digest(source), "already here")


def _keep(home: Home, source: Source, place: Path, origin: str) -> Fetched:
    """Find all files of the source in a folder or an archive, and only then keep copies of them with a note."""
    contents = {file: _right_file(source, place, file, origin) for file in source.digests}
    folder = source_path(home, source.name)
    for file, content in contents.items():
        with replacing(folder / file) as temporary:
            temporary.write_bytes(content)
    digest = _digest(source)
    note = {"digest": digest, "files": dict(source.digests), "origin": origin, "source": source.name}
    write_note(folder.with_name(f"{source.kept_as}.json"), note)
    return Fetched(source.name, folder, source.rows, digest, origin)


def _right_file(source: Source, place: Path, file: str, origin: str) -> bytes:
    """Return the first file of that name whose content is right; complain about the first that is not."""
    wrong: SourceError | None = None
    for where, content in files_ending_in(place, file, MAX_BYTES):
        try:
            _require(source, file, sha256_hex(content), source.digests[file], where)
        except SourceError as error:
            wrong = wrong or error
        else:
            return content
    raise wrong or SourceError(
        f"{origin}: no file {file!r} of source {source.name!r} in it, nor in a wheel or archive there"
    )


def _require(source: Source, file: str, digest: str, expected: str, where: str) -> None:
    if digest != expected:
        raise SourceError(
            f"{where}: the content is not that of {file!r} of source {source.name!r}: expected sha256 {expected}, found "
            f"{digest}; replace it or run `metacog doctor STUDY --fetch`"
        )


def _digest(source: Source) -> str:
    return sha256_hex(canonical_json(dict(source.digests)))
