"""The answer a whole reply states: where it sets one apart, that; else it is read in all of it but a stated confidence."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from metacog_pipeline.benchmark.answers import shares
from metacog_pipeline.benchmark.answers.choices import options_of
from metacog_pipeline.benchmark.answers.clauses import CORRECTION
from metacog_pipeline.benchmark.answers.dates import as_date, sure_date_of
from metacog_pipeline.benchmark.answers.reading import AnswerKey, Reading, read_stated
from metacog_pipeline.benchmark.answers.sureness import ANSWER, without_stated
from metacog_pipeline.benchmark.cells import number
from metacog_pipeline.benchmark.thinking import without_thinking
from metacog_pipeline.errors import one_line

# Ways to set an answer apart, beside the label that was asked for. GSM8K ends its solutions in "#### 18".
_FRAMES = tuple(
    re.compile(pattern, re.I | re.M)
    for pattern in (
        rf"^[ \t>*_#-]{{0,12}}{ANSWER}[ \t*_]{{0,6}}[:：=][ \t*_]{{0,6}}([^\n]*)",
        r"<((?:final_)?answer)>[ \t\n]{0,9}([^<]{1,300}?)[ \t\n]{0,9}</\1>",
        r'"(?:final_?)?answer"[ \t\n]{0,9}:[ \t\n]{0,9}(?:"([^"\n]{1,300})"|(-?[\d.,]{1,40}))',
        r"'(?:final_?)?answer'[ \t\n]{0,9}:[ \t\n]{0,9}(?:['\"]([^'\"\n]{1,300})['\"]|(-?[\d.,]{1,40}))",
    )
)
# Words that also stand above a working count where the answer alone follows; so does a label on a line of its own.
_LAST = re.compile(
    rf"\A[ \t>*_#-]{{0,12}}(?:(?:{ANSWER}|(?:final |the )?(?:result|response|output|solution|final))[ \t*_]{{0,6}}[:：=]"
    r"|=>|->|→|⇒|####(?!#))[ \t*_]{0,6}([^\n]{1,60})\Z",
    re.I,
)
# "So the answer is (285).": a number in brackets is a remark, unless a line ends by naming it as the answer.
_IN_BRACKETS = re.compile(
    rf"\b{ANSWER} is[ \t]?:?[ \t*_$]{{0,4}}[(\[]([^()\[\]\n]{{1,30}})[)\]][*_$]{{0,3}}[.!]?[ \t*_$]{{0,3}}$",
    re.I | re.M,
)
_DOUBTED = re.compile(r"\b(?:not|never|nor|if|whether|unless)\b|n['’]t\b", re.I)
_ALONE = re.compile(rf"\A[ \t>*_#-]{{0,12}}{ANSWER}[ \t*_]{{0,6}}[:：]?[ \t*_]{{0,6}}\Z", re.I)
_BRACKETS = re.compile(r"\A\W{0,9}\[\[([^\[\]\n]{1,60})\]\]\W{0,9}\Z")
_NUMBER = re.compile(
    r"\A[(*_$ ]{0,6}[-−+~≈£€]?\d[\d,. ]{0,30}(?:[ ]?[%°\w$*²³/]{1,20}){0,2}[.*_)]{0,3}[ (]{0,3}\Z"
)
_ALL_BOXED = re.compile(r"\A[ $]{0,3}\\boxed\{([^{}\n]{1,60})\}[ $.]{0,3}\Z")
# "Answer: A ... Wait, the answer is B.", "Correction: B": what is set apart is taken back, and another takes its place.
_DOUBTS = re.compile(
    rf"{CORRECTION.pattern}|\bactually\b|\b(?:double|triple)-?check\w*|\breconsider\w*"
    r"|\b(?:I|my) (?:made an? |was |am )?(?:mistake|mistaken|error|wrong)\b"
    r"|\b(?:second|closer) (?:look|thought|reading|inspection)\b",
    re.I,
)
_INSTEAD = re.compile(
    rf"\b{ANSWER}[ \t*_]{{0,4}}(?: is| should be| must be|[:：=])[ \t*_:]{{0,6}}([^\n]{{1,60}})", re.I
)
_ENDS = re.compile(r"[*_]{0,3}[.!;](?=\s|\Z)")
_ALONE_BEHIND = re.compile(
    r"(?:(?:it|that)(?:'s|’s| is| should be) )?(?:option )?\W{0,4}"
    r"(?:[A-Ja-j](?:[\W_]{1,3}\Z|[).:][^.!?\n]{0,40}|\Z)|[-−]?\d[\d.,]{0,20}[^.,:;!?\n]{0,20})"
)
_SHORT = 60  # characters of an answer that stands by itself
_TAIL = 600  # characters at the end of a reply in which an answer that stands by itself is looked for


class Stated(NamedTuple):
    """An answer as it was said, and whether it is right: None where that cannot be told."""

    said: str | None
    correct: bool | None


def answer_of(reply: str, key: AnswerKey) -> Stated:
    """Return the answer of a reply. Where nothing is known to be right it is read all the same, and is not right."""
    plain = shares.spelled_out(without_thinking(reply))
    rest = without_stated(plain)
    framed = _framed(plain, rest, key)
    text = (framed or rest).strip().rstrip("([ ")  # of "Paris (confidence: 80%)"
    if not text:
        return Stated(None, None)
    # A letter by itself, as was asked for and as most reply, needs no reading.
    offered = dict(options_of(key.question)) if key.type == "choice" else {}
    if framed and key.type == "choice" and len(text) == 1 and text in (offered or "ABCDEFGHIJ"):
        return Stated(text, text == key.forms[0]) if key.forms else Stated(text, False)
    if key.type == "text" and _bare(text) in key.forms:  # a sign or a formula has no words to be found by
        return Stated(_bare(text), True)
    found = _read(text, key if key.forms else replace(key, forms=("?",)), labelled=bool(framed))
    said = found.said if key.type in ("choice", "number") else one_line(text, 500)
    if found.correct is not True and _equal(text, found.said, key, labelled=bool(framed)):
        return Stated(said or one_line(text, 500), True)
    return Stated(said or None, found.correct)


def _read(text: str, key: AnswerKey, *, labelled: bool) -> Reading:
    """Return the reading of a text; a date that is right, or rejected, is met in every way it can be written."""
    found = read_stated(text, key, labelled=labelled)
    dates = [sure_date_of(str(form)) for form in key.forms] if key.type == "text" else []
    wanted = tuple(dict.fromkeys(filter(None, dates)))
    if found.correct is True or not wanted:
        return found
    rejected = [*key.reject]
    for date in wanted:
        text, *rejected = (as_date(each, date, either=False) for each in (text, *rejected))
    said = replace(key, forms=tuple(date.said() for date in wanted), reject=tuple(rejected))
    dated = read_stated(text, said, labelled=labelled)
    return found if dated.correct is False else dated


def _equal(text: str, said: str | None, key: AnswerKey, *, labelled: bool) -> bool:
    """Return whether a number is right that is written otherwise than its key: 0.5 where 1/2 is right."""
    if key.type not in ("number", "text") or not key.forms:
        return False
    if shares.equal(text, key) or (key.type == "number" and said is not None and shares.equal(said, key)):
        return True
    if key.type == "number":
        return False
    fractions = [str(form) for form in key.forms if number(form) is None and re.search(r"\d", str(form))]
    found = map(shares.share_of, fractions)
    values = tuple(each.value for each in found if each is not None and not each.percent)
    as_number = replace(key, type="number", forms=values)
    return bool(values) and read_stated(text, as_number, labelled=labelled).correct is True


def _bare(text: str) -> str:
    boxed = _ALL_BOXED.match(text)
    return (boxed[1] if boxed else text).strip(" *_`$")


def _framed(plain: str, rest: str, key: AnswerKey) -> str:
    """Return what a reply sets apart as its answer, the last of it; "" where it sets nothing apart. ``rest`` is the reply
    without what it states of its confidence."""
    lines = [line for each in rest[-_TAIL:].splitlines() if (line := each.strip())]
    last, before = lines[-1] if lines else "", lines[-2] if len(lines) > 1 else ""
    if marked := _LAST.match(last) or _BRACKETS.match(last):
        return marked[1].strip(" \t*_")
    if _ALONE.match(before) and len(last) <= _SHORT:
        return last.strip(" \t*_")
    found = [
        (each.start(), text, each.end())
        for frame in _FRAMES
        for each in frame.finditer(plain)
        if (text := (each.groups("")[-1] or each[1]).strip(" \t*_"))
    ]
    if key.type == "number":
        found += [
            (each.start(), each[1].strip(" \t*_$"), each.end())
            for each in _IN_BRACKETS.finditer(plain)
            if not _doubted(plain, each)
        ]
    if found:
        _, text, end = max(found)
        return _instead(plain[end:], key) or text
    # One number under a text is its answer; a column of numbers is none.
    number = key.type == "number" and before and _NUMBER.match(last) and not _NUMBER.match(before)
    return last.strip("() ") if number else ""


def _doubted(text: str, found: re.Match[str]) -> bool:
    return bool(_DOUBTED.search(text, text.rfind("\n", 0, found.start()) + 1, found.start()))


def _instead(behind: str, key: AnswerKey) -> str:
    """Return the answer that takes the place of one set apart, where the text ``behind`` takes that back; "" elsewhere.

    It is named as the answer; a letter or a number may also end the reply by itself.
    """
    doubts = [*_DOUBTS.finditer(behind)]
    if not doubts:
        return ""
    named = [each for each in _INSTEAD.finditer(behind, doubts[0].start()) if not _doubted(behind, each)]
    alone = without_stated(behind[doubts[-1].end() :]).strip(" \t\n:,.*_")
    said = (
        _ENDS.split(named[-1][1])[0]
        if named
        else alone
        if key.type != "text" and _ALONE_BEHIND.fullmatch(alone)
        else ""
    )
    if key.type == "text" or not said:
        return said.strip(" \t*_")
    return said if _read(said, replace(key, forms=key.forms or ("?",)), labelled=True).said else ""
