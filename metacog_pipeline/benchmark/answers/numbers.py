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
_MAGNITUDES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12, "mn": 6, "bn": 9}

NUMERAL = (
    r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d])|\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?(?!\d)|\d{1,3}(?:\.\d{3})+,\d+(?!\d)"
    r"|\d{1,3}(?:[ '_]\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)?|[.,]\d+)"
)
_POWER = r"(?:\^ ?[-+]?\d{1,4}|[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,4})"
_NUMBER = re.compile(
    rf"(?P<sign>(?<![\w.,)])[-+])?(?<![A-Za-z_\d])(?<!\d[.,])(?P<body>{NUMERAL})"
    rf"(?:(?P<exp>[eE][-+]?\d{{1,4}})(?!\w)| ?[×x*] ?10 ?(?P<ten>{_POWER})|(?P<pow>{_POWER})"
    rf"| ?/ ?(?P<den>\d+(?:\.\d+)?)(?![\d/])| (?P<mixed>[1-9]\d?/[1-9]\d{{0,2}})(?![\d/]|[.,]\d)"
    rf"|[ -]?(?P<mag>{'|'.join(_MAGNITUDES)})\b|(?P<kilo>(?-i:k))\b)?",
    re.IGNORECASE,
)


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
    for found in _NUMBER.finditer(text):
        value = _value(found)
        if value is not None:
            parts = (numeral_value(found["body"]), numeral_value(found["den"])) if found["den"] else None
            yield Number(value, found.start(), found.end(), parts)  # type: ignore[arg-type]


def numeral_value(body: str) -> Fraction | None:
    """Return the value of a `NUMERAL` without sign: group separators off, a decimal comma read as a point."""
    if len(body) > _LONGEST_NUMERAL:
        return None
    if body.isdecimal():
        return Fraction(int(body))
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", body):
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
        shift = exponent + (3 if found["kilo"] else _magnitude(found["mag"]))
        value = Fraction(body * Fraction(10) ** shift) if shift else body
    return -value if value is not None and found["sign"] == "-" else value


def _to_the(base: Fraction, exponent: int) -> Fraction | None:
    if len(str(base)) * abs(exponent) > 4 * _LONGEST_NUMERAL or (base == 0 and exponent < 0):
        return None
    return Fraction(base**exponent)


def _magnitude(word: str | None) -> int:
    return _MAGNITUDES[uncased(word)] if word else 0
