"""One spelling for names: Henry the Eighth is Henry VIII, the Second World War is WWII, CO₂ is CO2, the 2nd is the second.

An accepted answer and a reply are written the same way before they are compared; the text is for comparing only.
"""

from __future__ import annotations

import re

from metacog_pipeline.benchmark.answers.dates import ENGLISH
from metacog_pipeline.benchmark.answers.number_words import TENS, UNITS
from metacog_pipeline.benchmark.answers.ordinals import ordinals

_TENS = tuple(TENS)
_CARDINALS = UNITS[2:16]
_TO_TENTH = "primero segundo tercero cuarto quinto sexto séptimo octavo noveno décimo"
_SPANISH = _TO_TENTH.split()
_ROMAN = r"(?:X{0,3}(?:IX|IV|VI{0,3}|I{1,3})|X{1,3})"
_PLAIN = (
    "In|On|At|The|During|By|Since|From|It|This|That|And|Of|To|An?|Its|For|With|Under|After|Before|Then|So|But|If|As|Is|Was"
    f"|When|While|{'|'.join(ENGLISH)}|Siglo"
)
_REIGN = re.compile(
    rf"\b(?!(?:{_PLAIN})\b)([A-Z][\w'-]+),? (?:the |el |la )?(?:"
    rf"({_ROMAN})\b(?! (?:think|believe|am|would|do|don't|know|can|have|say|guess)\b)"
    rf"|(\d{{1,3}})th(?=\W*(?:$|[.,;:!?)]| (?:of|was|is|who|and|in|from)\b))"
    rf"|({'|'.join(word.title() for word in _SPANISH)})\b|({'|'.join(word.title() for word in _CARDINALS)})\b)"
)
_WORLD_WAR = re.compile(
    r"\bW\.?W\.? ?(?:(?P<two>II|2|Two)|(?P<one>I|1|One))\b"
    r"|\bWorld War (?:(?P<b>II|2|Two)|(?P<a>I|1|One))\b|\b(?:(?P<d>2)|(?P<c>1))th World War\b",
    re.IGNORECASE,
)
_SMALL_DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉⁰¹²³⁴⁵⁶⁷⁸⁹", "01234567890123456789")
_LATEX_DIGITS = re.compile(r"(?<=[A-Za-z)])[_^]\{?(\d+)\}?")
_INITIALS = re.compile(r"(?<=\b[A-Z]\.) (?=[A-Z]\.)")
_SPAN = re.compile(r"\b(1\d{3}|20\d{2})\s*(?:-|to|until|till|through|a|hasta)\s*(\d{4}|\d{2})\b")
_CENTURY = re.compile(
    rf"\b({_ROMAN})(?:th|[èe]me|e)? (?:century|cent\.|siècle)|\b(?:[Cc]entury|[Ss]iglo|[Ss]\.) ({_ROMAN})\b"
)
_NUMBERED = re.compile(r"\b(\d{1,3})th (Amendment|Symphony|Dynasty|Republic|Crusade|Commandment|Olympiad)\b")
_WORDS = {
    r"\bMt\b\.?": "Mount", r"\bFt\b\.? (?=[A-Z])": "Fort ", r"\bSt\b\.?(?= [A-Z])": "Saint",
    r"(?<=[a-z] )St\b\.?": "Street", r"(?<=[a-z] )Ave\b\.?": "Avenue", r"(?<=[a-z] )Rd\b\.?": "Road", r" ?& ?": " and ",
    r"\bIncorporated\b": "Inc", r"\bCorporation\b": "Corp", r"\b(?<=[a-z] )Limited\b": "Ltd",
    r"\b([Cc])olour": r"\1olor", r"\b([Gg])rey\b": r"\1ray", r"\b([Cc]ent|[Tt]heat|[Mm]et|[Ll]it|[Ff]ib)re\b": r"\1er",
    r"\b([Aa])luminium\b": r"\1luminum", r"\b([Ss])ulph": r"\1ulf", r"\b([Hh]arb|[Ll]ab|[Nn]eighb)our": r"\1or",
}  # fmt: skip
_SHORT = [
    (re.compile(rf"(?<![\w'])(?:{short})(?![\w'])"), to)
    for short, to in (
        ("USA|US|United States of America", "United States"), ("UK", "United Kingdom"), ("NYC", "New York City"),
        ("USSR", "Soviet Union"), ("EU", "European Union"), ("UN", "United Nations"), ("UAE", "United Arab Emirates"),
    )
]  # fmt: skip
_DECADE = re.compile(r"\b([12]\d\d0)['’]s\b")
_DECADE_WORDS = re.compile(
    r"\b(?:(seventeen|eighteen|nineteen|twenty)[- ])?(twenties|thirties|forties|fifties|sixties|seventies"
    r"|eighties|nineties)\b"
    r"|(?<!\w)['’]([2-9]0)s\b",
    re.IGNORECASE,
)
_VARIANTS = [(re.compile(pattern), to) for pattern, to in _WORDS.items()]


def spelled(text: str) -> str:
    """Return a text in the one spelling: points of abbreviations off, ordinals and regnal numbers as numbers."""
    text = _INITIALS.sub("", text.translate(_SMALL_DIGITS))
    text = re.sub(r"\b([A-Za-z])\.(?=[A-Za-z]\b|\W|$)", r"\1", text)
    text = _LATEX_DIGITS.sub(r"\1", text)
    for pattern, to in _VARIANTS:
        text = pattern.sub(to, text)
    for pattern, to in _SHORT:
        text = pattern.sub(to, text)
    text = _DECADE_WORDS.sub(_decade, _DECADE.sub(r"\1s", text))
    text = ordinals(text)
    text = _CENTURY.sub(lambda found: f"{_roman(found[1] or found[2])}th century", text)
    text = _WORLD_WAR.sub(lambda war: f"World War {2 if war['two'] or war['b'] or war['d'] else 1}", text)
    text = _REIGN.sub(lambda name: f"{name[1]} {_number(name)}", text)
    text = _NUMBERED.sub(r"\2 \1", text)
    return _SPAN.sub(_years, text)


def initials(name: str) -> str:
    """Return the initials of a name of several capitalised words, small words aside; "" of fewer than two."""
    made = "".join(word[0] for word in re.findall(r"[^\W\d_][\w'-]*", name) if word[0].isupper())
    return made if len(made) > 1 else ""


def _number(name: re.Match[str]) -> str:
    if name[2]:
        return str(_roman(name[2]))
    if name[3]:
        return name[3]
    return str(_SPANISH.index(name[4].lower()) + 1 if name[4] else _CARDINALS.index(name[5].lower()) + 2)


def _decade(found: re.Match[str]) -> str:
    """Return a decade in digits; without a century it is one of the twentieth."""
    if found[3]:
        return f"19{found[3]}s"
    tens = _TENS.index(found[2].lower().removesuffix("ies") + "y") + 2
    century = {"seventeen": 17, "eighteen": 18, "twenty": 20}.get((found[1] or "").lower(), 19)
    return f"{century}{tens}0s"


def _roman(numeral: str) -> int:
    tens, rest = numeral.count("X"), numeral.lstrip("X")
    if numeral.endswith("IX"):
        return 10 * (tens - 1) + 9
    return 10 * tens + {"": 0, "I": 1, "II": 2, "III": 3, "IV": 4, "V": 5, "VI": 6, "VII": 7, "VIII": 8}[rest]


def _years(span: re.Match[str]) -> str:
    end = span[2] if len(span[2]) == 4 else span[1][:2] + span[2]
    return f"{span[1]} {end}"
