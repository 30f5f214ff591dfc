"""How the languages say yes and no to "do you know it?": the words asked for, and turns of phrase that mean the same."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from metacog_pipeline.files import shipped

# What the prompts ask for: the word that says yes and the word that says no.
YES_NO: Mapping[str, tuple[str, str]] = {
    "en": ("Yes", "No"), "zh": ("是", "否"), "ko": ("예", "아니요"), "es": ("Sí", "No"),
}  # fmt: skip
_GROUPS = ("both", "trap", "no", "yes", "no_word", "yes_word")
_MARKS = r"[^\w]{0,40}"


@dataclass(frozen=True, slots=True)
class AnswerWords:
    """How one language says yes and no.

    ``deciding`` finds what decides, by named group: ``both``, ``trap`` (neither), the turns of phrase ``no`` and ``yes``,
    the words ``no_word`` and ``yes_word``; ``lead`` matches what may stand before the answer itself; ``bare`` a clause
    that is nothing but a yes or a no, by named group.
    """

    deciding: re.Pattern[str]
    lead: re.Pattern[str]
    bare: re.Pattern[str]


@functools.cache
def answer_words(language: str) -> AnswerWords:
    """Return the words of one of the languages of `YES_NO`."""
    phrases = _phrases()[language]
    lead = rf"{_MARKS}(?:(?:{_any(phrases['lead'])}){_MARKS}){{0,4}}"
    bare = rf"(?:(?P<yes>{_any(phrases['bare_yes'])})|(?P<no>{_any(phrases['bare_no'])}))"
    return AnswerWords(
        deciding=re.compile("|".join(rf"(?P<{name}>{_any(phrases[name])})" for name in _GROUPS)),
        lead=re.compile(lead),
        bare=re.compile(lead + bare + _MARKS),
    )


@functools.cache
def _phrases() -> Mapping[str, Mapping[str, list[str]]]:
    return tomllib.loads(shipped("data", "selfknowledge", "yes_no.toml").read_text("utf-8"))


def _any(patterns: Iterable[str]) -> str:
    return "|".join(patterns)
