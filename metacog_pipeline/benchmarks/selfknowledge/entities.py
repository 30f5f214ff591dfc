"""The rule ``entities``: an accepted answer must be what a reply says, as a whole name or as a number.

"Iranian" is not "Iran", "New York" is not "York", "1973" and "seventh" are not "7". A name that is denied, offered beside
another ("Lyon or Paris"), only mentioned ("Sydney (many say Canberra)") or taken back is not said. Numbers are compared as
numbers, dates by their parts. Kind words around a name do no harm: "the city of York", "President Washington".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction

from metacog_pipeline.benchmark.answers import word_answers
from metacog_pipeline.benchmark.answers.candidates import CONTEXT, Candidate, candidates
from metacog_pipeline.benchmark.answers.number_words import word_numbers
from metacog_pipeline.benchmark.answers.numbers import numerals
from metacog_pipeline.benchmark.answers.question import question_of
from metacog_pipeline.benchmark.answers.reading import AnswerKey, Prepared, prepared
from metacog_pipeline.benchmark.answers.text import folded
from metacog_pipeline.benchmark.answers.units import unit_after


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: What turns a name into another one when it stands before it, or behind it.
_BEFORE = _words(
    "new north south east west northern southern eastern western saint san santa los las el la papua "
    "equatorial upper lower little great greater inner outer central anti non old"
)
_KIND_BEFORE = _words(
    "the a an river lake mount mt city town country republic kingdom state island islands sea ocean "
    "president king queen emperor sir lord lady saint st pope dr professor mr mrs ms prime minister "
    "general captain planet element rio río monte lago mar ciudad océano oceano isla"
)
_KIND_BEHIND = _words(
    "river lake mount mountain mountains city town country republic kingdom state island islands sea "
    "ocean county province region district desert peninsula bay gulf strait canal bridge tower dynasty "
    "empire war treaty university jr sr ii iii iv and or in of the is was were on at by from to with"
)
_CAPITALISED = re.compile(r"[^\W\d_][\w'’.-]*")
_DEMONYM = re.compile(r"(?:人|语|語|文|式|裔|籍|话|話)")
_KO_DEMONYM = re.compile(r"(?:인(?!데|가요|지|$|[\s.,])|인(?=$|[\s.,])|어(?=$|[\s.,를가는로])|계 |산 | 사람)")
_DENIED_BEHIND = re.compile(
    r"(?:[이가은는] ?아니|이라고|라고 생각하는 사람|\s+is (?:not|wrong|incorrect)|\s+isn't|\s+no es\b|不是|\s+es incorrect)"
)
_DENIED_BEFORE = re.compile(
    r"(?:不是|并非|并不是|而非|not(?: in| the)?|no(?: es| el| la)?|nunca)\s*$", re.IGNORECASE
)
_OTHERS = re.compile(r"\b(?:or|o|oder)\b|或者?|또는|이나 |/")
_ARTICLE = re.compile(r"\A(?:the|an?|el|la|los|las) (?=\S)", re.IGNORECASE)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_INITIALS = re.compile(r"(?<=\b[A-Z]\.) (?=[A-Z]\.)")
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]


def says_entity(output: str, answers: Iterable[str], question: str = "") -> bool:
    """Whether ``output`` says any of ``answers`` as a whole entity; never without an accepted answer."""
    forms = [answer for answer in answers if answer.strip()]
    if not forms or not output.strip():
        return False
    said = prepared(output)
    numbers = [value for form in forms if (value := _number(form)) is not None]
    names = [form for form in forms if _number(form) is None]
    return bool(numbers and _says_number(said, numbers, question)) or bool(
        names and _says_name(said, names, question)
    )


def _number(form: str) -> tuple[Fraction, str] | None:
    """Return the number an accepted answer is, with its unit; None where it is something else."""
    text = form.strip().lower().removeprefix("the ").strip(" .")
    found = [*numerals(text), *word_numbers(text)]
    if len(found) != 1 or found[0].start > 1:
        return None
    unit, end = unit_after(text, found[0].end)
    rest = text[end:].strip(" .")
    return (
        (found[0].value, unit.name if unit else "")
        if not rest or (rest.isalpha() and unit is None and len(rest) > 2)
        else None
    )


def _says_number(said: Prepared, wanted: Sequence[tuple[Fraction, str]], question: str) -> bool:
    found = candidates(said.text, question_of(question), said.emphasised, labelled=True)
    standing = [each for each in found if each.rank >= CONTEXT and not _ordinal(said.text, each)]
    if not standing:
        return False
    best = max(each.rank for each in standing)
    top = [each for each in standing if each.rank >= best - 0.35]
    return all(any(each.value == value for value, _ in wanted) and each.low is None for each in top)


def _ordinal(text: str, each: Candidate) -> bool:
    return re.match(r"\d+(?:st|nd|rd|th)\b", text[each.start : each.end + 2]) is not None


def _says_name(said: Prepared, names: Sequence[str], question: str) -> bool:
    text = said.text
    symbols = [name for name in names if re.search(r"\w(?:#|\+\+)", name)]
    if any(name.lower() in text.lower() for name in symbols):
        return True
    cjk = [name for name in names if _CJK.search(name)]
    if any(_says_cjk(text, name) for name in cjk):
        return True
    latin = [_ARTICLE.sub("", _spelled(name)) for name in names if not _CJK.search(name)]
    date = [name for name in latin if _date(name) is not None]
    if any(_date(name) == _date(text) for name in date):
        return True
    if not latin or not any(word_answers.occurrences(_spelled(text), name) for name in latin):
        return False
    plain = Prepared(_spelled(text), said.emphasised)
    spans = [span for name in latin for span in word_answers.occurrences(plain.text, name)]
    whole = [span for span in spans if _whole(plain.text, *span)]
    if not whole or (len(whole) < len(spans) and all(_inside(span, whole) is False for span in spans)):
        return False
    reading = word_answers.read(plain, AnswerKey("text", tuple(latin), question=question), labelled=True)
    return reading.correct is True and not _beside_another(plain.text, whole, latin)


def _inside(span: tuple[int, int], whole: Sequence[tuple[int, int]]) -> bool:
    return any(start <= span[0] and span[1] <= end for start, end in whole)


def _spelled(text: str) -> str:
    """Return text with the points of abbreviations off, so that U.S.A. is USA and Mt. is Mount."""
    text = _INITIALS.sub("", text)
    text = re.sub(r"\b([A-Za-z])\.(?=[A-Za-z]\b|\W|$)", r"\1", text)
    text = re.sub(r"\bMt\b\.?", "Mount", text)
    return re.sub(r"\bSt\b\.?(?= [A-Z])", "Saint", text)


def _whole(text: str, start: int, end: int) -> bool:
    """Return whether what stands at a place is a name of its own and no part of another one."""
    before = re.search(r"([\w'’.-]+) $", text[:start])
    if before and text[start : start + 1].isupper():
        word = folded(before[1])
        if word in _BEFORE and before[1][:1].isupper():
            return False
    if re.match(r"\+\+|#", text[end:]):
        return False
    behind = re.match(r" ([\w'’-]+)", text[end:])
    if behind and behind[1][:1].isupper() and text[start : start + 1].isupper():
        return folded(behind[1]) in _KIND_BEHIND or not behind[1][1:].islower()
    possessive = text[end - 2 : end] in ("'s", "’s") or re.match(r"['’]s \w", text[end:]) is not None
    return not possessive


def _beside_another(text: str, spans: Sequence[tuple[int, int]], names: Sequence[str]) -> bool:
    """Return whether the name is offered as one of several, or comes second in a list of names."""
    start, end = spans[0]
    before, behind = text[max(0, start - 40) : start], text[end : end + 40]
    if re.search(
        r"(?:^|[\s,])(?:either )?[\w'’ .-]{2,30}\b(?:or|o)(?: the| el| la)? ?$", before, re.IGNORECASE
    ):
        return True
    other = re.match(
        r"\s*(?:,)? ?\b(?:or|o)\b (?:the |el |la )?([\w'’.-]+(?: [\w'’.-]+){0,3})", behind, re.IGNORECASE
    )
    if other and not any(
        folded(other[1]) in folded(name) or folded(name) in folded(other[1]) for name in names
    ):
        return True
    return (
        re.search(
            r"\b\w+[,;] (?:then|followed by|before|ahead of|and then) (?:the )?$", before, re.IGNORECASE
        )
        is not None
    )


def _says_cjk(text: str, name: str) -> bool:
    """Return whether a Chinese or Korean name stands there undenied, and not as a part of a word for a people."""
    korean = "\uac00" <= name[-1] <= "\ud7a3"
    for found in re.finditer(re.escape(name).replace(r"\ ", r"\s?"), text):
        behind, before = (
            text[found.end() : found.end() + 12],
            text[max(0, found.start() - 12) : found.start()],
        )
        if korean and found.start() and "\uac00" <= text[found.start() - 1] <= "\ud7a3":
            continue
        if (_KO_DEMONYM if korean else _DEMONYM).match(behind) or _DENIED_BEHIND.match(behind):
            continue
        if _DENIED_BEFORE.search(before) or _OTHERS.match(behind.strip()) or _OTHERS.search(before[-3:]):
            continue
        if _only_mentioned(text[: found.start()]):
            continue
        return True
    return False


def _only_mentioned(before: str) -> bool:
    """Return whether a name stands inside brackets that do not begin with it, behind something else that is said."""
    opened = max(before.rfind("("), before.rfind("（"))
    inside = opened >= 0 and not re.search(r"[)）]", before[opened:])
    return inside and before[opened + 1 :].strip() != "" and re.search(r"\w", before[:opened]) is not None


def _date(text: str) -> tuple[int, int, int] | None:
    """Return (year, month, day) of a full date, None where a text holds none."""
    plain = folded(text)
    if (iso := re.search(r"\b(1\d{3}|20\d{2}) (\d{1,2}) (\d{1,2})\b", plain)) is not None:
        return int(iso[1]), int(iso[2]), int(iso[3])
    month = next((i for i, name in enumerate(_MONTHS, 1) if re.search(rf"\b{name}[a-z]*\b", plain)), None)
    year, day = re.search(r"\b(1\d{3}|20\d{2})\b", plain), re.search(r"\b(\d{1,2})(?:st|nd|rd|th)?\b", plain)
    return (int(year[1]), month, int(day[1])) if month and year and day else None
