"""The item: one question with six options in the benchmark's own order, and the key.

E is always "none of the above" and F "I don't know or cannot answer"; the key (``target``) says which is right.
"""

from __future__ import annotations

from typing import Any, Literal

from metacog_pipeline.benchmark import contract

NAME = "metamedqa"
Letter = Literal["A", "B", "C", "D", "E", "F"]
LETTERS: tuple[Letter, ...] = ("A", "B", "C", "D", "E", "F")
NONE_OF_THE_ABOVE = "None of the above"
CANNOT_ANSWER = "I don't know or cannot answer"

Kind = Literal["Original", "Answer removed", "Answer modified", "Question modified", "Bad", "Fictional"]


class Item(contract.Item):
    """One question as it is asked.

    ``source_index`` is the 0-based row of the parent set (``None`` for fictional items); ``source_target`` the key
    before editing (``None`` where unknown); ``edit_kind`` what was done to the parent item, if anything; ``tags`` names
    subsets reported apart, such as ``media_absent_but_answerable`` or ``anomaly``.
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
