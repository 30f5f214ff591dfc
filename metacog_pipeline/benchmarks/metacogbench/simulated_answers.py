"""What a simulated respondent can put in an answer, and in which words: the key, a near miss, or an invention."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from metacog_pipeline.benchmarks.metacogbench.items import Factor, Field, Item, Scalar
from metacog_pipeline.files import shipped

#: Forms of words by what is said, from ``data/metacogbench/observer.toml``.
PHRASES: dict[str, Any] = tomllib.loads(shipped("data", "metacogbench", "observer.toml").read_text("utf-8"))

_MAKE_BELIEVE = "Quillonia"
# What a concrete answer may look like, whatever is asked for.
_CONCRETE = (
    *("1987", "17", "42.5", "312", "6", "p. 214", "0.34", "4.2 mm", "38.40 euros", "14:35", "Tuesday"),
    *("12 minutes", "soup and bread", "Marcus Feld", "AB-48213", "blue", "yes"),
)
_NAMELESS = ("the first of them", "the second one", "the one in the north", "the best known")
_LETTERS = "ABCD"
_MID_SENTENCE = ("A", "An", "The", "It", "All", "Some", "There", "Their", "What", "For", "Not", "One")
# Parts of a regex, innermost first, and what stands for them in a text that it matches.
_PARTS = (
    (re.compile(r"\\b|\(\?:[^()]*\)(?:\?|\{0,\d+\}\??)"), ""),
    (re.compile(r"\(\?:([^()|]*)[^()]*\)"), r"\1"),
)
_ATOMS = (
    (re.compile(r"\.\{0,\d+\}|\\s[*+]?"), " "),
    (re.compile(r"\[(.)[^\]]*\]\??"), r"\1"),
    (re.compile(r"\\w\*|.\?"), ""),
    (re.compile(r"\\w\+"), "ed"),
)


def right_answer(item: Item) -> str:
    """Return the key as an answer."""
    return _shown(item.answer)


def wrong_answer(item: Item, others: Sequence[str], share: float) -> str:
    """Return an answer that looks like the key and is not; ``share`` in [0, 1) chooses which.

    ``others`` are keys of other questions, to be taken for the answer to this one.
    """
    if item.answer_type == "number" and isinstance(item.answer, int | float):
        return _shown(_off(item.answer, item.abs_tol, item.rel_tol, 1 + int(9 * share)))
    if item.answer_type == "choice":
        wrong = [letter for letter in _LETTERS if letter != str(item.answer).strip().upper()]
        return wrong[int(share * len(wrong))]
    known = [_plain(form) for form in (right_answer(item), *item.accept)]
    plain = [(text, _plain(text)) for text in others]
    wrong = [text for text, said in plain if not any(form in said or said in form for form in known)]
    return wrong[int(share * len(wrong))] if wrong else _MAKE_BELIEVE


def invented(item: Item, share: float) -> str:
    """Return a concrete answer where there is none to know, of the form the question asks for."""
    fitting = [text for text in _CONCRETE if item.slot and re.search(item.slot, text, re.IGNORECASE)]
    chosen = fitting or _NAMELESS
    return chosen[int(share * len(chosen))]


def figure(item: Item) -> str:
    """Return the number a situation comes down to, with its unit."""
    return f"{_shown(item.computed_answer)} {item.unit}".strip()


@lru_cache(maxsize=8_192)  # every reply to an item asks, and `re` itself keeps too few regexes for all items
def named(factor: Factor) -> str:
    """Return words for a factor: its label where that shows it, else something its regexes find; no denials."""
    candidates = (factor.label, *map(_example, factor.any))
    shown = [text for text in candidates if _found(factor, text)]
    return next((text for text in shown if "not " not in text), shown[0] if shown else factor.label)


def sentence(text: str) -> str:
    """Return ``text`` without its full stop."""
    return text.strip().rstrip(".!")


def clause(text: str) -> str:
    """Return the first clause of ``text`` as it stands inside a sentence."""
    first = re.split(r"[,;:]\s", sentence(text))[0]
    return first[:1].lower() + first[1:] if first.split(" ")[0] in _MID_SENTENCE else first


def solution(item: Item, *, all_right: bool) -> dict[str, object]:
    """Return the values of a tier-3 reply: all of them right, or as many as just do not suffice.

    The core field is the first to be wrong.
    """
    wrong = 0 if all_right else len(item.fields) - (3 * len(item.fields) - 1) // 5
    order = sorted(item.fields, key=lambda field: not field.core)
    spoilt = {field.name for field in order[:wrong]}
    return {each.name: (_wrong_value if each.name in spoilt else _value)(each) for each in item.fields}


def _example(pattern: str) -> str:
    """Return a text the simple regex ``pattern`` may match."""
    before = ""
    while before != pattern:
        before = pattern
        for part, instead in _PARTS:
            pattern = part.sub(instead, pattern)
    for atom, instead in _ATOMS:
        pattern = atom.sub(instead, pattern)
    return " ".join(pattern.split())


def _found(factor: Factor, text: str) -> bool:
    return any(re.search(pattern, text.lower()) for pattern in factor.any)


def _value(field: Field) -> object:
    if field.range is not None:
        return sum(field.range) / 2
    return list(field.value) if isinstance(field.value, tuple) else field.value


def _wrong_value(field: Field) -> object:
    value = _value(field)
    if isinstance(value, bool):
        return not value
    if isinstance(value, list):
        return [*value[1:], "Z9"] if value else ["Z9"]
    if isinstance(value, int | float):
        beyond = 0.0 if field.range is None else field.range[1] - field.range[0]
        return _off(value, max(field.abs_tol, beyond), field.rel_tol, 1)
    admitted = [str(form) for form in (value, *field.accept)]
    return next((option for option in field.options if option not in admitted), _MAKE_BELIEVE)


def _off(value: float, abs_tol: float, rel_tol: float, by: int) -> int | float:
    """Return a number beyond the tolerance of ``value``, whole where that is."""
    moved = value + by + 2 * max(abs_tol, rel_tol * abs(value))
    return int(moved) + 1 if isinstance(value, int) else moved


def _shown(value: Scalar | None) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _plain(text: str) -> str:
    return text.strip().casefold()
