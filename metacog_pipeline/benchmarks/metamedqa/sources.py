"""The published data sets of MetaMedQA: where they are, what they must contain, how they are fetched.

=============  =========================================================================================  =====
``medqa``      MedQA-USMLE test questions with four choices (Jin et al. 2021, arXiv:2009.13081)           1,273
``metamedqa``  the benchmark as published                                                                 1,373
``glianorex``  its fictional questions, choices A-D; taken from the published file when there is no own   100
=============  =========================================================================================  =====

A fetched source is kept as ``<home>/sources/metamedqa/<name>.jsonl`` with a note of its origin beside it, and only
if the digest of its content is the pinned one. It is checked again whenever it is read.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metacog_pipeline.benchmark import contract, source_files
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import file_sha256, state_of
from metacog_pipeline.home import Home
from metacog_pipeline.sources import JsonRow, content_digest, named_files, read_lines, write_rows

if TYPE_CHECKING:
    import httpx

RAW_GITHUB = "https://raw.githubusercontent.com"
LICENCE = "that of its authors; fetched, never shipped"


@dataclass(frozen=True, slots=True)
class PinnedSource:
    """A published file: its path under :data:`RAW_GITHUB` at a fixed commit, and what it must contain.

    ``digest`` is the SHA-256 of the canonical content; ``names`` are the file names looked for in a folder, each
    also with ``.gz``.
    """

    name: str
    url_path: str | None
    digest: str
    rows: int
    names: tuple[str, ...]

    @property
    def declared(self) -> contract.Source:
        """The source as the contract has it."""

        def bring(home: Home, **how: Any) -> source_files.Fetched:
            return fetch(home, (self.name,), **how)[0]

        def digest(home: Home) -> str | None:
            return self.digest if source_path(home, self.name).exists() else None

        urls = () if self.url_path is None else (f"{RAW_GITHUB}/{self.url_path}",)
        return contract.Source(self.name, urls, LICENCE, bring, digest)


SOURCES: Mapping[str, PinnedSource] = {
    source.name: source
    for source in (
        PinnedSource(
            "medqa",
            "xk-huang/medagents-benchmark/56ca11eb1ef89f6bb7fad6284008bf39e08785b0/data/medqa/test.jsonl",
            "430ba1b3e2f9b0781beea94e428ffe7fbdbe20c1f2c449e8b2714bcdd7132b85",
            1273,
            ("medqa_usmle_4opt_test.jsonl", "medqa.jsonl", "phrases_no_exclude_test.jsonl", "test.jsonl"),
        ),
        PinnedSource(
            "metamedqa",
            "expertailab/Can-LLMs-Reason-Like-Doctors/05d33d60beaa041e306a45f98a5a1647b911b8d8"
            "/data/benchmarks/metamedqa.jsonl",
            "72a45a35fd3b4a743523aa6bf999ab5825bb9d0f968b33152b0fce8431d565cd",
            1373,
            ("metamedqa_published.jsonl", "metamedqa.jsonl"),
        ),
        PinnedSource(
            "glianorex",
            None,
            "d54e6b7034c95161f8cae94aa9db2c176ec25159588210986087fbc496ce2148",
            100,
            ("glianorex_en_100.jsonl", "glianorex.jsonl"),
        ),
    )
}


def source_path(home: Home, name: str) -> Path:
    """Return where a verified source is kept."""
    return source_files.sources_folder(home, "metamedqa") / f"{name}.jsonl"


def fetch(
    home: Home,
    names: Sequence[str] = (),
    *,
    folder: Path | None = None,
    base_url: str = RAW_GITHUB,
    transport: httpx.BaseTransport | None = None,
    progress: source_files.Progress | None = None,
    sources: Mapping[str, PinnedSource] | None = None,
) -> list[source_files.Fetched]:
    """Bring the named sources (all when empty) into ``home``, verified; what is already there is left alone.

    With ``folder`` they are taken from files in it or its subfolders, without it downloaded from ``base_url``.
    ``sources`` are :data:`SOURCES` where none are given.

    Raises SourceError for an unknown name, a file that is not there or cannot be downloaded, or content that is not
    the pinned one.
    """
    known = SOURCES if sources is None else sources
    if folder is not None and not folder.is_dir():
        raise SourceError(f"--from {folder}: no such folder")

    def bring(source: PinnedSource) -> source_files.Fetched:
        def keep(path: Path, origin: str = "") -> source_files.Fetched:
            return _keep(home, source, _rows(path), origin or str(path))

        if (kept := _kept(home, source)) is not None:
            return kept
        own = folder is not None and next(named_files(folder, source.names), None) is not None
        if source.url_path is None and not own:
            published = bring(known["metamedqa"]).path
            rows = fictional_rows(_rows(published))
            return _keep(home, source, rows, f"rows of kind Fictional in {published.name}")
        if folder is not None:
            return source_files.first_right(source.name, source.names, folder, keep)
        url = f"{base_url}/{source.url_path}"
        arrived = source_path(home, source.name).with_suffix(".download")
        return source_files.downloaded(
            source.name, url, arrived, lambda path: keep(path, url), transport=transport, progress=progress
        )

    return source_files.fetch_each("metamedqa", home, known, names, bring)


def load_source(home: Home, name: str, sources: Mapping[str, PinnedSource] | None = None) -> Path:
    """Return the path of a kept source after checking its content against the pinned digest."""
    path = source_path(home, name)
    if not path.exists():
        raise SourceError(
            f"{path}: source {name!r} is not fetched; run `metacog doctor STUDY --fetch`, or add `--from DIR` with a copy"
        )
    _verified((SOURCES if sources is None else sources)[name], path, *state_of(path))
    return path


@functools.lru_cache(maxsize=8)  # the steps of one construction read the same files
def _verified(source: PinnedSource, path: Path, *state: int) -> int:
    """Return how many rows a kept source has, once for each state of its file."""
    if file_sha256(path) == source.digest:  # it is kept as canonical JSON, so that its bytes are its content
        return source.rows
    rows = _rows(path)
    _verify(source, rows, str(path))
    return len(rows)


def _kept(home: Home, source: PinnedSource) -> source_files.Fetched | None:
    path = source_path(home, source.name)
    if not path.exists():
        return None
    try:
        rows = _verified(source, path, *state_of(path))
    except SourceError:
        return None
    return source_files.Fetched(source.name, path, rows, source.digest, "already here")


def fictional_rows(published: Sequence[JsonRow]) -> list[JsonRow]:
    """Return the fictional rows of a published file as a pool: choices A-D, English, own key unknown."""
    return [
        {
            "published_position": place,
            "question": row.get("question"),
            "options": {letter: row.get("options", {}).get(letter) for letter in "ABCD"},
            "language": "en",
            "source_answer_idx": None,
        }
        for place, row in enumerate(published)
        if row.get("kind") == "Fictional"
    ]


def _keep(home: Home, source: PinnedSource, rows: list[JsonRow], origin: str) -> source_files.Fetched:
    digest = _verify(source, rows, origin)
    path = source_path(home, source.name)
    write_rows(path, rows)
    note = {"digest": digest, "origin": origin, "rows": len(rows), "source": source.name}
    source_files.write_note(path.with_suffix(".json"), note)
    return source_files.Fetched(source.name, path, len(rows), digest, origin)


def _verify(source: PinnedSource, rows: Sequence[JsonRow], where: str) -> str:
    digest = content_digest(rows)
    if digest != source.digest:
        raise SourceError(
            f"{where}: the content is not that of source {source.name!r}: expected {source.rows} rows with digest "
            f"{source.digest}, found {len(rows)} rows with {digest}; replace it or run `metacog doctor STUDY --fetch`"
        )
    return digest


def _rows(path: Path) -> list[JsonRow]:
    return [line.row for line in read_lines(path)]
