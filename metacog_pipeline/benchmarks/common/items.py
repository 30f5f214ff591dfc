"""The items of a study: whether those at home are the ones it names now; read once, however many partitions ask them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmarks.common.item_files import ItemT
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import canonical_json, sha256_hex, write_text


def note_inputs(path: Path, made_from: str) -> None:
    """Note beside the items at ``path`` the digest of everything they were built from."""
    write_text(_inputs_file(path), _noted(made_from) + "\n")


def inputs_current(path: Path, made_from: Callable[[], str]) -> bool:
    """Whether there are items at ``path``, noted to be built from what ``made_from`` says now."""
    note = _inputs_file(path)
    return path.exists() and note.exists() and note.read_text("utf-8").strip() == _noted(made_from())


def kept_items(path: Path, read: Callable[..., Sequence[ItemT]], *how: Hashable) -> list[ItemT]:
    """Return ``read(path, *how)``, read once for each version of the file; SourceError without a file."""
    if not path.exists():
        raise SourceError(f"{path}: the items are not built yet; run `metacog run` or build them in the UI")
    return list(_items(path, path.stat().st_mtime_ns, read, *how))


def kept_digest(path: Path, read: Callable[..., Sequence[ItemT]], *how: Hashable) -> str:
    """Return the digest of everything that decides how `kept_items` are asked and scored."""
    kept_items(path, read, *how)
    return _digest(path, path.stat().st_mtime_ns, read, *how)


@functools.lru_cache(maxsize=16)  # every partition of a study asks the same items
def _items(path: Path, changed: int, read: Callable[..., Sequence[Any]], *how: Hashable) -> tuple[Any, ...]:
    return tuple(read(path, *how))


@functools.lru_cache(maxsize=16)
def _digest(path: Path, changed: int, read: Callable[..., Sequence[Any]], *how: Hashable) -> str:
    every = _items(path, changed, read, *how)
    return sha256_hex(canonical_json([[item.item_id, item.item_hash] for item in every]))


def _noted(made_from: str) -> str:
    return canonical_json({"made_from": made_from})


def _inputs_file(path: Path) -> Path:
    return path.with_suffix(".inputs.json")
