"""Values out of rows that others wrote: each is what it must be, or a SourceError names file, row and field."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from metacog_pipeline.errors import SourceError
from metacog_pipeline.sources import JsonRow, Line

LONGEST_TEXT = 20_000  # characters of a question or an answer; the longest published ones have a few hundred
MOST_ANSWERS = 10_000

_MEND = "mend or replace the file"


def wrong(line: Line, what: str) -> SourceError:
    """Return the error that says ``what`` is wrong with ``line``."""
    return SourceError(f"{line.where}: {what}; {_MEND}")


def value(line: Line, *names: str) -> Any:
    """Return the value under the first of ``names`` that the row has."""
    for name in names:
        if name in line.row:
            return line.row[name]
    there = ", ".join(sorted(map(str, line.row))[:12]) or "nothing"
    raise wrong(line, f"no {' or '.join(map(repr, names))}; the row has {there}")


def text(line: Line, name: str, found: Any) -> str:
    """Return ``found`` if it is a text that says something."""
    if not isinstance(found, str):
        raise wrong(line, f"{name} is {_shown(found)}, expected a text")
    if not found.strip():
        raise wrong(line, f"{name} is empty")
    if len(found) > LONGEST_TEXT:
        raise wrong(line, f"{name} has {len(found)} characters, more than {LONGEST_TEXT}")
    try:
        found.encode()
    except UnicodeEncodeError:
        raise wrong(line, f"{name} holds half a character (a lone surrogate)") from None
    return found


def texts(line: Line, name: str, found: Any) -> tuple[str, ...]:
    """Return ``found`` if it is a list of texts that say something; an empty list is one."""
    return tuple(text(line, f"{name}[{n}]", each) for n, each in enumerate(items(line, name, found)))


def items(line: Line, name: str, found: Any) -> list[Any]:
    """Return ``found`` if it is a list of reasonable length."""
    if not isinstance(found, list):
        raise wrong(line, f"{name} is {_shown(found)}, expected a list")
    if len(found) > MOST_ANSWERS:
        raise wrong(line, f"{name} has {len(found)} entries, more than {MOST_ANSWERS}")
    return found


def mapping(line: Line, name: str, found: Any) -> JsonRow:
    """Return ``found`` if it is an object."""
    if not isinstance(found, dict):
        raise wrong(line, f"{name} is {_shown(found)}, expected an object")
    return found


def identifier(line: Line, name: str, found: Any) -> str:
    """Return ``found`` as text if it is a text or a whole number."""
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    return text(line, name, found)


def distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """Return each text once, in the order they first come."""
    return tuple(dict.fromkeys(texts))


def _shown(found: Any) -> str:
    return "null" if found is None else f"{type(found).__name__} {str(found)[:40]!r}"
