"""A study as TOML text, written from data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def toml_text(table: Mapping[str, Any]) -> str:
    """Return ``table`` as TOML; None stands for no key."""
    import tomlkit  # late: only who writes a study waits for it

    return tomlkit.dumps(_without_none(table))


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_none(each) for key, each in value.items() if each is not None}
    return [_without_none(each) for each in value] if isinstance(value, list | tuple) else value
