"""The rating in a reply: a label and an integer 1–5, ``n/5`` or ``n out of 5``; nothing else counts.

Percentages, decimals, other scales and numbers outside 1–5 are reported, never rounded. What only speaks of the scale
("a confidence of 5 would need imaging") is read where nothing else is. Works on text from ``parsing.normalise``; every
search is linear.
"""

from __future__ import annotations

import re

Rating = tuple[int | None, str | None]

LOWEST, HIGHEST = 1, 5
_MARKS = r"\s\"'“”‘’«»(\[{<$\\_\#|>~"
_NUMBER = r"(?P<number> [-+−]?+ [0-9]++ (?: [.,٫·] [0-9]++ )?+ )"
_DECLARED = re.compile(
    rf"""
    (?<![^\W_]) confidence (?![^\W_])
    [\s_"'”’)\]]*+
    (?: (?:level|score|rating|value)\b [\s_"'”’)\]]*+ )?+
    (?: [(\[] [^()\[\]\n]{{0,80}}+ [)\]] [\s_"']*+ (?= [:=–—\-→] | is\b | [0-9] ) )?+
    (?: in\s++(?:this|my|the|that)\s++(?:answer|choice)\s++ (?=is\b|:) )?+
    (?: is\b | of\b | at\b | [:=>→–—-] )?+
    (?: \\(?:boxed|text[a-z]{{0,2}}|math[a-z]{{0,2}})\b | [{_MARKS}:=→–—] )*+
    {_NUMBER}
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LABEL_SIGN = re.compile(r"[:=>→–—|\n-]|\bis\b", re.IGNORECASE)
_LABEL_ALONE = re.compile(
    r"confidence\s*+(?:(?:level|score|rating|value)\s++)?+(?:(?:of|at)\s++)?+", re.IGNORECASE
)
# What may stand on a line before the label of the speaker's own rating.
_LINE_BEGINS = re.compile(
    r"[\s#>_\"'“”‘’(\[{.)\d•·|+–—-]*+"
    r"(?:(?:so|therefore|thus|hence|overall|finally|actually|now|wait|on (?:reflection|balance|second thoughts?))\b"
    r"[\s,:.–—-]*+)?+(?:(?:my|the|our|your)\s++)?+"
    r"(?:(?:final|overall|stated|own|new|current|revised|updated|adjusted|answer|diagnostic|(?:level|degree) of)\s++)*+",
    re.IGNORECASE,
)
# "I did not give a confidence of 5"
_DENIED = re.compile(
    r"(?:\b(?:not|never|cannot|rather\s++than|instead\s++of)|n['’]t)"
    r"(?:\s++(?!(?:so|but|and|thus|hence|sure|certain|confident|because|which|that|is)\b)[\w'’-]++){0,5}+\s++$",
    re.IGNORECASE,
)
# Behind the number: what it means ("1 = not confident, 5 = sure", "1 (low) to 5 (high)"), or when it would be given.
_REMARK = re.compile(
    r"[ \t\"'”’)\]]{0,4}+(?:[=≙]"
    r"|(?:is|being|would|could|might|means?|stands|denotes|indicates|requires?|needs?|if|only|once|when)\b"
    r"|[^\d\n]{2,40}?(?:[,;…–-]|\.\.|to|through|and)\s{0,3}+[15]\b(?!\s{0,3}+/))",
    re.IGNORECASE,
)
# "4/5 sure", "3 out of 5 confident"; "fairly confident (4/5)", "certainty: 4/5", "Confidence: high (4/5)".
_SAID = re.compile(
    r"(?<![0-9.,/])(?P<before>[0-9]{1,9}+)\s*+(?:/|⁄|out\s++of)\s*+5(?![0-9])\s*+(?:in\s++)?+(?:confiden|sure\b|certain)"
    r"|\b(?:(?:confident|certain|certainty|sure)\b[\s\"'“”‘’(\[{,:–—-]{0,6}+|confidence\b[^0-9\n]{0,40}+)"
    r"(?P<after>[0-9]{1,9}+)(?=\s*+(?:/|⁄|out\s++of)\s*+5(?![0-9]|[.,][0-9]|%))",
    re.IGNORECASE,
)
_BARE = re.compile(rf"[{_MARKS}]*+ {_NUMBER}", re.VERBOSE)
_BEHIND_LETTER = re.compile(
    r"[\s\"'”’)\]}.,;:(\[$\\_–—-]{0,12}+(?P<number>[0-9]{1,9}+)(?=\s*+(?:/|⁄|out\s++of)\s*+[0-9])",
    re.IGNORECASE,
)
_SCALE = re.compile(r"\s{0,3}+(?:/|⁄|out\s{1,3}+of|of)\s{0,3}+(\S{0,8})", re.IGNORECASE)
_FIVE = re.compile(r"5(?![0-9]|[.,][0-9]|%)")
_PERCENT = re.compile(r"\s{0,3}+(?:%|٪|per\s?cent)", re.IGNORECASE)
_RANGE = re.compile(r"\s{0,3}+(?:-|–|—|,|to\b|or\b|and\b)\s{0,3}+[0-9]", re.IGNORECASE)
_WIDER_SCALE = re.compile(
    r"(?:\b[01]\s{0,2}+(?:-|–|to)\s{0,2}+|/\s{0,2}+|out\s{1,2}+of\s{1,2}+)(?:7|9|10|100)\b", re.IGNORECASE
)
_TRAILING = re.compile(r"[\s\"'”’)\]}.,;!>$\\_|~]*+")
_LOOK = 40
_LINE_LIMIT = 200
NONE_FOUND = "no confidence from 1 to 5 found"


def read_normal(text: str, after_answer: int | None) -> Rating:
    """Return the declared rating of normalised ``text``, or None and the reason.

    Of several the last that begins a line or stands on the answer's line, then the last with a sign behind its label.
    ``after_answer`` is the place right after a declared letter, where ``n/5`` needs no label; None where there is none.
    """
    rank, declared = _declared(text, after_answer)
    if declared is not None and rank:
        return _judge(declared["number"], text[declared.end() : declared.end() + _LOOK])
    said = [m for m in _SAID.finditer(text) if not (m["before"] and _denied(text, m.start()))]
    if said:
        last = ([m for m in said if not _REMARK.match(text, m.end())] or said)[-1]
        return _judge(last["before"] or last["after"], "")
    if after_answer is not None and (behind := _BEHIND_LETTER.match(text, after_answer)) is not None:
        return _judge(behind["number"], text[behind.end() : behind.end() + _LOOK])
    if declared is not None:
        return _judge(declared["number"], text[declared.end() : declared.end() + _LOOK])
    return _lone_line(text)


def _declared(text: str, after_answer: int | None) -> tuple[int, re.Match[str] | None]:
    """Return the labelled rating that is most likely the speaker's own, and its rank: 0 for a mere remark."""
    labelled = [m for m in _DECLARED.finditer(text) if not (_bare_label(m) and _denied(text, m.start()))]
    if len(labelled) == 1:
        return int(_REMARK.match(text, labelled[0].end()) is None), labelled[0]
    beside = [] if after_answer is None else _on_line(labelled, text, after_answer)
    own = {m.start() for m in [m for m in beside if _signed(m)] or beside}

    def rank(match: re.Match[str]) -> int:
        if _REMARK.match(text, match.end(), match.end() + 2 * _LOOK):
            return 0
        if match.start() in own:
            return 4
        return 1 + _signed(match) + 2 * _begins_line(text, match.start())

    best = max(reversed(labelled), key=rank, default=None)
    return (0, None) if best is None else (rank(best), best)


def _on_line(matches: list[re.Match[str]], text: str, place: int) -> list[re.Match[str]]:
    end = text.find("\n", place)
    return [match for match in matches if place <= match.start() and (end < 0 or match.start() < end)]


def _signed(match: re.Match[str]) -> bool:
    """Whether a sign, a line end or the word *is* stands between a label and its number."""
    return _LABEL_SIGN.search(match[0][: match.start("number") - match.start()]) is not None


def _begins_line(text: str, place: int) -> bool:
    begin = text.rfind("\n", max(0, place - _LOOK), place) + 1
    return _LINE_BEGINS.fullmatch(text, begin or max(0, place - _LOOK), place) is not None


def _bare_label(match: re.Match[str]) -> bool:
    """Whether the number follows its label at once: "no confidence of 5", unlike "not much confidence: 2"."""
    return _LABEL_ALONE.fullmatch(match[0][: match.start("number") - match.start()]) is not None


def _denied(text: str, place: int) -> bool:
    return _DENIED.search(text, max(0, place - 2 * _LOOK), place) is not None


def rating_of(text: str) -> Rating | None:
    """Return the rating of a text that is only a rating (``4``, ``4/5``, ``7``), or None when it is more than that."""
    match = _BARE.match(text)
    if match is None:
        return None
    tail = text[match.end() : match.end() + _LOOK]
    scale = _SCALE.match(tail)
    rest = tail[scale.end() :] if scale is not None else tail
    if len(text) - match.end() > _LOOK or (
        _TRAILING.fullmatch(rest) is None and _PERCENT.match(rest) is None
    ):
        return None
    return _judge(match["number"], tail)


def confidence_line(line: str) -> bool:
    """Whether ``line`` holds a labelled rating and nothing else."""
    if len(line) > _LINE_LIMIT:
        return False
    match = _DECLARED.search(line)
    if match is None or line[: match.start()].strip(" \t#>_\"'“-–•{,"):
        return False
    return len(line) - match.end() <= _LOOK


def _lone_line(text: str) -> Rating:
    """Take ``4/5`` or ``4 out of 5`` on a line of its own."""
    found: Rating = (None, NONE_FOUND)
    if "5" not in text:
        return found
    for line in text.split("\n"):
        if len(line) <= _LOOK and _SCALE.search(line) is not None and (rating := rating_of(line)) is not None:
            found = rating
    return found


def _judge(number: str, tail: str) -> Rating:
    """Hold ``number``, followed by ``tail``, against the scale."""
    shown = number if len(number) <= 12 else f"{number[:12]}…"
    if _PERCENT.match(tail):
        return None, f"confidence {shown}% is a percentage, not an integer 1–5"
    if not number.lstrip("+-−").isdigit() or number[0] in "+-−":
        return None, f"confidence {shown} is not an integer 1–5"
    if (scale := _SCALE.match(tail)) is not None and _FIVE.match(scale[1]) is None:
        return None, f"confidence {shown} is given on another scale than 1–5"
    if _WIDER_SCALE.search(tail.split("\n", 1)[0]):
        return None, f"confidence {shown} is given on another scale than 1–5"
    if _RANGE.match(tail):
        return None, f"confidence {shown} is given as a range"
    if tail[:1].isalnum() or (tail[:1] in (".", ",") and tail[1:2].isdigit()) or tail[:1] in ("^", "·"):
        return None, f"confidence {shown}{tail[:1]} is not an integer 1–5"
    value = int(number[:9])
    if not LOWEST <= value <= HIGHEST:
        return None, f"confidence {shown} is outside 1–5"
    return value, None
