"""Numbers as replies write them: separators of thousands, decimal commas, powers, fractions, words, units."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

#: Words of 0 to 19 in order.
ONES = (
    *(
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
    ),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS = {word: value for value, word in enumerate(ONES)} | {word: 10 * n for n, word in enumerate(_TENS, 2)}
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "dozen": 12.0}
_SHORT_SCALES = {"k": 1e3, "m": 1e6, "b": 1e9, "mn": 1e6, "mio": 1e6, "bn": 1e9}
_SHORT_SCALES |= dict.fromkeys("万萬만", 1e4) | dict.fromkeys("亿億억", 1e8)
# Words of other languages count where they are alone.
_ALONE = {
    word: value
    for words in (
        "uno dos tres cuatro cinco seis siete ocho nueve diez",
        "eins zwei drei vier fünf sechs sieben acht neun zehn",
        "un deux trois quatre cinq six sept huit neuf dix",
        "一 二 三 四 五 六 七 八 九 十",
        "일 이 삼 사 오 육 칠 팔 구 십",
    )
    for value, word in enumerate(words.split(), 1)
}
_NAMED = "|".join(sorted([*_WORDS, *_SCALES], key=len, reverse=True))
_SPOKEN = re.compile(
    rf"(?i)\b(?:(?P<minus>minus|negative)\s+)?(?P<words>(?:an?\s+(?=hundred|thousand|million|dozen))?(?:{_NAMED})"
    rf"(?:(?:[\s-]+|\s+and\s+)(?:{_NAMED}))*+)(?P<half>\s+and\s+a\s+half)?\b"
)
_NUMERAL = re.compile(
    r"(?i)(?<![\w.])(?:(?P<minus>minus|negative)\s+)?(?P<sign>[-+]?)\s?(?P<money>[$€£]?)\s?"
    r"(?P<whole>\d{1,3}(?:(?:[ ,.']|\{,\}|\\,)\d{3})++(?!\d)|\d++)?(?P<rest>[.,]\d++)?(?P<vulgar>[½⅓⅔¼¾⅛])?"
    r"(?:\s?[x*·×]\s?10\s?(?:\^|\*\*)?\s?\{?(?P<power>[-+]?\d{1,3}|[⁻⁺]?[⁰¹²³⁴-⁹]{1,3})\}?|[eE](?P<exponent>[-+]?\d{1,3})"
    r"|\s?\^\s?\{?(?P<raised>[-+]?\d{1,3})\}?|(?P<super>⁻?[⁰¹²³⁴-⁹]{1,3}))?"
)
_FRACTION = re.compile(
    r"(?<![\w./])(?P<sign>-?)(?:(?P<whole>\d{1,6})[ ](?=\d{1,3}/))?(?P<top>\d{1,9})\s?/\s?(?P<bottom>\d{1,9})(?![\w/])"
)
_SCALED = re.compile(
    r"(?i)\s{0,2}(?P<scale>(?:hundred|thousand|million|billion|trillion|dozen|bn|mn|mio|(?<=\d)(?-i:k)|(?-i:[MB]))\b|[万萬만亿億억])"
)
_UNIT = re.compile(r"\s{0,3}(?:degrees\s)?(%|°[CF]|[A-Za-zµΩ]{1,12}(?:/[A-Za-z]{1,4}|\^?[23²³])?)")
_VULGAR = dict(zip("½⅓⅔¼¾⅛", (1 / 2, 1 / 3, 2 / 3, 1 / 4, 3 / 4, 1 / 8), strict=True))
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
# A line for each kind of quantity: the size of its units, each with its names. Only names and symbols without doubt.
_UNITS = {
    name: (place, float(size))
    for place, kind in enumerate((
        "1 m metre meter; 1e3 km kilometer kilometre; 1e-2 cm centimeter centimetre; 1e-3 mm millimeter millimetre"
        "; 1e-6 µm; 1e-9 nm; 1609.344 mile mi; 0.9144 yard; 0.3048 ft foot feet; 0.0254 inch inches",
        "1 m/s; 1e3 km/s; 0.2777777777777778 km/h kph; 0.44704 mph",
        "1 g gram; 1e3 kg kilogram; 1e-3 mg; 1e6 t ton tonne; 453.59237 lb pound",
        "1 s sec second; 1e-3 ms; 60 min minute; 3600 h hour; 86400 day; 604800 week",
        "1 l liter litre; 1e-3 ml; 100 hectolitre hectoliter; 1e3 kilolitre kiloliter",
        "1 % percent",
        "1 °f fahrenheit",
        "1 °c celsius",
        "1 kelvin K",
    ))
    for size, *names in map(str.split, kind.split(";"))
    for name in names
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and its unit, "" for none; ``start`` and ``end`` are its place."""

    value: float
    unit: str
    start: int
    end: int


