"""The item: one stimulus of a benchmark; and draws of items that no library's random generator decides, but SHA-256."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from statistics import NormalDist
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict

from metacog_pipeline.files import canonical_json, sha256_hex

DrawnT = TypeVar("DrawnT", bound=Any)
#: Variance of what an item is to everybody and to one observer: items are then hard for all, and runs resemble each other.
COMMON, OWN = 0.35, 0.35
_WEIGHTS = math.sqrt(COMMON), math.sqrt(OWN), math.sqrt(1 - COMMON - OWN)
_NORMAL = NormalDist()


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


# --- draws ------------------------------------------------------------------------------------------------------------
def seeded_sample(item_ids: Iterable[str], k: int, seed: int, purpose: str) -> list[str]:
    """Return the ``k`` ids with the smallest SHA-256 of ``"{seed}:{purpose}:{item_id}"``, in that order."""
    # Fewer than ``k`` ids gives all of them. Adding or removing one id changes the draw only locally.
    return sorted(item_ids, key=lambda name: (sha256_hex(f"{seed}:{purpose}:{name}"), name))[: max(k, 0)]


def drawn(items: Sequence[DrawnT], k: int | None, seed: int, purpose: str) -> list[DrawnT]:
    """Return `seeded_sample` of items by their ``item_id``, in the order they had; all of them where ``k`` is None."""
    if k is None:
        return list(items)
    chosen = set(seeded_sample((item.item_id for item in items), k, seed, purpose))
    return [item for item in items if item.item_id in chosen]


def uniforms(key: str) -> tuple[float, ...]:
    """Return eight numbers strictly between 0 and 1 drawn from SHA-256 of ``key``."""
    digest = sha256_hex(key)
    return tuple((int(digest[i : i + 8], 16) + 0.5) / 2**32 for i in range(0, 64, 8))


def mixed(common: float, own: float, call: float) -> float:
    """Return a standard normal mixed of three uniforms: the item's, an observer's own for it, and that of one call."""
    # Over many items it is the plain normal; over the runs of one item it is not.
    parts = zip(_WEIGHTS, (common, own, call), strict=True)
    return sum(weight * _NORMAL.inv_cdf(u) for weight, u in parts)
