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

# brackets of one reply that may open one; what lies beyond is no answer
MOST_OBJECTS = 1_000
# braces that open none and are looked at twice
MOST_BROKEN = 20
# characters from the brace on that are looked at
MOST_OF_OBJECT = 20_000

# a blank within a name: PRE_CONFIDENCE, Pre-confidence, pre\_confidence
_GAP = r"[\\ \t_-]{0,3}"
# The words of prompts and replies for each name, as written before a colon. Longer ones come first.
WORDS = {
    name: words.replace(" ", _GAP)
    for name, words in {
        "pre": r"(?:pre|initial|prior|predicted) confidence|confidence \(?(?:before|pre)(?: answering)?\)?"
        "|confiance avant|confianza previa",
        "post": r"(?:post|updated) confidence|confidence \(?(?:after|post)(?: answering)?\)?"
        "|confiance après|confianza posterior",
        "answer": "(?:final|correct(?:ed)?|revised|updated|best|my|selected|chosen|short) (?:answer|option|choice|response)"
        r"|answer|choice|option|guess|response|selection|prediction|letter|final|G(?=\d\s{0,9}[:=])"
        "|respuesta(?: (?:final|correcta))?|antwort|r[eé]ponse|答案|回答|选择|정답|답변|답",
        "decision": "decision|judge?ment|label|classification|verdict|entscheidung|décision|decisión|判断|决定|결정",
        "confidence": "(?:(?:overall|my|final|your|stated) )?confidence"
        "(?: (?:level|score|rating|percentage|estimate|in (?:my |the )?answer))?"
        r"|certainty|probability(?: correct)?|prob|likelihood|sureness|rating|credence|P(?=\d\s{0,9}[:=])"
        "|(?:nivel de )?confianza|seguridad|certeza|sicherheit|konfidenz|vertrauen|(?:niveau de )?confiance|certitude"
        "|信心|置信度|把握|확신도|확신|자신감|신뢰도",
        "bet": "(?:bet|wager|stake)(?: (?:size|amount))?|apuesta|einsatz|mise|下注|베팅",
    }.items()
}
_NAMED = {name: re.compile(words, re.IGNORECASE) for name, words in WORDS.items()}
_SEVERAL = re.compile(r"^(?:answers|guesses|candidates|predictions|responses|options|top_?k)$")


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a name, and its place in the turn."""

    said: str
    start: int
    end: int
    # an answer and a confidence under one label
    joint: bool = False


@dataclass(slots=True)
class Record:
    """Values by name that belong together, and their places."""

    start: int
    end: int
    values: dict[str, Value] = field(default_factory=dict)
    several: bool = False  # one of a list of guesses


def records(text: str) -> list[Record]:
    """Return the records of a turn in order of place. Never raises."""
    made = (_record(text, each, *place, several=several) for each, several, *place in _given(text))
    given = [each for each in made if each.values]
    given += _numbered(blanked(text, given))
    outside = blanked(text, given)
    found = [*given, *_labelled(outside), *_table(outside)]
    return sorted((each for each in found if each.values), key=lambda record: (record.start, record.end))


# --- JSON ------------------------------------------------------------------------------------------------------------
_DECODER = json.JSONDecoder()
_TEXT = r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'"""
_BRACES = re.compile(rf"{_TEXT}|[{{}}]")
_COMMENTS = re.compile(rf"(?s)(?P<text>{_TEXT})|//[^\n]*|/\*.*?\*/|,(?=\s*[}}\]])")
#: What a form leaves to fill in, repeated unchanged: <letter A-F>, <0 or 1>, [your answer].
TEMPLATE = re.compile(
    r"(?i)\W*(?:<[^<>]*(?:\b(?:letter|digit|number|your|answer|confidence|option|insert|integer|rating)\b"
    r"|\w\s*(?:-|to|or|\||/)\s*\w)[^<>]*>"
    r"|\[[^\[\]]*\b(?:your|answer|name|insert|text|number|letter|option|not\s+used|blank)\b[^\[\]]*\])\W*"
)


