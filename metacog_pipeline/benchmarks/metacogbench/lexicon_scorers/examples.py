"""Whether any text is found that a regex of a lexicon matches: texts are made from the regex and tried."""

from __future__ import annotations

import random
import re
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]
from typing import Any

_TRIES = 2_000
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789 .,'-"
_CLASSES = {
    sre.CATEGORY_WORD: "a", sre.CATEGORY_DIGIT: "7", sre.CATEGORY_SPACE: " ", sre.CATEGORY_NOT_WORD: " ",
    sre.CATEGORY_NOT_DIGIT: "a", sre.CATEGORY_NOT_SPACE: "a",
}  # fmt: skip
_FRAMES = ("{}", "so {} it is", "{}.", ". {} is", "it {}", "\n{}\n", "{} a b", "i {}, b")


def can_match(pattern: re.Pattern[str]) -> bool:
    """Return whether a text was found that ``pattern`` matches."""
    tree = sre_parser.parse(pattern.pattern, pattern.flags)
    chance = random.Random(0)
    for _ in range(_TRIES):
        made = _text(tree, chance)
        if any(pattern.search(frame.replace("{}", made)) for frame in _FRAMES):
            return True
    return False


def _text(tree: Any, chance: random.Random) -> str:
    return "".join(_part(operator, argument, chance) for operator, argument in tree)


def _part(operator: Any, argument: Any, chance: random.Random) -> str:
    if operator is sre.LITERAL:
        return chr(argument)
    if operator is sre.NOT_LITERAL:
        return "a" if argument != ord("a") else "b"
    if operator is sre.ANY:
        return chance.choice("a ")
    if operator is sre.IN:
        return _member(argument, chance)
    if operator is sre.BRANCH:
        return _text(chance.choice(argument[1]), chance)
    if operator is sre.SUBPATTERN:
        return _text(argument[3], chance)
    if operator in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        low, high, inside = argument
        times = chance.choice((low, min(low + 1, high)))
        return "".join(_text(inside, chance) for _ in range(times))
    if operator is sre.ATOMIC_GROUP:
        return _text(argument, chance)
    return ""


def _member(members: Any, chance: random.Random) -> str:
    if members[0][0] is sre.NEGATE:
        barred = {chr(value) for kind, value in members[1:] if kind is sre.LITERAL}
        return next(letter for letter in chance.sample(_LETTERS, len(_LETTERS)) if letter not in barred)
    kind, value = chance.choice(members)
    if kind is sre.LITERAL:
        return chr(value)
    if kind is sre.RANGE:
        return chr(chance.randint(*value))
    return _CLASSES.get(value, "a")
