"""Units by their names in four languages, and what converts them: a small table, data/answers/units.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache

from metacog_pipeline.benchmark.answers.numbers import numerals
from metacog_pipeline.benchmark.answers.text import uncased
from metacog_pipeline.files import shipped

_LONGEST_QUANTITY = 60  # characters

_POWERS = "tera T 12 giga G 9 mega M 6 kilo k 3 hecto h 2 deca da 1 deci d -1 centi c -2 milli m -3 micro µ -6 nano n -9"
_WORDS = _POWERS.split()
_PREFIXES: Mapping[str, tuple[str, Fraction]] = {
    name: (symbol, Fraction(10) ** int(power))
    for name, symbol, power in zip(_WORDS[::3], _WORDS[1::3], _WORDS[2::3], strict=True)
}
_LARGE, _COMMON, _ALL = "T G M k", "G M k m µ n", "T G M k h da d c m µ n"
# Of a unit of the table: its names, its symbol, and the prefixes that the symbol takes. The case of three letters does not
# count, so that MHz and mHz would be one; nobody writes daN, and Dan is a name.
_PREFIXED = {
    "m": ("metre meter metro", "m", _ALL), "l": ("litre liter litro", "l", _ALL), "L": ("", "L", _ALL),
    "g": ("gram gramo", "g", ""), "Pa": ("pascal", "Pa", "G M k h"), "A": ("ampere amp", "A", _COMMON),
    "V": ("volt", "V", _COMMON), "W": ("watt", "W", f"T {_COMMON}"), "J": ("joule", "J", f"T {_COMMON}"),
    "N": ("newton", "N", _COMMON), "Hz": ("hertz", "Hz", _LARGE), "ohm": ("ohm", "Ω", "G M k"),
    "eV": ("electronvolt", "eV", _LARGE), "mol": ("mole", "mol", "k m µ n"), "bit": ("bit", "bit", _LARGE),
    "byte": ("byte", "B", _LARGE),
}  # fmt: skip
_SCALES = {("华氏", "화씨", "華氏"): "°F", ("摄氏", "섭씨", "攝氏"): "°C"}
_SYMBOLS = ("€", "$", "US$", "£", "¥", "₹", "₩")  # may stand before the number


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: ``value * factor + offset`` is in the base unit of its dimension."""

    name: str
    dimension: str
    factor: Fraction
    offset: Fraction = Fraction(0)


@cache
def table() -> Mapping[str, Unit]:
    """Return the units by each of their names; names of three letters and more in lower case."""
    found: dict[str, Unit] = {}
    listed = tomllib.loads(shipped("data", "answers", "units.toml").read_text("utf-8"))
    for dimension, units in listed.items():
        for name, given in units.items():
            numbers = [_exact(each) for each in given if not isinstance(each, str)]
            unit = Unit(name, dimension, *numbers)
            found.update({_folded(each): unit for each in given if isinstance(each, str)})
    return {**_with_prefixes(found), **found}


def _with_prefixes(found: Mapping[str, Unit]) -> dict[str, Unit]:
    """Return the units of `_PREFIXED` under every prefix: hectolitres, hl, kΩ, MeV."""
    made: dict[str, Unit] = {}
    for name, (words, symbol, shorts) in _PREFIXED.items():
        base = found[name]
        for prefix, (short, factor) in _PREFIXES.items():
            names = [f"{prefix}{word}{plural}" for word in words.split() for plural in ("", "s")]
            names += [f"{short}{symbol}"] if short in shorts.split() else []
            made |= dict.fromkeys(
                map(_folded, names), Unit(f"{prefix}{name}", base.dimension, base.factor * factor)
            )
    return made


@cache
def _pattern() -> re.Pattern[str]:
    names = sorted(table(), key=len, reverse=True)
    exact = "|".join(re.escape(name) for name in names if _as_written(name))
    loose = "|".join(re.escape(name) for name in names if not _as_written(name))
    return re.compile(rf"[ -]?(?:(?P<a>(?i:{loose}))|(?P<b>{exact}))(?![A-Za-z0-9²³])(?!/[A-Za-z])")


@cache
def _loose_pattern() -> re.Pattern[str]:
    """As `_pattern`, for what is followed by a denominator that is none of the table's: €/kg is read as €."""
    return re.compile(_pattern().pattern.removesuffix("(?!/[A-Za-z])"))


def unit_after(text: str, place: int) -> tuple[Unit | None, int]:
    """Return the unit that stands at ``place``, and where it ends; (None, place) where there is none."""
    found = _pattern().match(text, place) or _loose_pattern().match(text, place)
    if found is None:
        return None, place
    return table()[_folded(found["a"] or found["b"])], found.end()


def unit_before(text: str, place: int) -> Unit | None:
    """Return the sign of a currency that stands right before ``place``."""
    before = text[max(0, place - 4) : place].rstrip()
    scale = next((name for names, name in _SCALES.items() if before.endswith(names)), None)
    if scale is not None:
        return named(scale)
    return next((table()[_folded(sign)] for sign in _SYMBOLS if before.endswith(sign)), None)


@cache
def named(name: str) -> Unit | None:
    """Return the unit of this name, None where the table has none."""
    return table().get(_folded(name.strip()))


def quantity(text: str) -> tuple[str, str] | None:
    """Return number and unit of a text that is both and nothing more: ``12 km``, ``$1,200``; None of any other.

    >>> quantity("$1,200"), quantity("12.5 km"), quantity("12 monkeys"), quantity("12")
    (('1200', '$'), ('12.5', 'km'), None, None)
    """
    text = text.strip()
    first = next(numerals(text), None) if len(text) <= _LONGEST_QUANTITY else None
    if first is None or first.parts is not None:
        return None
    before, after = text[: first.start].strip(), text[first.end :].strip(" -")
    unit = named(before) if before else named(after)
    if unit is None or (before and (after or not unit.dimension.startswith("money"))):
        return None
    value = Decimal(first.value.numerator) / Decimal(first.value.denominator)
    return (f"{value:f}", before or after) if Fraction(value) == first.value else None


@cache
def asked_unit(question: str) -> Unit | None:
    """Return the unit a question asks for: "in euros", "how many litres"."""
    for found in re.finditer(
        r"\b(?:in|how many|how much|to the nearest|of)\b", question[-4_000:], re.IGNORECASE
    ):
        unit, _ = unit_after(question[-4_000:], found.end())
        if unit is not None and found[0].lower() != "of":
            return unit
    return None


def converted(value: Fraction, unit: Unit, wanted: Unit) -> Fraction | None:
    """Return ``value`` of ``unit`` in ``wanted``; None where they measure different things."""
    if unit.dimension != wanted.dimension:
        return None
    return (value * unit.factor + unit.offset - wanted.offset) / wanted.factor


def _exact(value: int | float) -> Fraction:
    """Return the fraction meant by a rounded factor such as 0.5555555555555556."""
    return Fraction(value) if isinstance(value, int) else Fraction(str(value)).limit_denominator(10**9)


def _as_written(name: str) -> bool:
    return len(name) <= 2 and name.isascii()


def _folded(name: str) -> str:
    return name if _as_written(name) else uncased(name)
