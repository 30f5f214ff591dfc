"""Prepare a reply for cues (T1, T2, T4, T5): what is quoted, copied or code is blanked, what is asserted stays.

The result is bounded so that regexes stay linear: words of at most 100 characters, single spaces, lines of at most 500
characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from metacog_pipeline.benchmark.answers.text import both_ends, plain_characters, without_reasoning
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.heads import Places
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.patterns import compiled
from metacog_pipeline.benchmarks.metacogbench.parsing import json_objects

LONGEST = 10_000  # characters of a reply that cues are looked for in; the halves at both ends are kept
_WORD_LENGTH, _LINE_LENGTH = 100, 500
_STEM_SPAN = 5  # words in a row that count as copied from the stem

_FENCED = re.compile(
    r"^[ ]*(`{3,}|~{3,})[ ]*([\w+-]*)[^\n]*\n(.*?)(?:^[ ]*\1[`~]*[ ]*$|\Z)", re.MULTILINE | re.DOTALL
)
_PROSE_FENCES = frozenset({"markdown", "md", "text", "txt", "plaintext"})
_JSON_FENCE = re.compile(r"^[ ]*(?:`{3,}|~{3,})[ ]*json[ ]*$(?=\s*\n)", re.MULTILINE | re.IGNORECASE)
_BLOCK_QUOTE = re.compile(r"^[ ]*>[^\n]*$", re.MULTILINE)
_QUOTED = re.compile(r'(?<![\w"])"(?=\S)([^"\n]{1,1200}(?:\n[^"\n]{1,600})?)"(?!\w)')
_HEADING = re.compile(
    r"^[ ]*(?:#{1,6}[ ]+(?P<a>[^\n]+?)"
    r"|(?:\d{1,2}[.)] )?(?:\*\*|__)(?P<b>[^*\n]{1,80})(?:\*\*|__):?)[ ]*$"
)
_NOTHING = re.compile(
    r"[\W_]*(?:none|n/a|na|nil|nothing|not applicable|no|none (?:identified|known|apply|found|noted|to report|that matter)"
    r"|nothing (?:to report|significant|notable|of note))?(?: (?:here|really|at all|in this case|for now))?[\W_]*",
    re.IGNORECASE,
)
_EMPTY_VALUES = frozenset(
    {"", "none", "n/a", "na", "null", "nil", "-", "not applicable", "nothing", "none identified"}
)
_LATEX_WORDS = re.compile(r"\\(?:text|textbf|textit|emph|mathrm|boxed)[ ]?\{([^{}]*)\}")
_EMPHASIS = re.compile(r"\*+|`+|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)")
_LONG_WORD = re.compile(rf"\S{{{_WORD_LENGTH + 1},}}")
_RUNS = re.compile(r"[ \t]{2,}")
_RUNS_OF_MARKS = re.compile(r"([^\w\s])\1{3,}")
_NO_WORDS = re.compile(r"[\W\d_\u0590-\u08ff]{300,}")  # only marks, numbers, or letters that no cue has
_SENTENCE_END = re.compile(r"[.!?]+[\"')\]]*(?=\s|$)|\n")
_WORDS = re.compile(r"\w+(?:'\w+)?")


@dataclass(frozen=True)
class Prepared:
    """Lower-cased text with masks applied, and where its sentences begin and end."""

    text: str

    @cached_property
    def sentence_ends(self) -> list[int]:
        """Ends of the sentences, the last one the end of the text."""
        return [*(found.end() for found in _SENTENCE_END.finditer(self.text)), len(self.text)]

    @cached_property
    def places(self) -> Places:
        """Where the regexes of cues could match."""
        return Places(self.text)


def prepare(reply: str, stem: str = "", ignore: Iterable[str] = ()) -> Prepared:
    """Return the text that cues are looked for in.

    Spans of five or more words copied from ``stem``, the text the model was shown, are blanked, and so is what matches
    ``ignore``: regexes or words of the scenario that are no cue here.
    """
    text = _headings(_masked(_json_as_prose(plain_characters(without_reasoning(reply)))))
    text = _EMPHASIS.sub("", _LATEX_WORDS.sub(r"\1", text).replace("\\%", "%"))
    text = _bounded(text.lower())
    if stem:
        text = _without_copied(text, stem)
    for pattern in ignore:
        text = compiled(pattern if re.search(r"\W", pattern) else rf"\b{pattern}\b").sub(_blank, text)
    return Prepared(text)


def _json_as_prose(text: str) -> str:
    """Write JSON objects as sentences ``key: value.``; a key whose value says nothing goes with it."""
    if "{" not in text:
        return text
    parts, end = [], 0
    for found in json_objects.objects(text):
        parts += [text[end : found.start], "\n", "\n".join(_sentences(found.value)), "\n"]
        end = found.end
    if not parts and re.match(r"\s*[{\[]", text):
        return re.sub(r'["{}]', " ", text)
    return _JSON_FENCE.sub("", "".join(parts) + text[end:]) if parts else text


def _sentences(value: object, key: str = "", depth: int = 12) -> list[str]:
    label = f"{re.sub(r'(?<=[a-z])(?=[A-Z])|_+', ' ', key)}: " if key else ""
    if depth == 0 or value is None or value is False:
        return []
    if isinstance(value, (dict, list)):
        members = value.items() if isinstance(value, dict) else [("", each) for each in value]
        inside = [line for k, v in members for line in _sentences(v, k, depth - 1)]
        return ([label] if label and inside else []) + inside
    shown = str(value).strip() if not isinstance(value, int) or abs(value) < 10**300 else ""
    if shown.lower().strip(".") in _EMPTY_VALUES:
        return []
    return [label + shown + ("" if shown.endswith((".", "!", "?")) else ".")]


def _masked(text: str) -> str:
    if "```" in text or "~~~" in text:
        text = _FENCED.sub(_fence, text)
    if ">" in text:
        text = _BLOCK_QUOTE.sub("", text)
    return _QUOTED.sub(_quote, text) if '"' in text else text


def _fence(found: re.Match[str]) -> str:
    language, body = found[2].lower(), found[3]
    kept = language in _PROSE_FENCES or language.startswith("json") or body.lstrip()[:1] in ("{", "[")
    if not language and found.start() == 0 and found.end() >= len(found.string.rstrip()):
        kept = True  # the whole reply in one fence without a language
    # A JSON object of a fence has been written out before, so the body may be prose by now.
    return f"\n{body}\n" if kept or re.match(r"\n[^\n]*: ", body) else "\n"


def _quote(found: re.Match[str]) -> str:
    return f' "{" " * 3}" ' if len(_WORDS.findall(found[1])) >= 3 else found[0]


def _headings(text: str) -> str:
    """Blank headings without a body, or whose body says there is nothing."""
    lines = text.split("\n")
    heads = [number for number, line in enumerate(lines) if len(line) <= 200 and _HEADING.match(line)]
    for place, number in enumerate(heads):
        end = heads[place + 1] if place + 1 < len(heads) else len(lines)
        body = " ".join(lines[number + 1 : min(end, number + 40)]).strip()
        if len(body) <= 80 and _NOTHING.fullmatch(body):
            lines[number] = ""
    return "\n".join(lines)


def _bounded(text: str) -> str:
    text = _RUNS_OF_MARKS.sub(r"\1\1\1", _RUNS.sub(" ", text))
    text = _NO_WORDS.sub("\n", _LONG_WORD.sub(" ", text))
    text = both_ends(text, LONGEST)
    if max(map(len, text.split("\n")), default=0) <= _LINE_LENGTH:
        return text
    return "\n".join(piece for line in text.split("\n") for piece in _pieces(line))


def _pieces(line: str) -> list[str]:
    """Cut a long line at sentence ends, else at spaces, into pieces of at most 500 characters."""
    pieces: list[str] = []
    start = 0
    while len(line) - start > _LINE_LENGTH:
        limit = start + _LINE_LENGTH
        cut = max(line.rfind(mark, start, limit) for mark in (". ", "! ", "? "))
        cut = cut + 1 if cut > start else line.rfind(" ", start, limit)
        cut = cut if cut > start else limit
        pieces.append(line[start:cut])
        start = cut
    return [*pieces, line[start:]]


def _without_copied(text: str, stem: str) -> str:
    words = _WORDS.findall(plain_characters(stem).lower())
    grams = {tuple(words[i : i + _STEM_SPAN]) for i in range(len(words) - _STEM_SPAN + 1)}
    found = list(_WORDS.finditer(text))
    copied = [False] * len(found)
    for i in range(len(found) - _STEM_SPAN + 1):
        if tuple(each[0] for each in found[i : i + _STEM_SPAN]) in grams:
            copied[i : i + _STEM_SPAN] = [True] * _STEM_SPAN
    blank = iter(copied)
    return _WORDS.sub(lambda word: _blank(word) if next(blank) else word[0], text)


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])
