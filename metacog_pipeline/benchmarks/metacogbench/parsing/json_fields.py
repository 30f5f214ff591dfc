"""The fields of a tier-3 reply: which object is meant and which of its values are right."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from metacog_pipeline.benchmark.answers.numbers import NUMERAL, numeral_value
from metacog_pipeline.benchmark.answers.text import folded, plain_characters, without_reasoning
from metacog_pipeline.benchmarks.metacogbench.items import Field
from metacog_pipeline.benchmarks.metacogbench.parsing.json_objects import inner, objects
from metacog_pipeline.benchmarks.metacogbench.parsing.keyed import labelled

SLACK = 1e-9
_LONGEST_LIST = 10_000  # characters of a string that lists members
_CURRENCY = "$€£¥₹₽₩₺₴¢"
_NUMERAL = re.compile(rf"([-+])? ?({NUMERAL})(?:[eE]([-+]?\d{{1,3}}))?(?= ?(\D*)$)")
_PARTS = re.compile(r"\s*(?:[,;\n|]|->|→|=>|\band\b)\s*")
_EDGES = re.compile(r"\s*[,;\n|]\s*|\s+and\s+")
_ENDS = re.compile(r"\s*(?:<?->|<?-+|→|↔|–|/|\bto\b|_)\s*")
_YES, _NO = ("true", "yes"), ("false", "no")


class FieldResult(NamedTuple):
    """What one reply holds.

    ``found`` says whether there was an object with at least one expected key; ``ok`` maps every field name to whether
    its value is right, ``n_ok`` counts these; ``passed`` is the 60 % rule in whole numbers; ``core_ok`` is None where no
    field is the core.
    """

    found: bool
    ok: dict[str, bool]
    core_ok: bool | None
    n_ok: int
    passed: bool


def read_fields(reply: str, fields: Sequence[Field]) -> FieldResult:
    """Choose the object with the most expected keys (ties: the last) and check its values. Total."""
    names = {normal: each.name for each in fields for normal in map(_normal_key, (each.name, *each.aliases))}
    best = _best_object(plain_characters(without_reasoning(reply), quotes=False), names)
    best = _lines(reply, names) if best is None and "{" not in reply else best
    ok = {each.name: best is not None and _right(best.get(each.name), each) for each in fields}
    core, n_ok = [ok[each.name] for each in fields if each.core], sum(ok.values())
    return FieldResult(
        best is not None, ok, core[0] if core else None, n_ok, bool(ok) and 5 * n_ok >= 3 * len(ok)
    )


def _best_object(text: str, names: Mapping[str, str]) -> dict[str, object] | None:
    best: dict[str, object] | None = None
    for outer in objects(text):
        for each in inner(outer.value):
            known = {names[k]: v for k, v in ((_normal_key(key), v) for key, v in each.items()) if k in names}
            if known and (best is None or len(known) >= len(best)):
                best = known
    return best


def _lines(reply: str, names: Mapping[str, str]) -> dict[str, object] | None:
    """Return the fields a reply without an object lists line by line, or in a table; one line alone is none."""
    places = {f"f{i}": name for i, name in enumerate(names)}
    keys = {place: rf"(?:{re.escape(name).replace('_', '[_ ]')})" for place, name in places.items()}
    read, _ = labelled(reply, keys)
    found: dict[str, object] = {names[places[each.name]]: each.value for each in read if each.firm}
    return found if len(found) > 1 else None


def _normal_key(key: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", plain_characters(key).lower()).strip("_")


def _right(value: object, wanted: Field) -> bool:
    if isinstance(value, dict) and "value" in value:  # {"value": 1905, "unit": "m"}
        unit = value.get("unit")
        value = f"{value['value']} {unit}" if unit and wanted.unit else value["value"]
    if value is None:
        return False
    if wanted.type in ("int", "float"):
        return _number_right(value, wanted)
    if wanted.type == "bool":
        return _boolean(value) is not None and _boolean(value) == _boolean(wanted.value)
    if wanted.type in ("list", "set"):
        return _members_right(value, wanted)
    said, right = _name(value), {_name(each) for each in (wanted.value, *wanted.accept)}
    return said is not None and (said in right or _one_option(said, wanted) in right)


def _one_option(said: str, wanted: Field) -> str | None:
    """Return the one option whose words are in what is said: "the green tin"; None where there is none or several."""
    names = {
        name for name in map(_name, wanted.options) if name and re.search(rf"\b{re.escape(name)}\b", said)
    }
    return names.pop() if len(names) == 1 else None


def _number_right(value: object, wanted: Field) -> bool:
    number = _number(value, wanted.unit)
    if number is None or (wanted.type == "int" and number != round(number)):
        return False
    if wanted.range is not None:
        low, high = wanted.range
        return low - SLACK <= number <= high + SLACK
    for each in (_number(value, wanted.unit) for value in (wanted.value, *wanted.accept)):
        if each is not None:
            room = max(wanted.abs_tol, wanted.rel_tol * abs(each)) + SLACK * max(1.0, abs(each))
            if abs(number - each) <= room:
                return True
    return False


def _number(value: object, unit: str) -> float | None:
    """Return a finite number; a boolean is none, a string only with a currency sign, groups or the declared unit."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str):
        return _number_in(plain_characters(value).strip(), unit)
    if isinstance(value, int) and abs(value) > 10**300:
        return None
    return float(value) if math.isfinite(value) else None


