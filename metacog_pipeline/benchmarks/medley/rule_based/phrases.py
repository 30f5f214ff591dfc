"""Words in replies: three-word phrases, and finding thousands of them in a text in one pass over its words."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from metacog_pipeline.benchmarks.medley.labels import claim_items

LONGEST_TEXT = 1_000_000  # characters of one reply that are looked at

# Middle word -> last letter of the first word and first letter of the last -> the phrases that have them, one a line.
# Text instead of lists and tuples: the garbage collector does not walk through it. Keys are shared between instances, whose
# common words are the same: they then stay in the processor's cache.
Index = dict[str, dict[str, str]]


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


def trigrams(text: str) -> frozenset[str]:
    """Return the three-word phrases of a text, lower-cased and joined by blanks, words being what blanks separate."""
    words = text.lower().split()
    return frozenset(map(" ".join, zip(words, words[1:], words[2:], strict=False)))


def phrase_index(phrases: Iterable[str]) -> Index:
    """Return an index of three-word phrases for `phrases_within`."""
    index: Index = {}
    for phrase in phrases:
        first, middle, last = phrase.split(" ")
        ends = index.setdefault(sys.intern(middle), {})
        key = sys.intern(first[-1] + last[0])
        ends[key] = f"{ends[key]}\n{phrase}" if key in ends else phrase
    return index


def phrases_within(text: str, index: Index) -> int:
    """Return how many distinct phrases of the index, their words joined by single blanks, are substrings of ``text``.

    A substring may start and end inside words: "reading drifted slow" is in "rereading drifted slowly". Its middle
    word stands alone between two blanks, so one pass over the words that blanks separate finds all. ``text`` is
    lower-cased already.
    """
    words = text.split(" ")
    inner = words[1:]
    found: set[str] = set()
    for first, middle, last, ends in zip(words, inner, words[2:], map(index.get, inner), strict=False):
        if ends is not None and (candidates := ends.get(first[-1:] + last[:1])):
            window = f"{first} {middle} {last}"
            if "\n" in candidates:
                found.update(phrase for phrase in candidates.split("\n") if phrase in window)
            elif candidates in window:
                found.add(candidates)
    return len(found)
