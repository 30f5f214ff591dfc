"""The study's settings, the item, and the published sources that items are built from.

An item is one question with six options in the benchmark's own order: E is always "none of the above", F "I don't know or
cannot answer"; the key (``target``) says which is right.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from metacog_pipeline.benchmark import item, source_files
from metacog_pipeline.benchmark.source_files import PinnedFile
from metacog_pipeline.errors import SourceError
from metacog_pipeline.sources import content_digest, read_lines
from metacog_pipeline.study import sections
from metacog_pipeline.study.sections import Stage, setting

NAME = "metamedqa"
BASELINE = "baseline"
Letter = Literal["A", "B", "C", "D", "E", "F"]
LETTERS: tuple[Letter, ...] = ("A", "B", "C", "D", "E", "F")
NONE_OF_THE_ABOVE = "None of the above"
CANNOT_ANSWER = "I don't know or cannot answer"
MEDIA_ABSENT = "media_absent_but_answerable"
# above this share of E the missing-answer recall says little (base rate 8.4 %)
E_SHARE_FLAG = 0.20
Kind = Literal["Original", "Answer removed", "Answer modified", "Question modified", "Bad", "Fictional"]
Dataset = Literal["published", "corrected", "sample", "custom"]
FETCHED = ("published", "corrected")


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
    """One question as it is asked."""

    question: str
    options: tuple[str, str, str, str, str, str]
    target: Letter
    kind: Kind
    meta_info: str
    # the 0-based row of the parent set; a fictional item has none
    source_index: int | None = None
    # the key before editing, where it is known
    source_target: str | None = None
    # what was done to the parent item
    edit_kind: str | None = None
    # subsets reported separately
    tags: tuple[str, ...] = ()

    def asked_and_scored_by(self) -> Any:
        return [self.question, list(self.options), self.target]

    @property
    def answer(self) -> str:
        return self.options[LETTERS.index(self.target)]


# --- sources ----------------------------------------------------------------------------------------------------------
# The MedQA-USMLE test questions with four choices (Jin et al. 2021, arXiv:2009.13081), and the benchmark as published.
#: What a source must contain: the SHA-256 of its canonical content, and how many rows it has.
CONTENTS: dict[str, tuple[str, int]] = {
    "medqa": ("430ba1b3e2f9b0781beea94e428ffe7fbdbe20c1f2c449e8b2714bcdd7132b85", 1273),
    "metamedqa": ("72a45a35fd3b4a743523aa6bf999ab5825bb9d0f968b33152b0fce8431d565cd", 1373),
}


def _verified(name: str, path: Path) -> int:
    """Return how many rows a file has; SourceError unless its content is that of the source, however it is packed."""
    rows = [line.row for line in read_lines(path)]
    expected, n = CONTENTS[name]
    if (digest := content_digest(rows)) != expected:
        raise SourceError(
            f"{path}: the content is not that of source {name!r}: expected {n} rows with digest {expected}, found "
            f"{len(rows)} rows with {digest}; replace it or run `metacog doctor STUDY --fetch`"
        )
    return n


_RAW = "https://raw.githubusercontent.com"
SOURCES: dict[str, PinnedFile] = {
    name: PinnedFile(NAME, name, f"{_RAW}/{place}", licence, f"{name}.jsonl", None, names, partial(_verified, name))
    for name, place, names, licence in (
        (
            "medqa", "xk-huang/medagents-benchmark/56ca11eb1ef89f6bb7fad6284008bf39e08785b0/data/medqa/test.jsonl",
            ("medqa_usmle_4opt_test.jsonl", "medqa.jsonl", "phrases_no_exclude_test.jsonl", "test.jsonl"),
            "MIT (jind11/MedQA and the copy that is fetched); rights in the examination questions are unclear; not shipped",
        ),
        (
            "metamedqa", "expertailab/Can-LLMs-Reason-Like-Doctors/05d33d60beaa041e306a45f98a5a1647b911b8d8"
            "/data/benchmarks/metamedqa.jsonl", ("metamedqa_published.jsonl", "metamedqa.jsonl"),
            "MIT (maximegmd/MetaMedQA, maximegmd/glianorex-gen); none stated by the copy that is fetched; not shipped",
        ),
    )
}  # fmt: skip
fetch = partial(source_files.fetch, SOURCES)
