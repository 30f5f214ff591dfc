"""The records of a turn: what it states under names. JSON objects, labelled lines, numbered guesses, in order of place.

A record holds one value per name: ``answer``, ``confidence``, ``decision``, ``bet``, ``pre`` and ``post`` (confidence
before and after answering), and anything else that a reply names itself.
The names are those of prompts in use, in English, Spanish, German, French, Chinese and Korean.
"""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

MOST_OBJECTS = 1_000  # brackets of one reply that may open one; what lies beyond is no answer
MOST_BROKEN = 20  # braces that open none and are looked at twice
MOST_OF_OBJECT = 20_000  # characters from the brace on that are looked at

# The words of prompts and replies for each name, as written before a colon. Longer ones come first.
WORDS: Mapping[str, tuple[str, ...]] = {
    "pre": (
        r"pre[\\ _-]{0,3}confidence", r"(?:initial|prior|predicted)[ \t_-]confidence",
        r"confidence[ \t]{0,2}\(?(?:before|pre)(?:[ \t]answering)?\)?", r"confiance[ \t]avant", r"confianza[ \t]previa",
    ),
    "post": (
        r"post[\\ _-]{0,3}confidence", r"updated[ \t_-]confidence",
        r"confidence[ \t]{0,2}\(?(?:after|post)(?:[ \t]answering)?\)?", r"confiance[ \t]après", r"confianza[ \t]posterior",
    ),
    "answer": (
        r"(?:final|correct(?:ed)?|revised|updated|best|my|selected|chosen|short)[ \t]+(?:answer|option|choice|response)",
        *(r"answer", r"choice", r"option", r"guess", r"response", r"selection", r"prediction", r"letter", r"final"),
        r"G(?=\d[ \t]*[:=])",
        *(r"respuesta(?:[ \t]+(?:final|correcta))?", r"antwort", r"réponse", r"reponse"),
        *(r"答案", r"回答", r"选择", r"정답", r"답변", r"답"),
    ),
    "decision": (
        *(r"decision", r"judge?ment", r"label", r"classification", r"verdict"),
        *(r"entscheidung", r"décision", r"decisión", r"判断", r"决定", r"결정"),
    ),
    "confidence": (
        r"(?:(?:overall|my|final|your|stated)[ \t]+)?confidence"
        r"(?:[ \t]{0,2}(?:level|score|rating|percentage|estimate|in[ \t]+(?:my[ \t]+|the[ \t]+)?answer))?",
        *(r"certainty", r"probability(?:[\s_]+correct)?", r"prob", r"likelihood", r"sureness", r"rating", r"credence"),
        r"P(?=\d[ \t]*[:=])",
        *(r"(?:nivel[ \t]+de[ \t]+)?confianza", r"seguridad", r"certeza", r"sicherheit", r"konfidenz", r"vertrauen"),
        *(r"(?:niveau[ \t]+de[ \t]+)?confiance", r"certitude"),
        *(r"信心", r"置信度", r"把握", r"확신도", r"확신", r"자신감", r"신뢰도"),
    ),
    "bet": (r"(?:bet|wager|stake)(?:[ \t](?:size|amount))?", r"apuesta", r"einsatz", r"mise", r"下注", r"베팅"),
}  # fmt: skip
_NAMED = {name: re.compile("|".join(words), re.IGNORECASE) for name, words in WORDS.items()}
_SEVERAL = re.compile(r"^(?:answers|guesses|candidates|predictions|responses|options|top_?k)$")


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a name: as text, or as the JSON value it was; ``start`` and ``end`` are its place in the turn."""

    said: str
    start: int
    end: int
    data: Any = None


@dataclass(slots=True)
class Record:
    """Values by name that belong together, and their places."""

    start: int
    end: int
    values: dict[str, Value] = field(default_factory=dict)
    several: bool = False  # one of a list of guesses


def records(text: str) -> list[Record]:
    """Return the records of a turn in order of place. Never raises."""
    given = [
        _record(text, each, start, end, several=several)
        for data, start, end in _decoded(text)
        for each, several in _flat(data)
    ]
    given = [each for each in given if each.values]
    given += _numbered(blanked(text, given))
    outside = blanked(text, given)
    found = [*given, *_labelled(outside), *_table(outside)]
    return sorted(found, key=lambda record: (record.start, record.end))


# --- JSON ------------------------------------------------------------------------------------------------------------
_DECODER = json.JSONDecoder()
_TEXT = r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'"""
_BRACES = re.compile(rf"{_TEXT}|[{{}}]")
_COMMENTS = re.compile(rf"(?P<text>{_TEXT})|//[^\n]*|/\*.*?\*/|,(?=\s*[}}\]])", re.DOTALL)
#: What a form leaves to fill in, repeated unchanged: <letter A-F>, <0 or 1>, [your answer].
TEMPLATE = re.compile(
    r"\W*(?:<[^<>]*(?:\b(?:letter|digit|number|your|answer|confidence|option|insert|integer|rating)\b"
    r"|\w\s*(?:-|to|or|\||/)\s*\w)[^<>]*>"
    r"|\[[^\[\]]*\b(?:your|answer|name|insert|text|number|letter|option|not\s+used|blank)\b[^\[\]]*\])\W*",
    re.IGNORECASE,
)


