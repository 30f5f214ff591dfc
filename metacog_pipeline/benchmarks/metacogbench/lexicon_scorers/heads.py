"""Where a regex could match in a text, without trying it at every place.

A regex is taken apart into its alternatives. Of each is known which letters it begins with (three at most) and which words
must stand somewhere. Only where the words are there, and only at beginnings of words with those letters, the regex itself
is tried: what is found is what `re.Pattern.finditer` finds, in a fraction of its time.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

_ASCII = 128
_HEAD = 3  # letters of a beginning, and of the pieces a word is looked up by
_MOST_HEADS, _MOST_WAYS, _MOST_WORDS, _MOST_MEMBERS = 800, 400, 24, 12
_POINTS = (sre.AT, sre.ASSERT, sre.ASSERT_NOT)  # match no character
_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
# What IGNORECASE takes for i, s and k beside their own two forms.
_ALIKE = {0x130: "i", 0x131: "i", 0x17F: "s", 0x212A: "k"}
_WORD_STARTS = re.compile(r"\b\w")
_SHORT = 500  # characters of a text in which beginnings are tried sooner than words are looked for
# Characters a regex is searched in until it is taken apart, which takes as long as searching them.
_WORTH = 15_000
Heads = frozenset[tuple[str, bool]]  # beginnings; whether what follows continues them
Tree = list[tuple[Any, Any]]
_ANYTHING: Heads = frozenset({("", False)})
_NOTHING: Heads = frozenset({("", True)})


class Need(NamedTuple):
    """Words of which one must be there, each as its pieces, and the first pieces of all."""

    first: frozenset[str]
    words: tuple[frozenset[str], ...]


class Way(NamedTuple):
    """One alternative of a regex: what it begins with (None: anything, anywhere) and what must stand in the text."""

    heads: frozenset[str] | None
    needs: tuple[Need, ...]


class Apart(NamedTuple):
    """A regex taken apart: all its alternatives, those that may begin anywhere, and how the others begin."""

    ways: tuple[Way, ...]
    anywhere: tuple[Way, ...]
    heads: frozenset[str]

    @classmethod
    def of(cls, regex: re.Pattern[str]) -> Apart:
        """Take a regex apart."""
        made = ways(regex)
        heads = (way.heads for way in made if way.heads is not None)
        return cls(made, tuple(way for way in made if way.heads is None), frozenset[str]().union(*heads))


# Of each regex what it was taken apart into, or how many characters it was searched in before; never more than the
# regexes of the data, which `compiled` keeps as well.
# By identity: the hash of a regex is that of all its code, anew at each call.
_known: dict[int, tuple[re.Pattern[str] | None, Apart | int]] = {}
_UNKNOWN = (None, 0)


@dataclass(frozen=True)
class Places:
    """What a text has: its pieces of three letters, and its beginnings of words by theirs."""

    text: str

    @cached_property
    def _folded(self) -> str:
        return self.text.lower() if self.text.isascii() else self.text.translate(_ALIKE).lower()

    @cached_property
    def pieces(self) -> frozenset[str]:
        """All pieces of three letters."""
        text = self._folded
        return frozenset(map("".join, zip(text, text[1:], text[2:], strict=False)))

    @cached_property
    def _seen(self) -> dict[int, bool]:
        return {}

    def has(self, need: Need) -> bool:
        """Return whether one of the words of a need may be there; many regexes need the same."""
        found = self._seen.get(id(need))
        if found is None:
            pieces = self.pieces
            found = self._seen[id(need)] = not need.first.isdisjoint(pieces) and any(
                word <= pieces for word in need.words
            )
        return found

    @cached_property
    def starts(self) -> dict[str, list[int]]:
        """Places where a word begins, by its first three letters, by two, and by one."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        text = self._folded
        for start in (each.start() for each in _WORD_STARTS.finditer(self.text)):
            found[text[start : start + _HEAD]].append(start)
        for head, places in [*found.items()]:
            for length in range(1, len(head)):
                found[head[:length]] += places
        return found


