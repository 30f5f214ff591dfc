"""Numbers as people and models write them: groups, decimal commas, powers of ten, fractions.

Values are exact `Fraction` numbers, so that ten-digit products and 3/4 compare without rounding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from metacog_pipeline.benchmark.answers.text import uncased

_LONGEST_NUMERAL = 400
_LARGEST_EXPONENT = 400

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_THOUSAND = "thousand thousands tausend mille mila тысяча тысячи тысяч"
_MILLION = (
    "million millions mn millionen mio millón millones milhão milhões milione milioni miljoen miljon miljoner млн миллион "
    "миллиона миллионов"
)
_MILLIARD = (
    "billion billions bn milliarde milliarden mrd milliard milliards bilhão bilhões miliardo miliardi miljard miljarder "
    "млрд миллиард миллиарда миллиардов"
)
#: What stands behind a number and multiplies it, by the word in lower case. The German Billion is an English trillion: only
#: its plural tells them apart.
MAGNITUDES = {
    **dict.fromkeys(("dozen", "dozens"), 12), **dict.fromkeys(_THOUSAND.split(), 10**3),
    **dict.fromkeys(("lakh", "lakhs"), 10**5), **dict.fromkeys(_MILLION.split(), 10**6),
    **dict.fromkeys(("crore", "crores"), 10**7), **dict.fromkeys(_MILLIARD.split(), 10**9),
    **dict.fromkeys(("mil millones", "mil milhões"), 10**9),
    **dict.fromkeys(("trillion", "trillions", "billionen"), 10**12),
}  # fmt: skip
#: The pattern of such a word.
MAGNITUDE = "|".join(sorted(MAGNITUDES, key=len, reverse=True))
_LETTERS = {"k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12, "tn": 10**12}
#: What may stand behind a number and "and a", by its name.
PARTS = {"half": Fraction(1, 2), "third": Fraction(1, 3), "quarter": Fraction(1, 4)}

NUMERAL = (
    r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d])|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?(?!\d)"
    r"|\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?(?!\d)|\d{1,3}(?:\.\d{3})+,\d+(?!\d)"
    r"|\d{1,3}(?:[ '_]\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)?|[.,]\d+)"
)
_POWER = r"(?:\^ ?[-+]?\d{1,4}|[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,4})"
_NUMBER = re.compile(
    rf"(?P<sign>(?<![\w.,)])[-+])?(?<![A-Za-z_\d])(?<!\d[.,])(?P<money>(?<=[$€£¥₹₩]))?(?P<body>{NUMERAL})"
    rf"(?:(?P<exp>[eE][-+]?\d{{1,4}})(?!\w)| ?[×x*·⋅∙] ?10 ?(?P<ten>{_POWER})|(?P<pow>{_POWER})"
    rf"| ?/ ?(?P<den>\d+(?:\.\d+)?)(?![\d/])| (?P<mixed>[1-9]\d?/[1-9]\d{{0,2}})(?![\d/]|[.,]\d)"
    rf"| and (?:a|one) (?P<half>{'|'.join(PARTS)})\b|(?P<letter>(?-i:[kMB])|(?(money)(?:[mbt]|tn)|(?!)))\b)?"
    rf"(?:[ -]?(?P<mag>{MAGNITUDE})\b)?",
    re.IGNORECASE,
)
# A number behind an operand is subtracted, not negative: "10 minus 3", "x minus 3".
_MINUS = re.compile(
    r"(?:^|\n|[^\w\s)\]%°] ?|\b(?:is|was|be|are|equals|to|of|at|about|around|approximately|roughly|es) )"
    r"(?P<minus>minus|negative|menos) $",
    re.IGNORECASE,
)

_WITHIN = dict(zip("十百千십백천", (10, 100, 1_000) * 2, strict=True))
_MYRIADS = dict(zip("万萬만亿億억兆조", (*(10**4,) * 3, *(10**8,) * 3, *(10**12,) * 2), strict=True))
# 千米, 千克 and the like are units of their own, 百分 is a percentage.
_MYRIAD_PART = re.compile(
    rf"(?P<body>{NUMERAL}) ?(?P<within>[{''.join(_WITHIN)}]?)"
    rf"(?P<myriad>[{''.join(_MYRIADS)}]|(?<=[{''.join(_WITHIN)}])(?![米克瓦焦卡赫帕伏字分]))"
)
_MYRIAD_REST = re.compile(r"\d{1,4}(?![\d.,])")


_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a text: its exact value and where it stands; ``parts`` are those of a fraction in digits."""

    value: Fraction
    start: int
    end: int
    parts: tuple[Fraction, Fraction] | None = None


