"""The study's settings, the item, and the published sources that items are built from.

An item is one question with six options in the benchmark's own order: E is always "none of the above", F "I don't know or
cannot answer"; the key (``target``) says which is right. This module loads no table library, because every command that
reads a study file imports it.

=============  =========================================================================================  =====
``medqa``      MedQA-USMLE test questions with four choices (Jin et al. 2021, arXiv:2009.13081)           1,273
``metamedqa``  the benchmark as published                                                                 1,373
``glianorex``  its fictional questions, choices A-D; taken from the published file when there is no own   100
=============  =========================================================================================  =====
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from metacog_pipeline.benchmark import item
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import file_sha256
from metacog_pipeline.home import Home
from metacog_pipeline.interchange import source_files
from metacog_pipeline.sources import JsonRow, content_digest, named_files, read_lines, write_rows
from metacog_pipeline.study import sections
from metacog_pipeline.study.sections import Stage, setting

if TYPE_CHECKING:
    import httpx

    from metacog_pipeline.benchmark.contract import Source

NAME = "metamedqa"
BASELINE = "baseline"
Letter = Literal["A", "B", "C", "D", "E", "F"]
LETTERS: tuple[Letter, ...] = ("A", "B", "C", "D", "E", "F")
NONE_OF_THE_ABOVE = "None of the above"
CANNOT_ANSWER = "I don't know or cannot answer"
MEDIA_ABSENT = "media_absent_but_answerable"
E_SHARE_FLAG = 0.20  # above this share of E the missing-answer recall says little (base rate 8.4 %)
Kind = Literal["Original", "Answer removed", "Answer modified", "Question modified", "Bad", "Fictional"]
Dataset = Literal["published", "corrected", "sample", "custom"]
FETCHED = ("published", "corrected")
RAW_GITHUB = "https://raw.githubusercontent.com"


class Settings(sections.Settings):
    """``[benchmarks.metamedqa]``: which questions, how many, under which system messages.

    ``folder`` holds ``parent.jsonl``, ``edits.jsonl`` and ``fictional.jsonl`` for ``dataset = "custom"``;
    ``wording`` is a TOML file with the exact texts of another study. Both are relative to the study file.
    """

    limit: int | None = setting(Stage.ASKING, None, ge=1, strict=True)
    dataset: Dataset = setting(Stage.ITEMS, "published")
    conditions: Annotated[tuple[str, ...], Field(min_length=1)] = setting(Stage.ASKING, (BASELINE,))
    folder: sections.PathText | None = setting(Stage.ITEMS, None)

    @field_validator("conditions")
    @classmethod
    def _unique(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return sections.each_once(value)

    @model_validator(mode="after")
    def _custom_needs_folder(self) -> Settings:
        if (self.dataset == "custom") != (self.folder is not None):
            raise ValueError('dataset = "custom" and folder = "…" go together: give both or neither')
        return self


class Item(item.Item):
    """One question as it is asked.

    ``source_index`` is the 0-based row of the parent set (None for fictional items); ``source_target`` the key before
    editing (None where unknown); ``edit_kind`` what was done to the parent item, if anything; ``tags`` names subsets
    reported separately, such as ``media_absent_but_answerable`` or ``anomaly``.
    """

    question: str
    options: tuple[str, str, str, str, str, str]
    target: Letter
    kind: Kind
    meta_info: str
    source_index: int | None = None
    source_target: str | None = None
    edit_kind: str | None = None
    tags: tuple[str, ...] = ()

    def asked_and_scored_by(self) -> Any:
        """Return question, options and key."""
        return [self.question, list(self.options), self.target]

    @property
    def answer(self) -> str:
        """The text of the keyed option."""
        return self.options[LETTERS.index(self.target)]


# --- sources ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class PinnedSource:
    """A published file: its path under `RAW_GITHUB` at a fixed commit, and what it must contain.

    ``digest`` is the SHA-256 of the canonical content; ``names`` are the file names looked for in a folder, each also with
    ``.gz``. A fetched source is kept as ``<home>/sources/metamedqa/<name>.jsonl`` with a note of its origin.
    """

    name: str
    url_path: str | None
    digest: str
    rows: int
    names: tuple[str, ...]
    licence: str

    @property
    def declared(self) -> Source:
        """The source as the contract has it."""
        from metacog_pipeline.benchmark.contract import Source  # loads Polars

        def bring(home: Home, **how: Any) -> source_files.Fetched:
            return fetch(home, (self.name,), **how)[0]

        def digest(home: Home) -> str | None:
            return self.digest if source_path(home, self.name).exists() else None

        urls = () if self.url_path is None else (f"{RAW_GITHUB}/{self.url_path}",)
        return Source(self.name, urls, self.licence, bring, digest)


SOURCES: Mapping[str, PinnedSource] = {
    source.name: source
    for source in (
        PinnedSource(
            "medqa",
            "xk-huang/medagents-benchmark/56ca11eb1ef89f6bb7fad6284008bf39e08785b0/data/medqa/test.jsonl",
            "430ba1b3e2f9b0781beea94e428ffe7fbdbe20c1f2c449e8b2714bcdd7132b85",
            1273,
            ("medqa_usmle_4opt_test.jsonl", "medqa.jsonl", "phrases_no_exclude_test.jsonl", "test.jsonl"),
            "MIT (jind11/MedQA and the copy that is fetched); rights in the examination questions are unclear; not shipped",
        ),
        PinnedSource(
            "metamedqa",
            "expertailab/Can-LLMs-Reason-Like-Doctors/05d33d60beaa041e306a45f98a5a1647b911b8d8"
            "/data/benchmarks/metamedqa.jsonl",
            "72a45a35fd3b4a743523aa6bf999ab5825bb9d0f968b33152b0fce8431d565cd",
            1373,
            ("metamedqa_published.jsonl", "metamedqa.jsonl"),
            "MIT (maximegmd/MetaMedQA); none stated by the copy that is fetched; not shipped",
        ),
        PinnedSource(
            "glianorex",
            None,
            "d54e6b7034c95161f8cae94aa9db2c176ec25159588210986087fbc496ce2148",
            100,
            ("glianorex_en_100.jsonl", "glianorex.jsonl"),
            "MIT (maximegmd/glianorex-gen), as rows of the published set; not shipped",
        ),
    )
}


def source_path(home: Home, name: str) -> Path:
    """Return where a verified source is kept."""
    return source_files.sources_folder(home, NAME) / f"{name}.jsonl"


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

    With ``folder`` they are taken from files in it or its subfolders, without it downloaded from ``base_url``. ``sources``
    are `SOURCES` where none are given. Raises SourceError for an unknown name, a file that is not there or cannot be
    downloaded, or content that is not the pinned one.
    """
    known = SOURCES if sources is None else sources
    if folder is not None and not folder.is_dir():
        raise SourceError(f"--from {folder}: no such folder")

    def bring(source: PinnedSource) -> source_files.Fetched:
        def keep(path: Path, origin: str = "") -> source_files.Fetched:
            return _keep(home, source, _rows(path), origin or str(path))

        path = source_path(home, source.name)
        if path.exists() and (rows := _pinned_rows(source, path)):
            return source_files.Fetched(source.name, path, rows, source.digest, "already here")
        own = folder is not None and next(named_files(folder, source.names), None) is not None
        if source.url_path is None and not own:
            published = bring(known["metamedqa"]).path
            found = fictional_rows(_rows(published))
            return _keep(home, source, found, f"rows of kind Fictional in {published.name}")
        if folder is not None:
            return source_files.first_right(source.name, source.names, folder, keep)
        url, arrived = f"{base_url}/{source.url_path}", path.with_suffix(".download")
        return source_files.downloaded(
            source.name, url, arrived, lambda file: keep(file, url), transport=transport, progress=progress
        )

    return source_files.fetch_each(NAME, home, known, names, bring)


