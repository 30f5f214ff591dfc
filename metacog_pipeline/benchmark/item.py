"""The item: one stimulus of a benchmark."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from metacog_pipeline.files import canonical_json, sha256_hex


class Item(BaseModel):
    """One stimulus: a question, a case, a trial. Its Parquet file is written and read by its own annotations.

    ``item_id`` is unique within the benchmark, ``position`` the 0-based place in the order of asking. A frozen pydantic
    model: pairs ``tuple[tuple[str, str], ...]`` become maps, ``tuple[str, ...]`` lists, other parts are `schema.AsJson`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    item_id: str
    dataset: str
    position: int = 0

    def asked_and_scored_by(self) -> Any:
        """Return what decides how the item is asked and scored, as JSON: `item_hash` is its digest."""
        return self.model_dump(mode="json", exclude={"position"})

    @property
    def cluster(self) -> str:
        """What is drawn together when items are resampled: the item itself, unless a benchmark's items hang together."""
        return self.item_id

    @cached_property
    def item_hash(self) -> str:
        """SHA-256 of `asked_and_scored_by`: an item that changed is asked again."""
        return sha256_hex(canonical_json(self.asked_and_scored_by()))

    def model_copy(self, *, update: Any = None, deep: bool = False) -> Self:
        """Return a copy that has what follows from its own fields."""
        copied = super().model_copy(update=update, deep=deep)
        for name in set(copied.__dict__) - set(type(self).model_fields):
            del copied.__dict__[name]
        return copied
