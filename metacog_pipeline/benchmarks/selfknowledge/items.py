"""The item of the self-knowledge benchmark: one question with the answers that are accepted, in one or more languages.

What data sets there are stands in ``question_sets``, their parts and languages in ``construction.datasets``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import get_args

from metacog_pipeline.benchmark.contract import Item as ContractItem
from metacog_pipeline.benchmarks.selfknowledge.settings import Dataset, Language

BENCHMARK = "selfknowledge"
LANGUAGES: tuple[Language, ...] = get_args(Language)
DATASETS: tuple[Dataset, ...] = get_args(Dataset)
LANGUAGE_OF: Mapping[str, str] = {  # condition -> the language it is asked in
    kind if language == "en" else f"{kind}_{language}": language
    for kind in ("dual", "idk")
    for language in LANGUAGES
}
CONDITIONS = tuple(LANGUAGE_OF)


class Item(ContractItem):
    """One question; ``questions`` and ``answers`` are by language, an empty tuple of answers: nothing is right.

    ``item_id`` is made of data set and source row, so the same in every language, draw and split. ``dataset`` has
    ``-local`` behind it where the questions may not be the published ones. ``position`` is the place in the order the
    items were drawn, which a larger ``limit`` does not change. ``question_id`` is what the source calls the question,
    or its row as text. No key: TriviaQA has questions twice, under one id, which are no independent trials, and
    WebQuestions names the page a question is about. ``event_id`` ties questions about the same thing together. What a
    source does not say is empty.
    """

    split: str
    questions: tuple[tuple[str, str], ...]
    answers: tuple[tuple[str, tuple[str, ...]], ...]
    question_id: str = ""
    event_id: str = ""
    topic: str = ""
    difficulty: str = ""
    source: str = ""
    source_row: int = 0

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages it can be asked in."""
        return tuple(language for language, _ in self.questions)

    def question(self, language: str = "en") -> str | None:
        """Return the question in ``language``; None where there is none."""
        return dict(self.questions).get(language)

    def accepted(self, language: str = "en") -> tuple[str, ...]:
        """Return the answers accepted in ``language``; empty where nothing is right."""
        return dict(self.answers).get(language, ())

    def answerable(self, language: str = "en") -> bool:
        """Whether any answer in ``language`` can be right."""
        return bool(self.accepted(language))

    @property
    def cluster(self) -> str:
        """Questions about one event, or the same question standing twice in a source, are drawn together."""
        return self.event_id or self.question_id or self.item_id

    def asked_and_scored_by(self) -> object:
        """Return questions and answers by language; their order does not matter."""
        return [dict(self.questions), {name: list(each) for name, each in self.answers}]


def asked(items: Iterable[Item], condition: str) -> list[Item]:
    """Return the items that have a question in the language of ``condition``."""
    language = LANGUAGE_OF[condition]
    return [item for item in items if item.question(language) is not None]
