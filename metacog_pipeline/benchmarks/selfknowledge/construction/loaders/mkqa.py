"""MKQA (Longpre, Lu and Daiber 2021, arXiv:2007.15207): a question in 26 languages, of which four are read.

Accepted in a language: the text of each of its answers and then its aliases, each once. Unanswerable questions, and
those whose answer is a paragraph, have none. A question missing in a language is asked as it was searched for, in
English.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmarks.selfknowledge.construction import fields
from metacog_pipeline.benchmarks.selfknowledge.construction.loaders.reading import Loaded, read_published
from metacog_pipeline.benchmarks.selfknowledge.construction.rows import Row, unique_ids
from metacog_pipeline.sources import Line

_COLUMNS = ("example_id", "query", "queries", "answers")
_KEYS = {"en": "en", "zh": "zh_cn", "ko": "ko", "es": "es"}


def load(path: Path) -> Loaded:
    """Read the file; a question has the languages it has answers or an entry for answers in."""
    lines = read_published(path, _COLUMNS)
    rows = [_row(line, number) for number, line in enumerate(lines)]
    return Loaded(tuple(unique_ids(rows, lines)), "mkqa")


def _row(line: Line, number: int) -> Row:
    query = fields.text(line, "query", fields.value(line, "query"))
    queries = fields.mapping(line, "queries", fields.value(line, "queries"))
    answers = fields.mapping(line, "answers", fields.value(line, "answers"))
    present = {language: key for language, key in _KEYS.items() if answers.get(key) is not None}
    if not present:
        raise fields.wrong(line, f"answers has none of {', '.join(_KEYS.values())}")
    accepted = {
        language: fields.distinct(_accepted(line, key, answers[key])) for language, key in present.items()
    }
    return Row(
        fields.identifier(line, "example_id", fields.value(line, "example_id")),
        {language: _question(line, key, queries.get(key), query) for language, key in present.items()},
        accepted,
        number,
        topic=_kind(answers.get("en")),
    )


def _question(line: Line, key: str, found: Any, query: str) -> str:
    return query if found is None or found == "" else fields.text(line, f"queries.{key}", found)


def _accepted(line: Line, key: str, found: Any) -> Iterator[str]:
    name = f"answers.{key}"
    for entry in fields.items(line, name, found):
        answer = fields.mapping(line, name, entry)
        for each in (answer.get("text"), *fields.items(line, f"{name}.aliases", answer.get("aliases") or [])):
            if each is not None and each != "":
                yield fields.text(line, name, each)


def _kind(found: Any) -> str:
    """Return the kind of the first answer: a number, a date, an entity, unanswerable …"""
    first = found[0] if isinstance(found, list) and found else None
    kind = first.get("type") if isinstance(first, dict) else None
    return kind if isinstance(kind, str) and len(kind) < 40 and kind.isascii() else ""
