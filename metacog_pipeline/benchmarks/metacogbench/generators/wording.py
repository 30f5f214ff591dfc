"""The words of generated items: templates and names, read from the TOML files shipped beside the items."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from metacog_pipeline.benchmarks.metacogbench.items import Field
from metacog_pipeline.files import shipped


class Names(tuple[Any, ...]):
    """Names that print as ``A, B and C``, or joined by the format specification: ``{names:, then }``."""

    def __format__(self, spec: str) -> str:
        """Return the names as one text."""
        return spec.join(self) if spec else joined(self)


def joined(names: Sequence[str]) -> str:
    """Return names as ``A, B and C``."""
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


@cache
def read(name: str) -> dict[str, Any]:
    """Return a file of words as the tables it holds."""
    path = shipped("data", "metacogbench", "construction", name)
    return tomllib.loads(path.read_text(encoding="utf-8"))


NAMES: dict[str, list[str]] = read("names.toml")


def story(structure: str, values: Mapping[str, Any]) -> tuple[str, tuple[Field, ...]]:
    """Return the stem of a story and its fields, without their values."""
    words = read("stories.toml")[structure]
    told = {name: _printable(value) for name, value in values.items()}
    for name, line in words.get("lines", {}).items():
        told[name] = "\n".join("- " + line.format(*row) for row in told[name])
    return words["story"].format_map(told), tuple(_field(each, told) for each in words["fields"])


def _field(record: Mapping[str, Any], told: Mapping[str, Any]) -> Field:
    options = tuple(told[record["options"]]) if "options" in record else ()
    return Field(**{**record, "description": record["description"].format_map(told), "options": options})


def _printable(value: Any) -> Any:
    return Names(map(_printable, value)) if isinstance(value, (list, tuple)) else value


def question(kind: str, generator: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the words of a generated question as fields of an item, its stem filled in."""
    words = read("questions.toml")[kind][generator]
    told = {name: _printable(value) for name, value in values.items()}
    return {**words, "stem": words["stem"].format_map(told)}