def objects(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects of a turn, each before those that it holds, repaired where that takes no guess."""
    for data, _, _ in _decoded(text):
        yield from _held(data)


def _held(data: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(data, dict):
        yield data
    for each in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from _held(each)


def _decoded(text: str) -> Iterator[tuple[Any, int, int]]:
    """Yield each object, or list of objects, in ``text``, with its place."""
    end = broken = 0
    for mark in islice(re.finditer(r"[{\[]", text), MOST_OBJECTS):
        start = mark.start()
        if start < end:
            continue
        try:
            data, length = _DECODER.raw_decode(text[start : start + MOST_OF_OBJECT])
        except (ValueError, RecursionError):
            broken += 1
            length = _length(text, start) if mark[0] == "{" and broken <= MOST_BROKEN else 0
            data = _mended(text[start : start + length])
        several = isinstance(data, list) and data and all(isinstance(each, dict) for each in data)
        if isinstance(data, dict) or several:
            end = start + length
            yield data, start, end


def _length(text: str, start: int) -> int:
    """Return the length of what the brace at ``start`` opens, braces in texts left out; 0 where nothing closes it."""
    depth = 0
    for found in _BRACES.finditer(text, start, start + MOST_OF_OBJECT):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if not depth:
            return found.end() - start
    return 0


def _mended(said: str) -> Any:
    """Return an object without its comments and last commas, in JSON or as Python writes it; None where it is neither."""
    bare = _COMMENTS.sub(lambda found: found["text"] or "", said)
    quoted = re.sub(r"([{,]\s{0,80})([A-Za-z_]\w{0,40})\s?:", r'\1"\2":', bare)
    for loads, form in ((json.loads, quoted), (ast.literal_eval, bare)):
        with contextlib.suppress(ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            return loads(form)
    return None


def _flat(data: Any) -> Iterator[tuple[Mapping[str, Any], bool]]:
    """Yield the objects that answer: of a list each, of an object that holds a list of guesses its guesses."""
    if isinstance(data, list):
        yield from ((each, len(data) > 1) for each in data)
        return
    for key, value in data.items():
        guesses = isinstance(value, list) and value and all(isinstance(each, dict) for each in value)
        if guesses and _SEVERAL.match(key.lower()):
            yield from ((each, len(value) > 1) for each in value)
            return
    inner = [value for value in data.values() if isinstance(value, dict)]
    yield data if len(inner) != 1 or any(map(_known, data)) else inner[0], False


def _known(key: str) -> str | None:
    """Return the name that the key of an object or the head of a column means."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|[\s_-]+", " ", key).strip()  # confidenceScore
    return next((name for name, words in _NAMED.items() if words.fullmatch(spaced)), None)


def _record(text: str, pairs: Mapping[str, Any], start: int, end: int, *, several: bool = False) -> Record:
    made, place = Record(start, end, several=several), start
    for key, data in pairs.items():
        known = _known(key)
        said = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        behind = max(text.find(key, place, end), place) + len(key)
        at = text.find(said, behind, end)
        place = behind if at < 0 else at
        if known and data is not None and not TEMPLATE.fullmatch(said):
            made.values.setdefault(known, Value(said, place, end if at < 0 else at + len(said), data))
    return made


_BLANK = "\x1f"  # no white space, which the readers of labels would look through


def blanked(text: str, found: Sequence[Record]) -> str:
    """Return ``text`` with the records blank, so that they are not read again."""
    for each in found:
        blank = re.sub(r"[^\n]", _BLANK, text[each.start : each.end])
        text = text[: each.start] + blank + text[each.end :]
    return text