def load_source(home: Home, name: str, sources: Mapping[str, PinnedSource] | None = None) -> Path:
    """Return the path of a kept source after checking its content against the pinned digest."""
    path, source = source_path(home, name), (SOURCES if sources is None else sources)[name]
    if not path.exists():
        raise SourceError(
            f"{path}: source {name!r} is not fetched; run `metacog doctor STUDY --fetch`, or add `--from DIR` with a copy"
        )
    if not _pinned_rows(source, path):
        _verify(source, _rows(path), str(path))
    return path


def _pinned_rows(source: PinnedSource, path: Path) -> int:
    """Return how many rows a kept source has; 0 where it is not the pinned one. It is kept as canonical JSON."""
    return source.rows if file_sha256(path) == source.digest else 0


def fictional_rows(published: Sequence[JsonRow]) -> list[JsonRow]:
    """Return the fictional rows of a published file as a pool: choices A-D, English, own key unknown."""
    return [
        {
            "published_position": place,
            "question": row.get("question"),
            "options": {letter: row.get("options", {}).get(letter) for letter in LETTERS[:4]},
            "language": "en",
            "source_answer_idx": None,
        }
        for place, row in enumerate(published)
        if row.get("kind") == "Fictional"
    ]


def _keep(home: Home, source: PinnedSource, rows: list[JsonRow], origin: str) -> source_files.Fetched:
    _verify(source, rows, origin)
    path = source_path(home, source.name)
    write_rows(path, rows)
    note = {"digest": source.digest, "origin": origin, "rows": len(rows), "source": source.name}
    source_files.write_note(path.with_suffix(".json"), note)
    return source_files.Fetched(source.name, path, len(rows), source.digest, origin)


def _verify(source: PinnedSource, rows: Sequence[JsonRow], where: str) -> None:
    if (digest := content_digest(rows)) != source.digest:
        raise SourceError(
            f"{where}: the content is not that of source {source.name!r}: expected {source.rows} rows with digest "
            f"{source.digest}, found {len(rows)} rows with {digest}; replace it or run `metacog doctor STUDY --fetch`"
        )


def _rows(path: Path) -> list[JsonRow]:
    return [line.row for line in read_lines(path)]
