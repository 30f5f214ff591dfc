"""What data sets there are: their parts, the sources of each part, their languages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from metacog_pipeline.benchmarks.selfknowledge.items import DATASETS, LANGUAGES
from metacog_pipeline.errors import StudyError

SAMPLE = "sample"


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """A data set. ``parts`` are {split: the sources it is read from}, the first the one published results are about."""

    name: str
    parts: Mapping[str, tuple[str, ...]]
    languages: tuple[str, ...] = ("en",)

    @property
    def default(self) -> str:
        """The part that is asked where a study names none."""
        return next(iter(self.parts))

    def split(self, named: str | None) -> str:
        """Return the part a study asks; StudyError where there is none such, or its answers are not published."""
        if named is None or named in self.parts:
            return named or self.default
        there = ", ".join(self.parts)
        if self.name == "trivia_qa":
            raise StudyError(
                'selfknowledge: split = "test" of trivia_qa: its answers are not published, so nothing could be right '
                f"and d′ is undefined; there are: {there}"
            )
        raise StudyError(f'selfknowledge: {self.name} has no split "{named}"; there are: {there}')


def _one(name: str, *splits: str, languages: tuple[str, ...] = ("en",)) -> DatasetInfo:
    """Return a data set whose parts are all read from one source of its name."""
    return DatasetInfo(name, dict.fromkeys(splits, (name,)), languages)


_INFO = (
    DatasetInfo(SAMPLE, {"all": (), "train": (), "validation": ()}, LANGUAGES),
    DatasetInfo("trivia_qa", {"validation": ("trivia_qa",), "train": ("trivia_qa_train",),
        "all": ("trivia_qa_train", "trivia_qa")}),
    _one("freebase_qa", "test", "all"),
    _one("nq_open", "validation", "all"),
    _one("web_questions", "test", "all"),
    _one("mkqa", "all", "train", languages=LANGUAGES),  # its only part is published under the name of "train"
    _one("fictional_qa", "all", "train", "validation"),
    _one("efficientqa", "validation", "all"),
    _one("trivia_sample", "validation", "all"),
    _one("popqa", "test", "all"),
    _one("selfaware", "all"),
)  # fmt: skip
_BY_NAME: Mapping[str, DatasetInfo] = {info.name: info for info in _INFO}


def dataset_info(name: str) -> DatasetInfo:
    """Return what is known of the data set; StudyError for a name that is none."""
    if name not in _BY_NAME:
        raise StudyError(f'selfknowledge: unknown dataset "{name}"; there are: {", ".join(DATASETS)}')
    return _BY_NAME[name]