# --- labelled lines ---------------------------------------------------------------------------------------------------
def _alternatives(name: str) -> str:
    return "|".join(WORDS[name])


_SURE = _alternatives("confidence")
_OPEN = (
    r"(?:^|(?<=[\n.;,|>(/])|(?<=[ \t][ \t])(?=\S)|(?<=\s-\s))[ \t>#*_|•✅📊🎯\"'{-]{0,12}"
    r"(?:(?:and|so|my|the)[ \t]{1,4}){0,3}"
)
_NOTE = r"(?:[ \t]{0,4}[(\[][^)\]\n]{0,60}[)\]])?"
_SEPARATOR = r"[ \t*_\"']{0,8}(?:[:=]|[-=]>|→|(?<=\s)-(?=\s)|是)[ \t*_$]{0,8}"
_ANSWERS = "|".join(map(_alternatives, ("answer", "decision")))
_NAMES = "|".join(rf"(?P<{name}>(?:{_alternatives(name)}))" for name in WORDS)
_LABEL = re.compile(
    rf"{_OPEN}(?P<joint>(?:final[ \t]+)?(?:{_ANSWERS})[ \t]{{0,4}}(?:and|&|/|,|\+|\()[ \t]{{0,4}}(?:{_SURE})\)?)"
    rf"{_NOTE}{_SEPARATOR}|{_OPEN}(?P<word>{_NAMES})"
    rf"(?:[ \t]?(?P<number>\d{{1,2}}))?{_NOTE}{_SEPARATOR}",
    re.IGNORECASE,
)
_HEADING = re.compile(
    rf"^[ \t>*_]{{0,8}}#{{1,5}}[ \t]{{0,4}}\**(?P<word>{_NAMES})\**[ \t]*:?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_TAG = re.compile(rf"<(?P<word>{_NAMES})>\s*(?P<value>[^<]{{0,400}}?)\s*</(?P=word)>", re.IGNORECASE)
# As GSM8K ends its solutions.
_SOLVED = re.compile(r"^[ \t]*(?P<answer>####)[ \t]*(?=[-+$€£]?\d|[A-J][ \t]*$)", re.MULTILINE)


def _labelled(text: str) -> Iterator[Record]:
    """Yield records of labelled lines: a name again begins the next record."""
    current: Record | None = None
    for name, start, value in sorted(_labels(text), key=lambda each: each[1]):
        names = ("answer", "confidence") if name == "joint" else (name,)
        opens = (
            names[0] in ("answer", "decision")
            and current
            and {*current.values} - {"answer", "decision", "pre"}
        )
        if current is None or opens or names[0] in current.values:
            if current is not None:
                yield current
            current = Record(start, value.end)
        current.end = max(current.end, value.end)
        current.values.update(dict.fromkeys(names, replace(value, data="joint") if len(names) > 1 else value))
    if current is not None:
        yield current


# "DECISION:0 CONFIDENCE:5", "My decision is 0. My confidence is 4.", "decision 1, confidence of two", "Confidence 4".
_SAID = re.compile(
    rf"(?:^|(?<=[ \t(]))(?:(?P<decision>decision)|(?P<confidence>{_SURE})|(?P<bet>bet|wager))"
    r"(?:[ \t*_\"']{0,4}[:=][ \t*_$]{0,4}|[ \t]{1,4}(?:(?:is|of|at|=)[ \t]{1,4})?[$ ]{0,9}|[ \t]{0,4}\n[ \t]{0,4})"
    r"(?P<value>\d{1,3}(?:[.,]\d{1,4})?[ ]?%?(?:[ ]?/[ ]?\d{1,3})?|(?:zero|one|two|three|four|five)\b)",
    re.IGNORECASE | re.MULTILINE,
)
# "Answer B" on a line of its own.
_ALONE = re.compile(
    r"^[ \t>*_-]{0,8}(?:final[ \t]{1,4})?(?P<answer>answer)[ \t]{1,4}(?P<value>\(?[A-Z]\)?)[.* \t]{0,4}$",
    re.IGNORECASE | re.MULTILINE,
)
# A row of a table of names and values, not the head of a table.
_CELL = re.compile(
    r"^[ \t>-]{0,8}\|?[ \t*_]{0,6}(?P<name>[^|\n*]{1,40}?)[ \t*_]{0,6}\|(?P<value>[^|\n]{1,200})\|?[ \t]*$",
    re.MULTILINE,
)


def _labels(text: str) -> Iterator[tuple[str, int, Value]]:
    """Yield names, their places and the values after them; a confidence that is only spoken of is left out."""
    found = [*_LABEL.finditer(text)]
    for label, end in zip(found, [*(each.start() for each in found[1:]), len(text)], strict=False):
        yield _name(label), label.start(), _line(text, label.end(), end)
    for each in [*_HEADING.finditer(text), *_SOLVED.finditer(text)]:
        yield _name(each), each.start(), _line(text, each.end(), len(text))
    for each in _CELL.finditer(text):
        if (name := _known(each["name"])) and not _known(each["value"].strip(" *_")):
            yield name, each.start(), _line(text, each.start("value"), each.end("value"))
    labelled = {label.start("word") for label in found}
    for each in [*_TAG.finditer(text), *_ALONE.finditer(text), *_SAID.finditer(text)]:
        if each.start() not in labelled and not supposed(text, each.start()):
            yield _name(each), each.start(), group(each, "value")


def _name(found: re.Match[str]) -> str:
    said = found.groupdict()
    return next(name for name in ("joint", *WORDS) if said.get(name))


def group(found: re.Match[str], name: str) -> Value:
    """Return a group of a match with its place."""
    return Value(found[name], found.start(name), found.end(name))


# The rest of a line, or the next line where that is empty.
_VALUE = re.compile(r"(?:[ \t*_]*+\n[ \t\n*_]*+)?[ \t*_|;\r]*+([^\n]*)")


def _line(text: str, start: int, end: int) -> Value:
    """Return the value after a label."""
    found = _VALUE.match(text, start, end)
    assert found is not None  # it matches any text
    said = found[1].rstrip(" \t*_|;\r")
    broken = re.match(r'"[^"]*(?:$|"\s*:)', said)  # JSON that lacks a value, or is cut in it
    kept = "" if broken or TEMPLATE.fullmatch(said) else said
    return Value(kept, found.start(1), found.start(1) + len(said))


_SUPPOSED = re.compile(r"(?:\b(?:not|never|if|unless|nearly|almost)\b|n't\b)[^.!?\n,;]{0,80}$", re.IGNORECASE)


def supposed(text: str, start: int) -> bool:
    """Return whether what begins at ``start`` is only spoken of, not stated: what a reply would say, or does not say."""
    return _SUPPOSED.search(text, max(0, start - 80), start) is not None


# --- numbered guesses ---------------------------------------------------------------------------------------------------
_GUESS = re.compile(
    r"^[ \t]{0,8}(?:Guess[ \t])?(?P<number>\d)[.):]\s+(?P<answer>[^\n(]{1,200}?)[ \t]*"
    r"\((?P<confidence>[^)\n]{1,20})\)[ \t]*$",
    re.MULTILINE,
)


def _numbered(text: str) -> Iterator[Record]:
    """Yield a record for each of several numbered guesses, ``1. B (85%)``."""
    found = [*_GUESS.finditer(text)]
    if [each["number"] for each in found] != [str(place + 1) for place in range(len(found))]:
        return
    for each in found:
        made = Record(each.start(), each.end(), several=len(found) > 1)
        made.values.update({name: group(each, name) for name in ("answer", "confidence")})
        yield made


# --- a table ------------------------------------------------------------------------------------------------------------
# A head, a rule and one row: a table of several rows explains the options.
_TABLE = re.compile(
    r"^(?P<head>[^|\n]{0,80}\|[^\n]{0,400})\n[ \t]{0,8}\|?[ \t]{0,8}:?-{1,40}:?[ \t]{0,8}\|[-|: \t]{0,400}\n"
    r"(?P<row>[^|\n]{0,400}\|[^\n]{0,2000})(?!.)(?!\n[^\n|]{0,80}\|)",
    re.MULTILINE,
)


def _table(text: str) -> Iterator[Record]:
    """Yield a record for each Markdown table of one row."""
    for found in _TABLE.finditer(text):
        names, cells = (
            [cell.strip(" \t*_`") for cell in found[line].strip(" \t|").split("|")]
            for line in ("head", "row")
        )
        made = _record(text, dict(zip(names, cells, strict=False)), found.start(), found.end())
        if made.values:
            yield made