def objects(data: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of decoded JSON, each before those that it holds."""
    if isinstance(data, dict):
        yield data
    for each in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from objects(each)


def decoded(text: str) -> Iterator[tuple[Any, int, int]]:
    """Yield each object, or list of objects, in ``text`` with its place, repaired where that takes no guess."""
    end = broken = 0
    for mark in islice(re.finditer(r"[{\[]", text), MOST_OBJECTS):
        start = mark.start()
        if start < end:
            continue
        try:
            data, length = _DECODER.raw_decode(text[start : start + MOST_OF_OBJECT])
        except (ValueError, RecursionError) as error:
            broken += 1
            # Each mark within nests that are too deep is the next one that is: each costs as much again.
            if isinstance(error, RecursionError) and broken > MOST_BROKEN:
                return
            length = _length(text, start) if mark[0] == "{" and broken <= MOST_BROKEN else 0
            data = _mended(text[start : start + length]) if length else None
        if isinstance(data, dict) or _objects(data):
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


def _given(text: str) -> Iterator[tuple[Mapping[str, Any], bool, int, int]]:
    """Yield the objects that answer, whether they are one of several, and their places."""
    for data, start, end in decoded(text):
        answering = data if isinstance(data, list) else _answering(data)
        yield from ((each, len(answering) > 1, start, end) for each in answering)


def _answering(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the guesses that an object lists, or the one object that it holds, or itself."""
    lists: list[Any] = [
        value for key, value in data.items() if _objects(value) and _SEVERAL.match(key.lower())
    ]
    inner = [value for value in data.values() if isinstance(value, dict)]
    own: list[Any] = [data] if len(inner) != 1 or any(map(_known, data)) else inner
    return lists[0] if lists else own


def _objects(data: Any) -> bool:
    return isinstance(data, list) and bool(data) and all(isinstance(each, dict) for each in data)


def _known(key: str) -> str | None:
    """Return the name that the key of an object or the head of a column means."""
    # confidenceScore
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|[\s_-]+", " ", key).strip()
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
            made.values.setdefault(known, Value(said, place, end if at < 0 else at + len(said)))
    return made


# no white space, which the readers of labels would look through
_BLANK = "\x1f"


def blanked(text: str, found: Sequence[Record]) -> str:
    """Return ``text`` with the records blank, so that they are not read again."""
    for each in found:
        blank = re.sub(r"[^\n]", _BLANK, text[each.start : each.end])
        text = text[: each.start] + blank + text[each.end :]
    return text


# --- labelled lines ---------------------------------------------------------------------------------------------------
_SURE = WORDS["confidence"]
_OPEN = (
    r"(?:^|(?<=[\n.;,|>(/])|(?<=[ \t][ \t])(?=\S)|(?<=\s-\s))[ \t>#*_|•✅📊🎯\"'{-]{0,12}"
    r"(?:(?:and|so|my|the)[ \t]{1,4}){0,3}"
)
_NOTE = r"(?:[ \t]{0,4}[(\[][^)\]\n]{0,60}[)\]])?"
_SEPARATOR = r"[ \t*_\"']{0,8}(?:[:=]|[-=]>|→|(?<=\s)-(?=\s)|是)[ \t*_$]{0,8}"
_ANSWERS = f"{WORDS['answer']}|{WORDS['decision']}"
_NAMES = "|".join(f"(?P<{name}>{words})" for name, words in WORDS.items())
_LABEL = re.compile(
    rf"(?i){_OPEN}(?P<joint>(?:final[ \t]+)?(?:{_ANSWERS})[ \t]{{0,4}}(?:and|&|/|,|\+|\()[ \t]{{0,4}}(?:{_SURE})\)?)"
    rf"{_NOTE}{_SEPARATOR}|{_OPEN}(?P<word>{_NAMES})"
    rf"(?:[ \t]?\d{{1,2}})?{_NOTE}{_SEPARATOR}"
)
_HEADING = re.compile(rf"(?im)^[ \t>*_]{{0,8}}#{{1,5}}[ \t]{{0,4}}\**(?P<word>{_NAMES})\**[ \t]*:?[ \t]*$")
_TAG = re.compile(rf"(?i)<(?P<word>{_NAMES})>\s*(?P<value>[^<]{{0,400}}?)\s*</(?P=word)>")
# As GSM8K ends its solutions.
_SOLVED = re.compile(r"(?m)^[ \t]*(?P<answer>####)[ \t]*(?=[-+$€£]?\d|[A-J][ \t]*$)")


def _labelled(text: str) -> list[Record]:
    """Return the records of labelled lines: a name again begins the next record."""
    found: list[Record] = []
    for name, start, value in sorted(_labels(text), key=lambda each: each[1]):
        names = ("answer", "confidence") if name == "joint" else (name,)
        held = {*found[-1].values} if found else set()
        answers = names[0] in ("answer", "decision") and held - {"answer", "decision", "pre"}
        if not found or answers or names[0] in held:
            found.append(Record(start, value.end))
        found[-1].end = max(found[-1].end, value.end)
        found[-1].values.update(dict.fromkeys(names, replace(value, joint=name == "joint")))
    return found


# "DECISION:0 CONFIDENCE:5", "My decision is 0. My confidence is 4.", "decision 1, confidence of two", "Confidence 4".
_SAID = re.compile(
    rf"(?im)(?:^|(?<=[ \t(]))(?:(?P<decision>decision)|(?P<confidence>{_SURE})|(?P<bet>bet|wager))"
    r"(?:[ \t*_\"']{0,4}[:=][ \t*_$]{0,4}|[ \t]{1,4}(?:(?:is|of|at|=)[ \t]{1,4})?[$ ]{0,9}|[ \t]{0,4}\n[ \t]{0,4})"
    r"(?P<value>\d{1,3}(?:[.,]\d{1,4})?[ ]?%?(?:[ ]?/[ ]?\d{1,3})?|(?:zero|one|two|three|four|five)\b)"
)
# "Answer B" on a line of its own.
_ALONE = re.compile(
    r"(?im)^[ \t>*_-]{0,8}(?:final[ \t]{1,4})?(?P<answer>answer)[ \t]{1,4}(?P<value>\(?[A-Z]\)?)[.* \t]{0,4}$"
)
# A row of a table of names and values, not the head of a table.
_CELL = re.compile(
    r"(?m)^[ \t>-]{0,8}\|?[ \t*_]{0,6}(?P<name>[^|\n*]{1,40}?)[ \t*_]{0,6}\|(?P<value>[^|\n]{1,200})\|?[ \t]*$"
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
    # JSON that lacks a value, or is cut in it
    broken = re.match(r'"[^"]*(?:$|"\s*:)', said)
    kept = "" if broken or TEMPLATE.fullmatch(said) else said
    return Value(kept, found.start(1), found.start(1) + len(said))


_SUPPOSED = re.compile(r"(?i)(?:\b(?:not|never|if|unless|nearly|almost)\b|n't\b)[^.!?\n,;]{0,80}$")


def supposed(text: str, start: int) -> bool:
    """Return whether what begins at ``start`` is only spoken of, not stated: what a reply would say, or does not say."""
    return _SUPPOSED.search(text, max(0, start - 80), start) is not None


# --- numbered guesses ---------------------------------------------------------------------------------------------------
_GUESS = re.compile(
    r"(?m)^[ \t]{0,8}(?:Guess[ \t])?(?P<number>\d)[.):]\s+(?P<answer>[^\n(]{1,200}?)[ \t]*"
    r"\((?P<confidence>[^)\n]{1,20})\)[ \t]*$"
)


def _numbered(text: str) -> list[Record]:
    """Return a record for each of several numbered guesses, ``1. B (85%)``."""
    found = [*_GUESS.finditer(text)]
    in_order = all(int(each["number"]) == place for place, each in enumerate(found, 1))
    values = [{name: group(each, name) for name in ("answer", "confidence")} for each in found if in_order]
    return [Record(*each.span(), own, len(found) > 1) for each, own in zip(found, values, strict=False)]


# --- a table ------------------------------------------------------------------------------------------------------------
# A head, a rule and one row: a table of several rows explains the options.
_TABLE = re.compile(
    r"(?m)^(?P<head>[^|\n]{0,80}\|[^\n]{0,400})\n[ \t]{0,8}\|?[ \t]{0,8}:?-{1,40}:?[ \t]{0,8}\|[-|: \t]{0,400}\n"
    r"(?P<row>[^|\n]{0,400}\|[^\n]{0,2000})(?!.)(?!\n[^\n|]{0,80}\|)"
)


def _table(text: str) -> Iterator[Record]:
    """Yield a record for each Markdown table of one row."""
    for found in _TABLE.finditer(text):
        lines = (found[name].strip(" \t|").split("|") for name in ("head", "row"))
        names, cells = ([cell.strip(" \t*_`") for cell in line] for line in lines)
        yield _record(text, dict(zip(names, cells, strict=False)), *found.span())
