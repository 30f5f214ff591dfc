"""A draw without replacement that every implementation agrees on."""

from __future__ import annotations

from collections.abc import Iterable

from metacog_pipeline.files import sha256_hex


def seeded_sample(item_ids: Iterable[str], k: int, seed: int, purpose: str) -> list[str]:
    """Return the ``k`` ids with the smallest SHA-256 of ``"{seed}:{purpose}:{item_id}"``, in that order.

    Fewer than ``k`` ids gives all of them. Adding or removing one id changes the draw only locally, and no
    library's random generator is involved.
    """
    return sorted(item_ids, key=lambda name: (sha256_hex(f"{seed}:{purpose}:{name}"), name))[: max(k, 0)]
