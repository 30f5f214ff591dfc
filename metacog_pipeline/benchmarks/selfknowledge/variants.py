"""A reply with what it says in another form written as the accepted answers write it; roles are read afterwards.

Dates, people, spellings, lists in another order, initials explained in brackets, subtitles and the place behind a place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from metacog_pipeline.benchmark.answers.dates import as_date, date_of
from metacog_pipeline.benchmark.answers.text import folded
from metacog_pipeline.benchmarks.selfknowledge.person_names import as_person, asks_person
from metacog_pipeline.benchmarks.selfknowledge.sounds import alike, swapped
from metacog_pipeline.benchmarks.selfknowledge.spelling import initials

_PARTS = re.compile(
    r"\s*(?:,|;|&|\+|/|\band\b|\by\b|\bund\b|\bet\b)\s*(?:(?:and|&) )?(?:the )?", re.IGNORECASE
)
_CJK_JOINED = re.compile(r"(?:[과와] ?| ?및 ?| ?[、,，] ?|和|与|跟)")
_BETWEEN = r"[\s,;&+/|·•-]{0,6}(?:(?:and|y|und|et|then)\s)?(?:the )?"
_NOTE = r"(?: \([^()\n]{1,30}\))?"
_MORE = re.compile(r"(?:,| and|,? ?/| &) ?(?:and )?(\w+)[ ]*(?:\Z|[.,\n)])")
_LESS = re.compile(r"(\w+)(?:, ?| and | ?/ ?)\Z")
_OTHER_TITLE = re.compile(r"[;,:]? or[,:;]? (?:the )?", re.IGNORECASE)
_EXPLAINED = re.compile(r"\b([A-Z]{2,6}) \(([^()\n]{4,60})\)")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_ASKED_NAME = re.compile(
    r"\b(?:(first|given|christian|fore)[ -]?name|(?:last|family) name|surname)\b", re.IGNORECASE
)
_FIRM = re.compile(r",? (?:Inc|Corp|Ltd|LLC|GmbH|plc|Incorporated|Corporation|Limited)\.?\Z")
_HUNDREDS = re.compile(r"\b(1\d|20|[1-9])00['’]?s\b")
_MOST = 600  # words of a reply that are compared with an accepted name
_LONGEST_FORM = 80


def forms_of(names: Sequence[str]) -> list[str]:
    """Return accepted names with what they hold themselves: both titles of "A; or, B", a name without its bracket.

    >>> forms_of(["Frankenstein; or, The Modern Prometheus", "Mercury (planet)"])[2:]
    ['Frankenstein', 'Modern Prometheus', 'Mercury']
    """
    made = list(names)
    for name in names:
        titles = _OTHER_TITLE.split(name) if re.search(r"[;,:] or\b", name) else []
        made += [title for title in titles if len(title) > 3]
        if (bare := re.sub(r" \([^()]{1,40}\)\Z", "", name)) != name:
            made.append(bare)
        if (tail := re.fullmatch(r"[^:]{3,60}: ((?:[\w'’-]+ ){2,8}[\w'’-]+)", name)) is not None:
            made.append(tail[1])
        if (plain := _FIRM.sub("", name)) != name and len(plain) > 2:
            made.append(plain)
        if (one := _singular(name)) is not None:
            made.append(one)
    return list(dict.fromkeys(made))


def as_accepted(text: str, names: Sequence[str], question: str) -> str:
    """Return a reply with its variants of accepted names written as they are accepted."""
    for wanted in dict.fromkeys(found for name in names if (found := date_of(name)) is not None):
        text = as_date(text, wanted)
    text = _one_name(text, names, question)
    if any(re.fullmatch(r"(?:the )?\d{1,2}(?:st|nd|rd|th) century", name, re.IGNORECASE) for name in names):
        text = _HUNDREDS.sub(lambda found: f"{int(found[1]) + 1}th century", text)
    text = _EXPLAINED.sub(lambda found: found[2] if initials(found[2]) == found[1] else found[0], text)
    plain = f" {folded(text)} "
    missing = [name for name in names if len(name) <= _LONGEST_FORM and f" {folded(name)} " not in plain]
    if len(missing) == len(names):
        text = _respelled(text, missing, place=not asks_person(question, names))
        text = _in_order(text, missing)
    return as_person(text, names) if asks_person(question, names) else text


def _one_name(text: str, names: Sequence[str], question: str) -> str:
    """Return a text in which a full name stands for the one of its names that is asked for."""
    asked = _ASKED_NAME.search(question)
    for name in names if asked else ():
        if re.fullmatch(r"[A-Z][\w'-]+", name):
            rest = r"(?: [A-Z][\w.'-]*){1,4}"
            last = asked is not None and asked[1] is None
            pattern = rf"\b[A-Z][\w.'-]*{rest[:-5]}{{0,3}} {name}\b" if last else rf"\b{name}{rest}"
            text = re.sub(pattern, name, text)
    return text


def _respelled(text: str, names: Sequence[str], *, place: bool) -> str:
    """Return a text with the words that are a word of an accepted name in another spelling written as there."""
    wanted = list(dict.fromkeys(word for name in names for word in _WORD.findall(name) if len(word) > 3))
    if not wanted:
        return text
    found = {word for word in _WORD.findall(text)[:_MOST] if len(word) > 3}
    known = {folded(word) for word in wanted}
    of_phrases = {folded(word) for name in names if " " in name for word in _WORD.findall(name)}
    lower = text.islower()
    pairs = [(to, plain if (plain := folded(to)) in of_phrases else "") for to in wanted]
    other = {
        word: to
        for word in found
        if (said := folded(word)) not in known
        for to, in_phrase in pairs
        if (lower or to.islower() or word[:1].isupper())
        and (alike(word, to, place=place) or (in_phrase and swapped(said, in_phrase)))
    }
    return _WORD.sub(lambda word: other.get(word[0], word[0]), text) if other else text


def _singular(name: str) -> str | None:
    """Return a name of things in the singular, of several words or in lower case: Angel Fall, chickpea."""
    many = re.fullmatch(r"(.*\w{3}[^\Ws])s", name)
    return many[1] if many and (name.islower() or " " in name) else None


def _in_order(text: str, names: Sequence[str]) -> str:
    """Return a text with a list of the same things in another order, or with other marks between, as it is accepted."""
    for name in names:
        if (told := _joined_otherwise(text, name)) is not None:
            return told
        parts = list(dict.fromkeys(folded(part) for part in _PARTS.split(name)))
        if not 2 <= len(parts) <= 8 or not all(parts) or not all(part in folded(text) for part in parts):
            continue
        one = "|".join(rf"{re.escape(part)}" for part in sorted(parts, key=len, reverse=True))
        run = re.compile(
            rf"(?<!\w)(?:{one})(?!\w)(?:{_NOTE}{_BETWEEN}(?<!\w)(?:{one})(?!\w)){{{len(parts) - 1}}}",
            re.IGNORECASE,
        )
        for found in run.finditer(text):
            said = re.findall(rf"(?<!\w)(?:{one})(?!\w)", found[0], re.IGNORECASE)
            alone = not _MORE.match(text, found.end()) and not _LESS.search(text[: found.start()][-40:])
            if {folded(each) for each in said} == set(parts) and alone:
                return f"{text[: found.start()]}{name}{text[found.end() :]}"
    return text


def _joined_otherwise(text: str, name: str) -> str | None:
    """Return a text with a Chinese or Korean list in another order as it is accepted; None where there is none."""
    parts = _CJK_JOINED.split(name)
    if not 2 <= len(parts) <= 4 or not all(
        re.fullmatch(r"[\u3400-\u9fff\uac00-\ud7a3]{1,12}", part) for part in parts
    ):
        return None
    one = "|".join(map(re.escape, parts))
    for found in re.finditer(rf"(?:{one})(?:(?:{_CJK_JOINED.pattern})(?:{one})){{{len(parts) - 1}}}", text):
        if set(re.findall(one, found[0])) == set(parts):
            return f"{text[: found.start()]}{name}{text[found.end() :]}"
    return None