def numerals(text: str) -> Iterator[Number]:
    """Yield the numbers in digits of ``text`` from left to right; those too long to be meant are left out."""
    if _DIGIT.search(text) is None:
        return
    end = 0
    for found in _NUMBER.finditer(text):
        if found.start() < end:
            continue  # within one in myriads
        myriads = None if text.isascii() else _in_myriads(text, found.start("body"))
        if myriads is not None:
            end = myriads.end
            yield Number(-myriads.value if found["sign"] == "-" else myriads.value, found.start(), end)
        elif (value := _value(found)) is not None:
            parts = (numeral_value(found["body"]), numeral_value(found["den"])) if found["den"] else None
            parts = None if found["mag"] else parts
            minus = None if found["sign"] else _MINUS.search(text[max(0, found.start() - 24) : found.start()])
            start = found.start() - (minus.end() - minus.start("minus") if minus else 0)
            yield Number(-value if minus else value, start, found.end(), parts)  # type: ignore[arg-type]


def _in_myriads(text: str, start: int) -> Number | None:
    """Return the number of East Asian powers of ten thousand at ``start``, None where there is none: 350万, 3억 5천만."""
    total, section, end = Fraction(0), Fraction(0), start
    if text[max(0, start - 1) : start] in ("第", "제"):
        return None
    while (part := _MYRIAD_PART.match(text, end + (end > start and text[end : end + 1] == " "))) is not None:
        body = numeral_value(part["body"])
        if body is None:
            return None
        section += body * _WITHIN.get(part["within"], 1)
        if part["myriad"]:
            total, section = total + section * _MYRIADS[part["myriad"]], Fraction(0)
        end = part.end()
    if end == start:
        return None
    if (rest := _MYRIAD_REST.match(text, end)) is not None:
        section, end = section + int(rest[0]), rest.end()
    return Number(total + section, start, end)


def numeral_value(body: str) -> Fraction | None:
    """Return the value of a `NUMERAL` without sign: group separators off, a decimal comma read as a point."""
    if len(body) > _LONGEST_NUMERAL:
        return None
    if body.isdecimal():
        return Fraction(int(body))
    if re.fullmatch(r"\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d+)?", body):
        body = body.replace(",", "")
    elif re.fullmatch(r"\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?|\d{1,3}(?:\.\d{3})+,\d+", body):
        body = body.replace(".", "").replace(",", ".")
    elif re.fullmatch(r"\d{1,3}(?:[ '_]\d{3})+(?:[.,]\d+)?", body):
        body = re.sub("[ '_]", "", body).replace(",", ".")
    else:
        body = body.replace(",", ".")
    return Fraction(Decimal(body))


def exact(value: int | float | str | Fraction) -> Fraction | None:
    """Return a key as an exact number (a float as its shortest decimal form), or None where it is none."""
    try:
        return Fraction(value) if isinstance(value, int | Fraction) else Fraction(Decimal(str(value).strip()))
    except (ValueError, ArithmeticError):
        return None


def _value(found: re.Match[str]) -> Fraction | None:
    value: Fraction | None
    body = numeral_value(found["body"])
    if body is None:
        return None
    power = found["ten"] or found["pow"]
    exponent = int(power.translate(_SUPERSCRIPTS).lstrip("^ ")) if power else 0
    if found["exp"]:
        exponent, power = int(found["exp"][1:]), None
    if abs(exponent) > _LARGEST_EXPONENT:
        return None
    if found["pow"]:
        value = _to_the(body, exponent)
    elif found["mixed"]:
        part = Fraction(found["mixed"])
        value = body + part if body.denominator == 1 and part < 1 else body
    elif found["den"]:
        below = numeral_value(found["den"])
        value = body / below if below else None
    else:
        value = body + (PARTS[uncased(found["half"])] if found["half"] else 0)
        value = Fraction(value * Fraction(10) ** exponent) if exponent else value
    if value is None:
        return None
    letter = found["letter"]
    value *= (_LETTERS[letter.lower()] if letter else 1) * (
        MAGNITUDES[uncased(found["mag"])] if found["mag"] else 1
    )
    return -value if found["sign"] == "-" else value


def _to_the(base: Fraction, exponent: int) -> Fraction | None:
    if len(str(base)) * abs(exponent) > 4 * _LONGEST_NUMERAL or (base == 0 and exponent < 0):
        return None
    return Fraction(base**exponent)
