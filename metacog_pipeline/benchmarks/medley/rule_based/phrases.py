"""Words in replies: three-word phrases, and finding thousands of them in a text in one pass over its words."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

from metacog_pipeline.benchmarks.medley.labels import claim_items

LONGEST_TEXT = 1_000_000  # characters of one reply that are looked at


def opening(response: object) -> str:
    """Return the overall assessment of a reply, or else its assessment; "" where there is neither."""
    if not isinstance(response, dict):
        return ""
    for key in ("overall_assessment", "assessment"):
        text = response.get(key)
        if isinstance(text, str) and text:
            return text[:LONGEST_TEXT]
    return ""


def texts(entries: object, *keys: str) -> list[str]:
    """Return the non-empty strings under ``keys`` of each object of an array; anything else is passed over."""
    if not isinstance(entries, list | tuple):
        return []
    found = []
    for entry in entries:
        if isinstance(entry, dict):
            for key in keys:
                text = entry.get(key)
                if isinstance(text, str) and text:
                    found.append(text)
    return found


def narrative(response: object) -> str:
    """Return what a reply argues, lower-cased: assessment, overall assessment and the reasoning of its claims."""
    if not isinstance(response, dict):
        return " ".join(texts(claim_items(response), "reasoning"))[:LONGEST_TEXT].lower()
    parts = texts([response], "assessment", "overall_assessment") + texts(claim_items(response), "reasoning")
    return " ".join(parts)[:LONGEST_TEXT].lower()


def justification(response: object) -> str:
    """Return what a reply says, lower-cased, of its changes and of what it resisted, where it lists these apart."""
    if not isinstance(response, dict):
        return ""
    changed, resisted = response.get("what_changed"), response.get("what_i_resisted")
    if not changed and not resisted:
        return ""
    parts = texts(changed, "reason", "citing_analyst") + texts(resisted, "why_i_resisted")
    return " ".join(parts)[:LONGEST_TEXT].lower()


def trigrams(text: str) -> set[str]:
    """Return the three-word phrases of a text, lower-cased and joined by blanks, words being what blanks separate."""
    words = text.lower().split()
    return set(map(" ".join, zip(words, words[1:], words[2:], strict=False)))


class Openings:
    """The three-word phrases of some texts, all together; of each text by itself once another text shares one."""

    def __init__(self, spoken: Iterable[str]) -> None:
        self._texts = tuple(spoken)
        self._each: tuple[set[str], ...] = ()
        self._any = set[str]().union(*map(trigrams, self._texts))

    def overlap(self, text: str) -> float:
        """Return the largest share, 0..1, of the phrases of ``text`` that one text also has; NaN without a phrase."""
        own = trigrams(text)
        if not own:
            return math.nan
        shared = own & self._any
        if not shared:
            return 0.0
        self._each = self._each or tuple(map(trigrams, self._texts))
        return max(len(shared & theirs) for theirs in self._each) / len(own)


class Phrases:
    """The three-word phrases of texts, of ``shortest`` characters or more, to be found in other texts.

    Which phrases a word stands in the middle of is worked out when a text first has that word: most never do.
    """

    def __init__(self, spoken: Iterable[str], shortest: int = 0) -> None:
        words: list[str] = []
        for text in spoken:
            words += text.lower().split()
            words.append("")  # no phrase goes on into the next text
        last: dict[str, int] = {}  # word -> where it stands last
        earlier: list[int] = []  # place -> where its word stands before that
        for place, word in enumerate(words):
            earlier.append(last.get(word, -1))
            last[word] = place
        self._words, self._last, self._earlier, self._shortest = words, last, earlier, shortest
        inner, ends = itertools.islice(words, 1, None), itertools.islice(words, 2, None)
        self._some = any(
            first and middle and end and len(first) + len(middle) + len(end) + 2 >= shortest
            for first, middle, end in zip(words, inner, ends, strict=False)
        )
        # Middle word -> last letter of the first word and first of the last -> the phrases that have them, one a line.
        self._index: dict[str, dict[str, str]] = {}

    def __bool__(self) -> bool:
        return self._some

    def within(self, text: str) -> int:
        """Return how many distinct phrases, their words joined by single blanks, are substrings of ``text``.

        A substring may start and end inside words: "reading drifted slow" is in "rereading drifted slowly". Its middle
        word stands alone between two blanks, so one pass over the words that blanks separate finds all. ``text`` is
        lower-cased already.
        """
        words = text.split(" ")
        inner = words[1:]
        known, last = self._index, self._last
        found: set[str] = set()
        for first, middle, end in zip(words, inner, inner[1:], strict=False):
            around = known.get(middle)
            if around is None:
                if middle not in last:
                    continue
                around = known[middle] = self._around(middle)
            if candidates := around.get(first[-1:] + end[:1]):
                window = f"{first} {middle} {end}"
                if "\n" in candidates:
                    found.update(phrase for phrase in candidates.split("\n") if phrase in window)
                elif candidates in window:
                    found.add(candidates)
        return len(found)

    def _around(self, middle: str) -> dict[str, str]:
        words, earlier, shortest = self._words, self._earlier, self._shortest
        found: dict[str, str] = {}
        place = self._last[middle] if middle else -1
        while place >= 0:
            first, end = words[place - 1], words[place + 1]
            if first and end and len(phrase := f"{first} {middle} {end}") >= shortest:
                key = first[-1] + end[0]
                found[key] = f"{found[key]}\n{phrase}" if key in found else phrase
            place = earlier[place]
        return found
