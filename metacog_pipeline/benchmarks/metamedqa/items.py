"""The item of MetaMedQA and its dataset file.

One row is one question with six options A..F, in the benchmark's own order. E is always "none of the above" and
F "I don't know or cannot answer"; the key (``target``) says which is right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from metacog_pipeline.files import canonical_json, sha256_hex

Letter = Literal["A", "B", "C", "D", "E", "F"]
LETTERS: tuple[Letter, ...] = ("A", "B", "C", "D", "E", "F")
NONE_OF_THE_ABOVE = "None of the above"
CANNOT_ANSWER = "I don't know or cannot answer"

Kind = Literal["Original", "Answer removed", "Answer modified", "Question modified", "Bad", "Fictional"]


@dataclass(frozen=True, slots=True)
class Item:
    """One question as it is asked.

    ``position`` is the 0-based place in the dataset; ``source_index`` the 0-based row of the parent set (``None`` for
    fictional items); ``source_target`` the key before editing (``None`` where unknown); ``edit_kind`` what was
    done to the parent item, if anything; ``tags`` names subsets reported apart, such as
    ``media_absent_but_answerable`` or ``anomaly``.
    """

    item_id: str
    position: int
    question: str
    options: tuple[str, str, str, str, str, str]
    target: Letter
    kind: Kind
    meta_info: str
    dataset: str
    source_index: int | None = None
    source_target: str | None = None
    edit_kind: str | None = None
    tags: tuple[str, ...] = ()

    @property
    def item_hash(self) -> str:
        """SHA-256 over everything that decides how the item is asked and scored."""
        return sha256_hex(canonical_json([self.question, list(self.options), self.target]))
