"""Nominating malformed questions: stems that point at something that is not there.

A screen nominates, a person decides: "malformed" means that the question cannot be decided without the missing part,
and many stems that mention an absent picture can be answered all the same. Those are worth a list of their own,
``media_absent_but_answerable``. The word lists were written with the published malformed items in sight, so recall
on these is in-sample.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass

MEDIA_TAG = "media_absent_but_answerable"

_MEDIUM = (
    r"(?:photo(?:graph|micrograph)?s?|radiographs?|roentgenograms?|x[-‑ ]?rays?|films?|scans?|mris?|ct"
    r"|ultraso(?:und|nogram|nograph)\w*"
    r"|sonograms?|echocardiograms?|angiograms?|images?|imaging|pictures?|figures?|illustrations?|diagrams?|drawings?"
    r"|ecgs?|ekgs?|electrocardio\w+|cardiotoco\w+|eegs?|tracings?|rhythms?|strips?|recordings?|audiograms?|spirometry|smears?"
    r"|aspirates?|biops(?:y|ies)|specimens?|sections?|slides?|stains?|microscopy|histology|micrographs?|findings?"
    r"|graphs?|curves?|charts?|plots?|tables?|pedigrees?|loops?|rash(?:es)?|lesions?|appearance|fundus|fundoscop\w*"
    r"|examination|results?|karyotypes?|gels?|blots?|electrophoresis|cultures?|views?|studies|study)"
)
_SHOWN = r"(?:shown|pictured|depicted|displayed|provided|illustrated|presented|reproduced|demonstrated\s+(?:below|here))"
_CLAUSE = rf"\b(?:is|are|was|were)\s+(?:\w+ly\s+|also\s+|as\s+)?{_SHOWN}\b"
_PICTURE = r"(?:images?|figures?|pictures?|photographs?|exhibits?|graphs?|diagrams?|illustrations?)"
_HERE = rf"(?:below|above|here|(?:in|on|by)\s+(?:the|this|an?|following)\s+(?:\w+\s+){{0,3}}?{_PICTURE})"
# Data that follow in the text itself: a colon soon after.
_NOT_IN_TEXT = r"(?![^.?!]{0,12}:)"

_PATTERNS: dict[str, str] = {
    "media_shown": rf"\b{_MEDIUM}\b[^.?!]{{0,90}}?"
    rf"{_CLAUSE}{_NOT_IN_TEXT}",
    "shown_here": rf"\b(?:shown|seen|presented|depicted|pictured|listed|provided)\s+(?:\w+\s+)?{_HERE}{_NOT_IN_TEXT}",
    "figure_ref": r"\b(?:figures?|images?|exhibits?|fig\.)\s*(?:[A-H]\b|\d)|[(\[]\s*figure",
    "see_image": rf"\bsee\s+(?:the\s+)?(?:\w+\s+)?{_PICTURE}|\b(?:refer|referring)\s+to\s+the\s+(?:\w+\s+)?{_PICTURE}",
    "media_below": rf"\b{_PICTURE}\s+below\b",
    "in_media": rf"\b(?:in|on|from)\s+the\s+(?:\w+\s+){{0,2}}?{_PICTURE}\b|\bthe\s+{_PICTURE}\s+(?:below\s+)?shows?\b",
    "pointer": r"\b(?:marked|indicated|label+ed|denoted|identified)\s+(?:by|with|as|at)?\s*(?:an?\s+|the\s+)?(?:\w+\s+)?"
    r"(?:arrow(?:head)?s?|asterisks?|numbers?|letters?|circles?)\b|\b(?:black|white|red|yellow|blue|green)\s+arrow",
    "graph_point": r"\bpoints?\s+[A-F]\b|\bbased\s+on\s+the\s+(?:\w+\s+)?(?:graph|curve)",
    "lost_context": r"\b(?:summary|passage|abstract|table|case|scenario|vignette)s?\s+"
    r"(?:described\s+|given\s+|shown\s+)?above\b"
    r"|\babove\s+(?:summary|passage|abstract|table|case)|\bprevious\s+question|\b(?:summary|passage|abstract)\s+below\b"
    r"|\b(?:following|provided)\s+(?:\w+\s+)?(?:summary|passage|abstract)\b",
    "broken_table": r"\$\s*\$\s*\$|%\s*%\s*%|\|\s*\|\s*\|",
    "result_missing": r"\b(?:ecgs?|ekgs?|electrocardiograms?|x-?rays?|radiographs?|laborator\w+|labs?|scans?)\b[^.?!]{0,60}"
    r"\b(?:are|is|were|was)\s+found\s*[.?]",
}
CUE_CLASSES = tuple(_PATTERNS)
_NAMED = ("image", "fig", "picture", "photograph", "exhibit", "graph", "diagram", "illustration")
#: Class of absent media → words of which every match holds one: a pattern is slow to look for, a word is not.
_HOLDS: dict[str, tuple[str, ...]] = {
    "media_shown": (
        *("shown", "pictured", "depicted", "displayed", "provided", "illustrated", "presented", "reproduced"),
        "demonstrated",
    ),
    "figure_ref": _NAMED,
    "see_image": _NAMED,
    "media_below": _NAMED,
    "in_media": _NAMED,
    "pointer": ("arrow", "asterisk", "number", "letter", "circle"),
    "graph_point": ("point", "based"),
}
_SMALL = {0x130: "i", 0x131: "i", 0x17F: "s", 0x212A: "k"}  # letters that a pattern takes for those of ASCII
_IS_SHOWN = re.compile(_CLAUSE, re.IGNORECASE)  # a part of "media_shown"
MEDIA_CLASSES = tuple(_HOLDS)

_LABORATORY = re.compile(
    r"\b(?:laborator\w+|labs?)\b[^.:?!]{0,60}\b(?:are|is)\s+(?:as\s+follows|shown|listed|below)|"
    r"\b(?:laborator\w+|labs?|studies|analysis)\b[^.:?!]{0,60}\b(?:shows?|reveals?|demonstrates?)\s*:",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"\d[\d,.]*\s*(?:[x×]\s*10\S+\s*)?(?:%|°|(?:[munpµμkf]?(?:g|mol|eq|l|iu|u|osm)|mm\s*hg|mm|cm|cells?|/)\b|/|U\b|s\b|sec)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Nomination:
    """A stem that may be malformed: its id, 0-based place, the cue classes that fired, and the text that fired first."""

    item_id: str
    place: int
    classes: tuple[str, ...]
    excerpt: str


@functools.cache  # compiling them all takes 50 ms, and whoever has the items builds none
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(_PATTERNS[name], 0 if name == "graph_point" else re.IGNORECASE)


def cues(question: str) -> dict[str, str]:
    """Return the cue classes that fire on a stem, each with the text it fired on."""
    hits = ((name, _pattern(name).search(question)) for name in _PATTERNS)
    return {name: " ".join(hit.group().split()) for name, hit in hits if hit is not None}


def screen(questions: Iterable[tuple[str, str]]) -> list[Nomination]:
    """Return a nomination for every (id, stem) on which a cue class fires."""
    found = []
    for place, (item_id, question) in enumerate(questions):
        hits = cues(question)
        if hits:
            found.append(Nomination(item_id, place, tuple(hits), next(iter(hits.values()))))
    return found


def lacks_laboratory(question: str) -> bool:
    """Whether a stem announces laboratory values and then has fewer than two numbers with a unit."""
    hit = _LABORATORY.search(question)
    return hit is not None and len(_VALUE.findall(question[hit.end() :])) < 2


def mentions_absent_media(question: str) -> bool:
    """Whether a stem points at a picture, tracing or graph, none of which a text question can hold."""
    plain = (question if question.isascii() else question.translate(_SMALL)).lower()
    return any(_may_fire(name, question, plain) and _pattern(name).search(question) for name in MEDIA_CLASSES)


def _may_fire(name: str, question: str, plain: str) -> bool:
    """Whether the pattern of a class can match ``question``, which is ``plain`` in small letters."""
    if not any(map(plain.__contains__, _HOLDS[name])):
        return False
    return name != "media_shown" or _IS_SHOWN.search(question) is not None