def matches(regex: re.Pattern[str], places: Places) -> Iterable[re.Match[str]]:
    """Return what ``regex.finditer`` yields."""
    text = places.text
    _, known = _known.get(id(regex), _UNKNOWN)
    if isinstance(known, int):
        if known < _WORTH:
            _known[id(regex)] = regex, known + len(text)
            return regex.finditer(text)
        known = Apart.of(regex)
        _known[id(regex)] = regex, known
    short = len(text) < _SHORT
    wanted: set[str] | frozenset[str] = known.heads if short else set()
    for way in known.anywhere if short else known.ways:
        if all(map(places.has, way.needs)):
            if way.heads is None:
                return regex.finditer(text)
            wanted |= way.heads
    met = wanted & places.starts.keys()
    return _tried(regex, places, met) if met else ()


def _tried(regex: re.Pattern[str], places: Places, heads: Iterable[str]) -> Iterator[re.Match[str]]:
    """Yield the matches of a regex at the beginnings of words with one of the heads."""
    starts, end = places.starts, 0
    for start in sorted({at for head in heads for at in starts[head]}):
        if start >= end and (found := regex.match(places.text, start)) is not None:
            yield found
            end = found.end()


def ways(regex: re.Pattern[str]) -> tuple[Way, ...]:
    """Return the alternatives of a regex for text without regard to case."""
    tree, taken = sre_parser.parse(regex.pattern, regex.flags).data, _Taken()
    made = list(itertools.islice(_apart(tree), _MOST_WAYS + 1))
    return tuple(dict.fromkeys(map(taken.way, made if len(made) <= _MOST_WAYS else [tree])))


def _apart(tree: Tree) -> Iterator[Tree]:
    """Yield a sequence once for every alternative of its first part that has any, and so on within these."""
    for at, (operator, argument) in enumerate(tree):
        if operator in _POINTS:
            continue
        if (parts := _within(operator, argument)) is not None:
            for part in parts:
                yield from _apart([*tree[:at], *part, *tree[at + 1 :]])
            return
        break
    yield tree


def _within(operator: Any, argument: Any) -> list[Tree] | None:
    """Return the alternatives of a group, None of what is no group."""
    if operator is sre.SUBPATTERN:
        return [argument[3].data]
    if operator is sre.ATOMIC_GROUP:
        return [argument.data]
    return [branch.data for branch in argument[1]] if operator is sre.BRANCH else None


