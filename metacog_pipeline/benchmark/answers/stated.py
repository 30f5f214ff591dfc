"""The answer a whole reply states: behind its last ``Answer:``, else in all of it but a stated confidence."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from metacog_pipeline.benchmark.answers.reading import AnswerKey, read_stated
from metacog_pipeline.benchmark.answers.sureness import STATED
from metacog_pipeline.benchmark.thinking import without_thinking
from metacog_pipeline.errors import one_line

_LINE = re.compile(r"^[ \t>*_#-]{0,12}(?:final )?answer[ \t*_]{0,6}[:：=][ \t*_]{0,6}([^\n]*)", re.I | re.M)


class Stated(NamedTuple):
    """An answer as it was said, and whether it is right: None where that cannot be told."""

    said: str | None
    correct: bool | None


def answer_of(reply: str, key: AnswerKey) -> Stated:
    """Return the answer of a reply. Where nothing is known to be right it is read all the same, and is not right."""
    plain = without_thinking(reply)
    lines = [each.strip(" \t*_") for each in _LINE.findall(plain) if each.strip(" \t*_")]
    text = lines[-1] if lines else STATED.sub("", plain).strip()
    if not text:
        return Stated(None, None)
    if (
        lines and key.type == "choice" and len(text) == 1 and text in "ABCDEFGHIJ"
    ):  # as asked, and as most reply
        return Stated(text, text == key.forms[0]) if key.forms else Stated(text, False)
    found = read_stated(text, key if key.forms else replace(key, forms=("?",)), labelled=bool(lines))
    said = found.said if key.type in ("choice", "number") else one_line(text, 500)
    return Stated(said or None, found.correct)
