"""A study as TOML text, written from data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(table: Mapping[str, Any]) -> str:
    """Return ``table`` as TOML: values first, then tables, then lists of tables; None stands for no key."""
    return "\n".join(_lines(table, ())).strip("\n") + "\n"


def _lines(table: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[str]:
    plain = {key: value for key, value in table.items() if value is not None}
    inner = {key: value for key, value in plain.items() if isinstance(value, Mapping)}
    lists = {key: value for key, value in plain.items() if _of_tables(value)}
    for key, value in plain.items():
        if key not in inner and key not in lists:
            yield f"{_key(key)} = {_value(value)}"
    for key, value in inner.items():
        if not value or any(not isinstance(each, Mapping) for each in value.values()):
            yield f"\n[{'.'.join((*above, _key(key)))}]"
        yield from _lines(value, (*above, _key(key)))
    for key, rows in lists.items():
        for row in rows:
            yield f"\n[[{'.'.join((*above, _key(key)))}]]"
            yield from _lines(row, (*above, _key(key)))


def _of_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, Mapping) for each in value)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items()) + " }"
    return f"[{', '.join(map(_value, value))}]" if isinstance(value, list | tuple) else str(value)