def numbers(text: str) -> Iterator[Quantity]:
    """Yield the numbers of ``text`` from left to right; of two that overlap the longer."""
    taken = 0
    found = [*_fractions(text), *_numerals(text), *_spoken(text), *_alone(text)]
    for each in sorted(found, key=lambda each: (each.start, -each.end)):
        if each.start >= taken:
            taken = each.end
            yield each


def _fractions(text: str) -> Iterator[Quantity]:
    for found in _FRACTION.finditer(text):
        if int(found["bottom"]):
            value = int(found["whole"] or 0) + int(found["top"]) / int(found["bottom"])
            yield _with_unit(text, -value if found["sign"] else value, found.start(), found.end())


def _numerals(text: str) -> Iterator[Quantity]:
    for found in _NUMERAL.finditer(text):
        if found["whole"] or found["rest"] or found["vulgar"]:
            value, end = _value(found), found.end()
            scaled = _SCALED.match(text, end)
            # M is also metres, and molar
            if scaled and (found["money"] or scaled["scale"] not in "MB"):
                name = scaled["scale"].lower()
                value, end = value * (_SCALES.get(name) or _SHORT_SCALES[name]), scaled.end()
            start = found.end() - len(found[0].lstrip())
            yield _with_unit(text, value, start, end)


def _value(found: re.Match[str]) -> float:
    """Return what a numeral says: the last of two kinds of marks, or a single point, is the decimal one."""
    said = re.sub(r"[ '{}]|\\,", "", (found["whole"] or "0") + (found["rest"] or ""))
    marks = re.sub(r"\d", "", said)
    decimal = marks[-1] if len({*marks}) == 2 and marks.count(marks[-1]) == 1 else "." if marks == "." else ""
    # 1,234 is a thousand, as English writes it; 0,5 and 1,25 are not
    if marks == ",":
        decimal = "" if re.fullmatch(r"[1-9]\d{0,2},\d{3}", said) else ","
    whole, _, rest = said.rpartition(decimal) if decimal else (said, "", "")
    value = float(f"{re.sub('[.,]', '', whole) or 0}.{rest or 0}") + _VULGAR.get(found["vulgar"] or "", 0.0)
    raised = found["raised"] or found["super"]
    power = int((raised or found["power"] or found["exponent"] or "0").translate(_SUPERSCRIPTS))
    try:
        value = float(value**power) if raised else value * 10.0**power
    except (OverflowError, ZeroDivisionError):
        value = float("inf")
    return -value if found["minus"] or found["sign"] == "-" else value


def _spoken(text: str) -> Iterator[Quantity]:
    for found in _SPOKEN.finditer(text):
        total = current = 0.0
        for word in re.split(r"[\s-]+", found["words"].lower()):
            if word in _SCALES:
                current = (current or 1.0) * _SCALES[word]
                if _SCALES[word] >= 1e3:
                    total, current = total + current, 0.0
            else:
                mine = _WORDS.get(word, 0)  # 0: "and", "a"
                current = current * 100 + mine if mine >= 10 and 10 <= current < 100 else current + mine
        value = total + current + (0.5 if found["half"] else 0.0)
        yield _with_unit(text, -value if found["minus"] else value, found.start(), found.end())


def _alone(text: str) -> Iterator[Quantity]:
    bare = text.strip(" \t\n.%*_")
    if bare.lower() in _ALONE:
        start = text.index(bare)
        yield _with_unit(text, float(_ALONE[bare.lower()]), start, start + len(bare))


def _with_unit(text: str, value: float, start: int, end: int) -> Quantity:
    found = _UNIT.match(text, end)
    if found is None or _unit(found[1]) is None:
        return Quantity(value, "", start, end)
    return Quantity(value, found[1], start, found.end())


def _unit(unit: str | None) -> tuple[int, float] | None:
    """Return which kind of quantity a unit measures, and its size; None for one that is not known."""
    bare = (unit or "").strip()
    name = bare[:-1] if len(bare) > 3 and bare.endswith("s") and "/" not in bare else bare
    return _UNITS.get(name) or _UNITS.get(name.lower())


def of_kind(quantity: Quantity, unit: str | None) -> bool | None:
    """Return whether ``quantity`` measures what ``unit`` does; None where one of the two is in no known unit."""
    mine, asked = _unit(quantity.unit), _unit(unit)
    return None if mine is None or asked is None else mine[0] == asked[0]


