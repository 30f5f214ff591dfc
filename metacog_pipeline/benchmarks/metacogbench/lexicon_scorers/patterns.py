"""Regexes from data files: compiled once, and refused when a hostile text could make them run away.

The prepared text has words of at most 100 characters, single spaces and lines of at most 500 characters (see
``prepare``), so one unbounded repeat of a character class is harmless. What is refused: an unbounded repeat around
another repeat, of alternatives, or of a whole group; several unbounded repeats that can match the same characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]
from typing import Any

_LONGEST_PATTERN = 4_000
_MOST_REPEATS = 60  # of a group with alternatives or repeats inside
_MOST_WIDE = 1  # unbounded repeats of "anything"
_REPEATS = {sre.MAX_REPEAT, sre.MIN_REPEAT}
_NARROW = {sre.CATEGORY_WORD, sre.CATEGORY_DIGIT, sre.CATEGORY_SPACE}
_GROUPED = {sre.SUBPATTERN, sre.BRANCH, sre.ASSERT, sre.ASSERT_NOT, *_REPEATS}


class BadPattern(ValueError):
    """A regex that does not compile or could run away; the message says which and why in one line."""


@lru_cache(maxsize=8_192)
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a regex for lower-cased text.

    BadPattern: when it is no regex, is too long, matches the empty text, or could take more than linear time.
    """
    if len(pattern) > _LONGEST_PATTERN:
        raise BadPattern(f"regex of {len(pattern)} characters, at most {_LONGEST_PATTERN} are taken")
    try:
        tree = sre_parser.parse(pattern, re.IGNORECASE)
        made = re.compile(pattern, re.IGNORECASE)
    except (re.error, RecursionError, OverflowError) as problem:
        raise BadPattern(f"regex {_short(pattern)} does not compile: {problem}") from problem
    reason = _danger(tree)
    if reason is not None:
        raise BadPattern(f"regex {_short(pattern)} could run away: {reason}")
    if made.match("") is not None:
        raise BadPattern(f"regex {_short(pattern)} matches the empty text")
    return made


@lru_cache(maxsize=8_192)
def taken(pattern: str) -> re.Pattern[str]:
    """Compile a regex that ships with the package, of which a test holds that `compiled` takes it."""
    return re.compile(pattern, re.IGNORECASE)


def _short(pattern: str) -> str:
    return repr(pattern if len(pattern) <= 80 else pattern[:77] + "...")


def _danger(tree: Any) -> str | None:
    """Return why a parsed regex could take more than linear time, or None."""
    wide = 0
    for operator, argument in _walk(tree):
        if operator in (sre.GROUPREF, sre.GROUPREF_EXISTS):
            return "back-references are not taken"
        if operator not in _REPEATS:
            continue
        _, most, body = argument
        nested = any(each in _GROUPED for each, _ in _walk(body))
        if most == sre.MAXREPEAT and nested and not _words_with_space(body):
            return "a repeat of a group needs an upper bound, such as {0,4}"
        if most != sre.MAXREPEAT and most > _MOST_REPEATS and nested:
            return f"a group is repeated up to {most} times, at most {_MOST_REPEATS} are taken"
        repeats = (arg for op, arg in _walk(body) if op in _REPEATS)
        if most != sre.MAXREPEAT and most > 1 and any(_product(each, most) for each in repeats):
            return "repeats inside repeats multiply; give both small bounds"
        if most == sre.MAXREPEAT and _is_wide(body):
            wide += 1
    return "more than one unbounded repeat of any character; write .{0,80}" if wide > _MOST_WIDE else None


def _product(inner: Any, outer: int) -> bool:
    _, most, body = inner
    if most == sre.MAXREPEAT:
        return outer > 12 or _is_wide(body)
    return int(most) * outer > 2_000


def _walk(tree: Any) -> Iterable[tuple[Any, Any]]:
    for operator, argument in tree:
        yield operator, argument
        if operator in _REPEATS:
            yield from _walk(argument[2])
        elif operator is sre.SUBPATTERN:
            yield from _walk(argument[3])
        elif operator is sre.BRANCH:
            for branch in argument[1]:
                yield from _walk(branch)
        elif operator in (sre.ASSERT, sre.ASSERT_NOT):
            yield from _walk(argument[1])


def _is_wide(body: Any) -> bool:
    """Return whether a repeated item can match a space: only then can it run past a word."""
    for operator, argument in _walk(body):
        if operator in (sre.ANY, sre.NOT_LITERAL):
            return True
        if operator is sre.IN:
            categories = {arg for op, arg in argument if op is sre.CATEGORY}
            if any(op is sre.NEGATE for op, _ in argument) or not categories <= _NARROW:
                return True
    return False


def _words_with_space(body: Any) -> bool:
    """Return whether every repetition is plain words that end with their only space: then it can be read in one way."""
    flat = list(_walk(body))
    plain = all(op in (sre.LITERAL, sre.SUBPATTERN, sre.BRANCH) for op, _ in flat)
    return plain and all(text.endswith(" ") and text.count(" ") == 1 for text in _literals(body))


def _literals(tree: Any) -> list[str]:
    texts = [""]
    for operator, argument in tree:
        if operator is sre.LITERAL:
            texts = [text + chr(argument) for text in texts]
        elif operator is sre.SUBPATTERN:
            texts = [text + end for text in texts for end in _literals(argument[3])]
        elif operator is sre.BRANCH:
            texts = [text + end for text in texts for branch in argument[1] for end in _literals(branch)]
    return texts[:500]
