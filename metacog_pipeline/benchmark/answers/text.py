"""Prepare a reply for the readers: reasoning out (T1), characters to ASCII look-alikes (T2), markup off (T3).

Every step is linear in the length of the text; of a text longer than `LONGEST` the middle is not read.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache

from metacog_pipeline.benchmark.thinking import without_thinking

LONGEST = 16_000  # characters of a reply, its thinking aside, that are read; the halves at both ends are kept
LONGEST_THOUGHT = 200_000  # characters in which thinking is looked for

_SPACES = (0x09, 0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)
_INVISIBLE = (0xAD, 0x61C, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF)
_HYPHENS = (*range(0x2010, 0x2016), 0x2212, 0xFE58, 0xFE63)
_SINGLE, _DOUBLE = "‘’‚‛`´ʼ", "“”„‟«»〝〞"
_OTHER = {"٪": "%", "٫": ".", "٬": ",", "⁄": "/", "∕": "/", "×": "×", "✕": "×", "…": "...", "\r": "\n"}
_BREAKS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"

_FENCE = re.compile(r"^[ ]*(?:`{3,}|~{3,})[ ]*[\w+-]*[ ]*$", re.MULTILINE)
# A value in a tag of its name, <bet>18</bet>, is that value behind its label.
_VALUE_TAGS = re.compile(
    r"<(answer|final[_-]?answer|bet|wager|stake|pre[_-]?confidence|post[_-]?confidence)>([^<>\n]{1,200})</\1>",
    re.IGNORECASE,
)
_TAGS = re.compile(
    r"</?(?:b|i|u|em|strong|span|p|div|code|pre|mark|font|table|tbody|thead|tr|li|ul|ol|h[1-6])\s?[^<>\n]{0,80}>",
    re.IGNORECASE,
)
_LINE_TAGS = re.compile(r"<(?:br|hr)\s?/?>", re.IGNORECASE)
_CELL_TAGS = re.compile(r"</?(?:td|th)\b[^<>\n]{0,80}>", re.IGNORECASE)
_QUOTE_MARK = re.compile(r"^[ ]*(?:>[ ]?)+", re.MULTILINE)
_HEADING = re.compile(r"^[ ]*#{1,6}[ ]+", re.MULTILINE)
_LIST_MARK = re.compile(r"^[ ]*(?:[-*+•‣▪●○◦·][ ]+(?!\d+[ ]*$)|\(?\d{1,2}[.)][ ]+(?=\D))", re.MULTILINE)
_TO_THE = re.compile(r"(?<=\d)\*\*(?=[-+]?\d+(?!\d|\*\*))")
_PRODUCT = re.compile(r"(?<=\d)[ ]?\*[ ]?(?=\d)")
_STRUCK = re.compile(r"~~[^~\n]{1,200}~~")
_UNDERSCORES = re.compile(r"(?<![\w\\])_{1,3}(?=\S)|(?<=[^\s\\])_{1,3}(?!\w)")
_WRAPPERS = re.compile(
    r"\\(?:boxed|fbox|text|textbf|textit|textrm|texttt|mathrm|mathbf|mathit|mathsf|emph|operatorname|underline|mbox)"
    r"[ ]?\{([^{}]*)\}"
)
_FRACTION = re.compile(r"\\[dt]?frac[ ]?\{([^{}]*)\}[ ]?\{([^{}]*)\}")
_MODULUS = re.compile(r"\\pmod[ ]?\{([^{}]{0,40})\}")
_EXPONENT = re.compile(r"\^[ ]?\{([^{}]{0,40})\}")
_COMMANDS = {
    "times": "×", "cdot": "×", "approx": "≈", "sim": "~", "pm": "±", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥",
    "to": "→", "rightarrow": "→", "Rightarrow": "→", "left": "", "right": "", "quad": " ", "qquad": " ", "infty": "∞",
    "degree": "°", "circ": "°", "ldots": "...", "dots": "...", "neq": "≠", "ne": "≠", "div": "/",
    "displaystyle": "", "equiv": "≡", "implies": "→", "therefore": "∴", "percent": "%",
}  # fmt: skip
_COMMAND = re.compile(r"\\(" + "|".join(sorted(_COMMANDS, key=len, reverse=True)) + r")(?![A-Za-z])")
_ESCAPED = re.compile(r"\\([_%#&$*{}|~^`>.\-+!])")
_THIN = re.compile(r"\\[,;:! ]")
_DELIMITERS = re.compile(r"\\[()\[\]]|\$")
_RUNS = re.compile(r"  +")
_BLANK_LINES = re.compile(r"\n(?:[ ]*\n){2,}")
_DEPTH = 4


def without_reasoning(text: str) -> str:
    """T1: drop what is thought aloud (`without_thinking`); of a text longer than `LONGEST` both ends are kept."""
    return bounded(without_thinking(both_ends(text, LONGEST_THOUGHT)))


def plain_characters(text: str, *, quotes: bool = True) -> str:
    """T2: digits of any script, full-width forms, hyphens, spaces and quotes to ASCII; invisible characters dropped.

    ``quotes=False`` leaves curly double quotes, for text that may hold JSON with curly quotes inside its strings. No
    NFKC: it would turn ``10²`` into ``102``.
    """
    if text.isascii():
        return text.replace("\r\n", "\n").translate(_ascii_table()) if not text.isprintable() else text
    return text.replace("\r\n", "\n").translate(_table(quotes))


def without_markup(text: str) -> str:
    """T3: Markdown, simple HTML and LaTeX marks off, so that the words and numbers remain."""
    text = _RUNS.sub(" ", text)
    text = _BLANK_LINES.sub("\n\n", text)
    if "<" in text:
        text = _VALUE_TAGS.sub(r"\n\1: \2\n", text)
        text = _TAGS.sub("", _CELL_TAGS.sub(" | ", _LINE_TAGS.sub("\n", text)))
    text = _FENCE.sub("", text).replace("`", "")
    text = _LIST_MARK.sub("", _HEADING.sub("", _QUOTE_MARK.sub("", text)))
    text = _LIST_MARK.sub("", text)
    if "\\" in text or "$" in text or "{" in text:
        text = _without_latex(text)
    text = _STRUCK.sub(" ", text) if "~~" in text else text
    text = _PRODUCT.sub(" × ", _TO_THE.sub("^", text)).replace("*", "")
    return _UNDERSCORES.sub("", text) if "_" in text else text


_PLAIN_FOLD = {n: None if chr(n) == "'" else " " for n in range(128) if not chr(n).isalnum()}


# Latin letters that no accent makes: "Skłodowska", "Tromsø".
_LETTERS = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)


# What `re.IGNORECASE` takes for an i besides i itself; case folding makes two characters of the second.
_DOTS = {ord("ı"): "i", 0x307: None}


def uncased(text: str) -> str:
    """Return a text in lower case, in which two words are equal where `re.IGNORECASE` takes one for the other."""
    return text.lower() if text.isascii() else text.casefold().translate(_DOTS)


def folded(text: str) -> str:
    """Fold case, diacritics and punctuation away; one space between words."""
    if text.isascii():
        return " ".join(text.lower().translate(_PLAIN_FOLD).split())
    decomposed = unicodedata.normalize("NFD", text.casefold().translate(_LETTERS))
    kept = (c if c.isalnum() else "" if unicodedata.combining(c) or c == "'" else " " for c in decomposed)
    return " ".join("".join(kept).split())


def _without_latex(text: str) -> str:
    text = _MODULUS.sub(r"(mod \1)", _THIN.sub(" ", text).replace("{,}", ","))
    text = _DELIMITERS.sub("", text.replace("\\$", "$"))
    text = text.replace("^\\circ", "°").replace("^{\\circ}", "°")
    for _ in range(_DEPTH):
        before = text
        text = _FRACTION.sub(r"\1/\2", _WRAPPERS.sub(r"\1", _EXPONENT.sub(r"^\1", text)))
        if text == before:
            break
    return _ESCAPED.sub(r"\1", _COMMAND.sub(lambda found: _COMMANDS[found[1]], text))


def bounded(text: str) -> str:
    """Return a text of at most `LONGEST` characters: of a longer one both ends."""
    return both_ends(text, LONGEST)


def both_ends(text: str, most: int) -> str:
    """Return ``text``, or the first and the last ``most / 2`` characters of a longer one on two lines."""
    return text if len(text) <= most else text[: most // 2] + "\n" + text[-most // 2 :]


@cache
def _ascii_table() -> dict[int, str | None]:
    return {
        **dict.fromkeys((*range(32), 127), " "),
        **dict.fromkeys(map(ord, "\n\r\v\f\x1c\x1d\x1e"), "\n"),
    }


@cache
def _digits() -> dict[int, str]:
    every = map(chr, range(0x80, sys.maxunicode + 1))
    return {ord(digit): str(unicodedata.decimal(digit)) for digit in filter(str.isdecimal, every)}


@cache
def _table(quotes: bool) -> dict[int, str | None]:
    """Return the translation of T2; digits of all scripts are taken from the Unicode data of this Python."""
    marks: dict[int, str | None] = {ord(c): "'" for c in _SINGLE if c != "`"}
    if quotes:
        marks |= {ord(c): '"' for c in _DOUBLE}
    return {
        **_ascii_table(),
        **{0xFF01 + i: chr(0x21 + i) for i in range(94)},
        **_digits(),
        **dict.fromkeys(_SPACES, " "),
        **dict.fromkeys(_INVISIBLE),
        **dict.fromkeys(_HYPHENS, "-"),
        **dict.fromkeys((*range(55296, 57344), 65533), " "),
        **{ord(c): "\n" for c in _BREAKS},
        **{ord(c): to for c, to in _OTHER.items()},
        **marks,
    }