def in_unit(quantity: Quantity, unit: str | None) -> float:
    """Return ``quantity`` in ``unit``; as it is where one of the two has none, or they measure different things."""
    mine, asked = _unit(quantity.unit), _unit(unit)
    if mine is None or asked is None or mine[0] != asked[0]:
        return quantity.value
    return quantity.value * mine[1] / asked[1]


_ASKED = re.compile(r"(?i)\b(?:in|how\s+many)\s+([A-Za-zµΩ°/]{1,20}[²³]?)(?!\w)")
_PERCENT = re.compile(r"(?i)%|\bper\s?cent\b")


def asked_unit(question: str) -> str | None:
    """Return the unit that a question asks for, the last it names: "in m/s", "how many minutes"."""
    return next((found for found in reversed(_ASKED.findall(question[-4_000:])) if _unit(found)), None)


def in_percent(said: str) -> bool:
    """Return whether a number is one of percent."""
    return _PERCENT.search(said) is not None


# --- which of several numbers is the answer: the result of what is worked out, not what it is worked out from ---
_MONTHS = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|ene|abr|ago|dic|mär|mai|okt|dez)\w{0,8}"
# What accompanies an answer: notes in brackets, the day of a date, places in an order, a modulus.
_ASIDE = re.compile(
    r"(?i)(?<=[^\s=+*×·/(-])(?:\s+|(?<=[^\x00-\x7f]))[(\[][^()\[\]]{0,200}[)\]]|±\s*[\d.,]+"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\.?(?=\s+(?:de\s+|of\s+)?{_MONTHS})"
    rf"|(?<=[a-z])\s\d{{1,2}}(?:st|nd|rd|th)?(?=,?\s+\d{{4}}\b)|\b\d{{1,4}}(?:st|nd|rd|th)\b|\bmod(?:ulo)?\s+\d+"
)
#: What takes back what a text said before it.
TAKES_BACK = re.compile(
    r"(?i)\b(?:no,?\s+wait|wait|actually|scratch\s+that|correct(?:ion|ing)|on\s+reflection|i\s+mean|(?:or\s+)?rather(?!\s+than)"
    r"|re-?check\w*|recount\w*|sorry|hm+)\b[\W_]*"
)
#: Words between two numbers of which a text does not say which it means.
BETWEEN = re.compile(
    r"(?i)\s*%?,?\s*(?:-|to|or|and|/|maybe|perhaps|bis|o|oder)\s*(?:possibly|maybe|perhaps)?\s*"
)
_CONCLUDES = re.compile(r"(?i)→|[-=]>|≡|\b(?:so|thus|therefore|hence|i\.e\.|comes\s+to|makes|gives|yields)\b")
_CLAUSE = re.compile(r"(?i)(?<=[\d\w])[,;.:](?=\s|$)|\s(?:because|since|as|though|but)\b|\n")
_EQUALS = re.compile(r"[=≈]")


def meant(text: str, found: Sequence[Quantity], unit: str | None) -> Quantity | None:
    """Return the number that ``text`` gives as its answer; None where there are several."""
    text = _ASIDE.sub(lambda aside: " " * len(aside[0]), text)
    rest = [each for each in found if text[each.start : each.end].strip()] or list(found)
    for mark in [*TAKES_BACK.finditer(text)][-1:]:
        text = " " * mark.end() + text[mark.end() :]
        rest = [each for each in rest if each.start >= mark.end()] or rest
    for part in _parts(text, rest, unit):
        if part and len({round(in_unit(each, unit), 12) for each in part}) == 1:
            return part[0]
    return None


def _parts(text: str, found: Sequence[Quantity], unit: str | None) -> Iterator[list[Quantity]]:
    """Yield the numbers of ever other parts of the text, those first that say most."""
    yield list(found)
    yield [each for each in found if of_kind(each, unit) and all(other.unit for other in found)]
    for place in [mark.end() for mark in _CONCLUDES.finditer(text)][-1:]:
        behind = [each for each in found if each.start >= place]
        yield behind
        yield [each for each in behind if each.start < _end(text, place)]
    yield [each for each in found if each.start < _end(text, 0)]
    sides = [mark.start() for mark in _EQUALS.finditer(text)]
    yield [each for each in found if sides and each.start > sides[-1]]
    yield [each for each in found if len(sides) == 1 and each.start < sides[0]]


def _end(text: str, place: int) -> int:
    """Return where the clause ends that goes on at ``place``."""
    clause = _CLAUSE.search(text, place)
    return clause.start() if clause is not None else len(text)