def _number_in(text: str, unit: str) -> float | None:
    text = text.strip(_CURRENCY + "≈~ ")
    sign = "-" if text.startswith("-") else ""
    text = text.lstrip("-+ ").lstrip(_CURRENCY + " ") if text[:1] in "-+" else text
    found = _NUMERAL.match(sign + text) if len(text) <= 60 else None
    if found is None:
        return None
    trailing = found[4].strip(" " + _CURRENCY).casefold()
    if trailing not in {"", "%", plain_characters(unit).strip().casefold()}:
        return None
    body = numeral_value(found[2])
    if body is None:
        return None
    number = float(body) * 10.0 ** int(found[3] or 0) if abs(int(found[3] or 0)) < 250 else math.inf
    return (-number if found[1] == "-" else number) if math.isfinite(number) else None


def _boolean(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        word = value.strip().strip(".").lower()
        return True if word in _YES else False if word in _NO else None
    return None


def _name(value: object) -> str | None:
    """Return a folded name; numbers by their value, so that 3 and "3.0" are one; None for what is no name."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    number = _number(value, "")
    if number is not None:
        return f"{number:.12g}"
    return folded(plain_characters(value).replace("_", " ")) if isinstance(value, str) else None


def _members_right(value: object, wanted: Field) -> bool:
    said, right = _members(value, wanted.edges), _members(wanted.value, wanted.edges)
    if said is None or right is None:
        return False
    return set(said) == set(right) if wanted.type == "set" else said == right


def _members(value: object, edges: bool) -> list[str] | None:
    """Return the folded members of a list, or of a string that lists them; None for anything else."""
    if isinstance(value, str):
        stripped = value[:_LONGEST_LIST].strip().strip("[](){}")
        value = [part for part in (_EDGES if edges else _PARTS).split(stripped) if part]
    if not isinstance(value, list | tuple):
        return None
    members = [_edge(each) if edges else _name(each) for each in value]
    known = [each for each in members if each is not None]
    return known if len(known) == len(members) else None


def _edge(value: object) -> str | None:
    """Return a link with its ends in order; a link may come as ``"A-B"`` or as a pair."""
    ends: Iterable[object] = _ENDS.split(plain_characters(value)) if isinstance(value, str) else ()
    if isinstance(value, list | tuple | dict):
        ends = list(value.values()) if isinstance(value, dict) else value
    names = [_name(each) for each in ends]
    known = [each for each in names if each is not None]
    return "-".join(sorted(known)) if known and len(known) == len(names) else None