class _Taken:
    """One regex taken apart; parts that several alternatives share are looked at once."""

    def __init__(self) -> None:
        self._exact: dict[int, list[str] | None] = {}
        self._inner: dict[int, list[list[str]]] = {}
        self._head: dict[int, Heads] = {}

    def way(self, tree: Tree) -> Way:
        anchored = False
        for operator, argument in tree:
            if operator is sre.AT:
                anchored = anchored or argument is sre.AT_BOUNDARY
            elif operator not in _POINTS:
                break
        heads = frozenset(head for head, _ in self.heads(tree))
        usable = anchored and all(head[:1].isalnum() for head in heads)
        return Way(heads if usable else None, tuple(_need(tuple(words)) for words in self.needs(tree)))

    def heads(self, tree: Tree) -> Heads:
        """Return how a match can begin: strings of at most three letters, and whether more may be added."""
        found = _NOTHING
        for operator, argument in tree:
            if operator in _POINTS:
                continue
            found = _joined(found, self._heads_of(operator, argument))
            if len(found) > _MOST_HEADS:
                return _ANYTHING
            if not any(more for _, more in found):
                break
        return found

    def _heads_of(self, operator: Any, argument: Any) -> Heads:
        if operator is sre.LITERAL:
            return frozenset({(chr(argument).lower(), True)}) if argument < _ASCII else _ANYTHING
        if id(argument) not in self._head:
            self._head[id(argument)] = self._heads_within(operator, argument)
        return self._head[id(argument)]

    def _heads_within(self, operator: Any, argument: Any) -> Heads:
        if operator is sre.IN:
            members = _members(argument)
            return frozenset((each, True) for each in members) if members else _ANYTHING
        if (parts := _within(operator, argument)) is not None:
            return frozenset[tuple[str, bool]]().union(*map(self.heads, parts))
        if operator in _REPEATS:
            least, most, body = argument
            inside = frozenset((head, more and most == 1) for head, more in self.heads(body.data))
            return inside if least else inside | _NOTHING
        return _ANYTHING

    def needs(self, tree: Tree) -> list[list[str]]:
        """Return lists of words of three letters and more; of each list one word stands in whatever matches."""
        found: list[list[str]] = []
        run = [""]
        for operator, argument in tree:
            if operator in _POINTS:
                continue
            exact = self._exactly(operator, argument)
            if exact is not None and len(run) * len(exact) <= _MOST_WORDS:
                run = [head + tail for head in run for tail in exact]
                continue
            found.append(run)
            run = [""] if exact is None else exact
            if exact is None:
                found += self._needs_of(operator, argument)
        return [words for words in (*found, run) if min(map(len, words), default=0) >= _HEAD]

    def _needs_of(self, operator: Any, argument: Any) -> list[list[str]]:
        if id(argument) not in self._inner:
            self._inner[id(argument)] = self._needs_within(operator, argument)
        return self._inner[id(argument)]

    def _needs_within(self, operator: Any, argument: Any) -> list[list[str]]:
        if operator in _REPEATS:
            return self.needs(argument[2].data) if argument[0] else []
        parts = _within(operator, argument) or []
        if len(parts) == 1:
            return self.needs(parts[0])
        best = [min(self.needs(part), key=len, default=None) for part in parts]
        return [] if None in best else [[word for words in best for word in words or ()]]

    def _exactly(self, operator: Any, argument: Any) -> list[str] | None:
        """Return all texts a part can match where they are few, else None."""
        if operator is sre.LITERAL:
            return [chr(argument).lower()] if argument < _ASCII else None
        if id(argument) not in self._exact:
            self._exact[id(argument)] = self._exactly_within(operator, argument)
        return self._exact[id(argument)]

    def _exactly_within(self, operator: Any, argument: Any) -> list[str] | None:
        if operator is sre.IN:
            return _members(argument) or None
        if (parts := _within(operator, argument)) is not None:
            texts = [self._texts(part) for part in parts]
            made = [text for each in texts for text in each or ()]
            return made if None not in texts and len(made) <= _MOST_WORDS else None
        if operator in _REPEATS and argument[1] == 1:
            inside = self._texts(argument[2].data)
            return inside if inside is None or argument[0] else ["", *inside]
        return None

    def _texts(self, tree: Tree) -> list[str] | None:
        texts = [""]
        for operator, argument in tree:
            if operator in _POINTS:
                continue
            exact = self._exactly(operator, argument)
            if exact is None or len(texts) * len(exact) > _MOST_WORDS:
                return None
            texts = [head + tail for head in texts for tail in exact]
        return texts


@lru_cache(maxsize=8_192)
def _need(words: tuple[str, ...]) -> Need:
    pieces = (
        frozenset(word[at : at + _HEAD] for at in range(len(word) - _HEAD + 1))
        for word in dict.fromkeys(words)
    )
    return Need(frozenset(word[:_HEAD] for word in words), tuple(pieces))


def _joined(before: Heads, after: Heads) -> Heads:
    made = {each for each in before if not each[1]}
    for head in (head for head, more in before if more):
        made |= {((head + tail)[:_HEAD], more and len(head + tail) < _HEAD) for tail, more in after}
    return frozenset(made)


def _members(argument: Sequence[Any]) -> list[str]:
    """Return the characters of a small class, none where it is large, negated or not of ASCII."""
    made: list[str] = []
    for kind, value in argument:
        if kind is sre.LITERAL and value < _ASCII:
            made.append(chr(value).lower())
        elif kind is sre.RANGE and value[1] < _ASCII and value[1] - value[0] < _MOST_MEMBERS:
            made += [chr(each).lower() for each in range(value[0], value[1] + 1)]
        else:
            return []
    return made if len(made) <= _MOST_MEMBERS else []
