"""What a reply says: one letter A–F and one confidence 1–5, or why not. Total: any string gives a `Parsed`.

Rules for the letter, in this order; the first rule that finds a declaration decides, and within a rule the last
declaration does:

1. ``json``: a JSON object with ``answer``: a letter, or a text equal to exactly one option;
2. ``declared``: the word *answer*, then ``is``, ``:``, ``-``, brackets, bold or a box, then the letter;
3. ``letter``: a reply that is one letter, brackets, full stop, bold or box allowed;
4. ``first_line``: a first line that begins with a letter and ``.``, ``)`` or ``:``;
5. ``option_text``: a reply equal to exactly one option, folded.

A line that holds nothing but the confidence is set aside before rules 3 and 5. An answer that is called wrong or second
best, and the options explained one by one, declare nothing. A capital letter in prose is never an answer, two different
letters in the deciding declaration are none, and a refusal is not F.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from metacog_pipeline.benchmark.answers.text import both_ends
from metacog_pipeline.benchmark.thinking import without_thinking
from metacog_pipeline.benchmarks.metamedqa.construction.text import fold, straight_quotes
from metacog_pipeline.benchmarks.metamedqa.items import LETTERS, Letter
from metacog_pipeline.benchmarks.metamedqa.parsing import declared_answer
from metacog_pipeline.benchmarks.metamedqa.parsing.confidence import (
    NONE_FOUND,
    confidence_line,
    rating_of,
    read_normal,
)
from metacog_pipeline.benchmarks.metamedqa.parsing.declared_answer import Found

ParseStatus = Literal["ok", "answer_unparsed", "confidence_unparsed"]
Rule = Literal["json", "declared", "letter", "first_line", "option_text"]

_TWO_LINES = re.compile(r"\s*+Answer: ?([A-F])[ \t]*+\n\s*+Confidence: ?([1-5])\s*+")
_JSON_KEY = re.compile(r'"\s*+answer\s*+"\s*+:', re.IGNORECASE)
_JSON_KEYS_TRIED = 8
_JSON_BRACES_TRIED = 8
_JSON_REACH = 200_000  # characters searched around an "answer" key for its object
_WHOLE_REPLY = 20_000  # longer replies cannot be one letter or one option text
_LONGEST = 100_000  # characters of a reply that are read; of a longer one both ends

# Removed: bold and code marks, zero-width and direction marks, soft hyphen, keycap and variation marks. Other control
# characters and lone surrogates become spaces; every line break becomes a line feed.
_REMOVED = (0x2A, 0x60, 0xAD, 0x61C, 0x20E3, 0xFE0E, 0xFE0F, 0xFEFF)
_REMOVED_RANGES = ((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F))
_CLEAN: dict[int, str | None] = {
    **dict.fromkeys((*range(0x20), 0x7F, *range(0xD800, 0xE000)), " "),
    0xFFFD: " ",  # what a lone surrogate becomes in Parquet
    **dict.fromkeys(_REMOVED),
    **{code: None for low, high in _REMOVED_RANGES for code in range(low, high + 1)},
    **{ord(c): "\n" for c in "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"},
    # Ligatures that NFKC would blow up to 18 characters each.
    0xFDFA: " ",
    0xFDFB: " ",
}
# Pairs of HTML marks around a short text, dropped: <b>A</b> is a bold A, not the letter in the tag.
_HTML_MARKS = re.compile(
    r"<(b|i|u|strong|em|span|font|mark|code|p|div|td|th|li)(?:\s[^<>]{0,80}+)?+>([^<>]{0,120}+)</\1>",
    re.IGNORECASE,
)
_HTML_DEPTH = 3


@dataclass(frozen=True, slots=True)
class Parsed:
    """The reading of one reply.

    ``confidence`` is 1 to 5 and None without a letter; ``reason`` says in one line why something is missing;
    ``rule`` is the rule that decided, also where it decided that there is no single letter.
    """

    answer: Letter | None
    confidence: int | None
    status: ParseStatus
    reason: str | None
    rule: Rule | None


def parse(text: str, options: Sequence[str] = ()) -> Parsed:
    """Read ``text``. ``options`` are the six option texts in order; without them rule 5 cannot match."""
    if (usual := _TWO_LINES.fullmatch(text)) is not None:
        return Parsed(cast(Letter, usual[1]), int(usual[2]), "ok", None, "declared")
    text = both_ends(without_thinking(text), _LONGEST)
    normal = _with_table_as_lines(normalise(text))
    found = _from_json(text, options) if "{" in text else None
    letters, rating_value = found or (frozenset(), None)
    rule: Rule | None = "json" if letters else None
    place = None
    if rating_value is None:
        declared, place = declared_answer.last_declared(normal, options)
        letters, rule = (letters, rule) if letters else _letters(normal, options, declared)
    if len(letters) != 1:
        return Parsed(None, None, "answer_unparsed", _why_no_letter(text, letters), rule)
    answer = cast(Letter, next(iter(letters)))
    rating, reason = read_normal(normal, place) if rating_value is None else rating_value
    status: ParseStatus = "confidence_unparsed" if rating is None else "ok"
    return Parsed(answer, rating, status, reason, rule)


def read_confidence(text: str, *, bare: bool = False) -> tuple[int | None, str | None]:
    """Return (rating 1–5, None) or (None, reason). ``bare`` also accepts a reply that is only the rating."""
    normal = normalise(both_ends(without_thinking(text), _LONGEST))
    if bare and (alone := rating_of(normal[:_WHOLE_REPLY])) is not None:
        return alone
    return read_normal(normal, None)


def normalise(text: str) -> str:
    """Return ``text`` in NFKC with line feeds only, without bold, code, HTML, zero-width and direction marks."""
    cleaned = _without_html_marks(text.translate(_CLEAN))
    return cleaned if cleaned.isascii() else unicodedata.normalize("NFKC", cleaned).translate(_CLEAN)


def _with_table_as_lines(normal: str) -> str:
    """Write a table of one row below a heading *Answer* as ``heading: cell`` lines."""
    lines = normal.split("\n") if "|" in normal else []
    for number in range(1, len(lines) - 1):
        if "-" not in lines[number] or lines[number].strip(" \t|:-"):
            continue
        heads, cells = _cells(lines[number - 1]), _cells(lines[number + 1])
        after = lines[number + 2] if number + 2 < len(lines) else ""
        if len(heads) == len(cells) and _names_columns(heads) and "|" not in after:
            written = [f"{head}: {cell}" for head, cell in zip(heads, cells, strict=True)]
            lines[number - 1 : number + 2] = ["\n".join(written), "", ""]
    return "\n".join(lines) or normal


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip(" \t|").split("|")]


def _names_columns(heads: list[str]) -> bool:
    """Whether a row is a heading with *Answer*, and no row with a letter under its label."""
    return any(head.casefold().endswith("answer") for head in heads) and not any(
        declared_answer.whole_reply(head) for head in heads
    )


def _without_html_marks(text: str) -> str:
    for _ in range(_HTML_DEPTH):
        if "</" not in text:
            break
        text = _HTML_MARKS.sub(r" \2 ", text)
    return text


def _letters(normal: str, options: Sequence[str], declared: Found) -> tuple[Found, Rule | None]:
    """Return the letters of the deciding declaration and its rule, where no JSON object declares."""
    if declared:
        return declared, "declared"
    core = _without_confidence_lines(normal)
    if letters := declared_answer.whole_reply(core):
        return letters, "letter"
    if letters := declared_answer.first_line(normal, options):
        return letters, "first_line"
    if letters := _equal_option(core, options):
        return letters, "option_text"
    return frozenset(), None


def _from_json(
    text: str, options: Sequence[str]
) -> tuple[Found, tuple[int | None, str | None] | None] | None:
    """Rule 1: the last JSON object whose ``answer`` names a letter, with its ``confidence`` where it has one."""
    keys = [match.span() for match in _JSON_KEY.finditer(text)]
    for start, end in reversed(keys[-_JSON_KEYS_TRIED:]):
        pairs = _object_around(text, start, end)
        if pairs is None:
            continue
        values = [value for key, value in pairs if key.strip().casefold() == "answer"]
        letters = frozenset[str]().union(*(_value_letters(value, options) for value in values))
        if letters:
            ratings = [value for key, value in pairs if key.strip().casefold() == "confidence"]
            return letters, _value_rating(ratings[-1]) if ratings else None
    return None


def _object_around(text: str, start: int, end: int) -> list[tuple[str, object]] | None:
    """Return the pairs of the innermost JSON object that directly holds the key at ``start``."""
    found: list[list[tuple[str, object]]] = []

    def keep(pairs: list[tuple[str, object]]) -> None:
        if any(key.strip().casefold() == "answer" for key, _ in pairs):
            found.append(pairs)

    decoder = json.JSONDecoder(object_pairs_hook=keep)
    brace, lowest = start, max(0, start - _JSON_REACH)
    for _ in range(_JSON_BRACES_TRIED):
        brace = text.rfind("{", lowest, brace)
        if brace < 0:
            return None
        try:
            _, length = decoder.raw_decode(text[brace : end + _JSON_REACH])
        except (ValueError, RecursionError):
            found.clear()
            continue
        if brace + length >= end and found:
            return found[-1]
        found.clear()
    return None


def _value_letters(value: object, options: Sequence[str]) -> Found:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str):
        return frozenset()
    normal = normalise(value[:_WHOLE_REPLY])
    return (
        declared_answer.whole_reply(normal)
        or declared_answer.first_line(normal, options, alone=True)
        or _equal_option(normal, options)
    )


def _value_rating(value: object) -> tuple[int | None, str | None]:
    if isinstance(value, bool) or value is None or not isinstance(value, int | float | str):
        return None, "the confidence of the JSON object is not a number"
    shown = str(value) if isinstance(value, str) or not abs(value) >= 1e6 else "1000000"
    return rating_of(normalise(shown[:_WHOLE_REPLY])) or (None, NONE_FOUND)


def _without_confidence_lines(normal: str) -> str:
    if len(normal) > _WHOLE_REPLY:
        return ""
    return "\n".join(line for line in normal.split("\n") if not confidence_line(line)).strip()


def _equal_option(core: str, options: Sequence[str]) -> Found:
    wanted = _folded(core)
    if not wanted:
        return frozenset()
    equal = [letter for letter, option in zip(LETTERS, options, strict=False) if _folded(option) == wanted]
    return frozenset(equal) if len(equal) == 1 else frozenset()


def _folded(text: str) -> str:
    """Fold for rule 5: curly and straight quotes are one, and those around the whole text do not count."""
    return fold(fold(straight_quotes(normalise(text))).strip("'\" "))


def _why_no_letter(text: str, letters: Found) -> str:
    if letters:
        return f"the answer names more than one letter: {', '.join(sorted(letters))}"
    return "the reply is empty" if not text.strip() else "no answer letter is declared"
