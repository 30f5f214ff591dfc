"""What the stories of tier 3 share: a structure, how an instance is accepted, and the words it may not use."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from metacog_pipeline.benchmarks.metacogbench.items import Field, Item, Provenance
from metacog_pipeline.benchmarks.metacogbench.parsing.numbers import UNITS

Params = dict[str, Any]
Answer = dict[str, Any]

ATTEMPTS = 4000
RANDOM_REPLIES = 200
MOST_RANDOM_PASSES = 0.10  # share of random replies that may pass by luck
SLACK = 1e-9
_WORDS = [*UNITS, "twenty"]
PLACES = [
    "Aldery",
    "Brask",
    "Corvel",
    "Dunmoor",
    "Elvane",
    "Farrow",
    "Gelm",
    "Harle",
    "Inver",
    "Jorvey",
    "Kestle",
    "Lorne",
    "Maddoc",
    "Nesby",
    "Orrin",
    "Pell",
    "Quarn",
    "Rusk",
    "Selby",
    "Tarn",
    "Ulver",
    "Vane",
    "Wexe",
    "Yarrow",
]
PEOPLE = [
    "Abena",
    "Bruno",
    "Chiara",
    "Dmitri",
    "Esme",
    "Farid",
    "Greta",
    "Hana",
    "Ivo",
    "Jonas",
    "Kofi",
    "Leda",
    "Mina",
    "Nils",
    "Oona",
    "Pavel",
    "Quinn",
    "Rosa",
    "Samir",
    "Tove",
    "Uma",
    "Viktor",
    "Wanda",
    "Yusuf",
]


@dataclass(frozen=True, slots=True)
class Structure:
    """A latent structure that can be told as a story.

    Attributes
    ----------
    draw
        Random parameters, JSON values only.
    solve
        The values of the fields; None rejects the parameters (not unique, too easy).
    brute
        The same values by another algorithm, usually exhaustive.
    naive
        Replies of shortcuts that a reader without the structure would take; a field may be missing.
    story
        The stem: all data, no name of the concept, no hint at a method.
    fields
        The fields without values.
    hidden
        Words the stem must not hold, besides `HIDDEN`.
    """

    name: str
    draw: Callable[[random.Random], Params]
    solve: Callable[[Params], Answer | None]
    brute: Callable[[Params], Answer]
    naive: Callable[[Params], list[Answer]]
    story: Callable[[Params], str]
    fields: Callable[[Params], tuple[Field, ...]]
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Made:
    """An accepted instance."""

    structure: Structure
    params: Params
    item: Item
    attempt: int


def make(structure: Structure, seed: int, item_id: str = "") -> Made:
    """Return the first acceptable instance of ``seed``; equal seeds give equal items.

    Raises
    ------
    ValueError
        If solver and independent check disagree, or no attempt is acceptable; neither is expected to happen.
    """
    for attempt in range(ATTEMPTS):
        params = structure.draw(random.Random(f"{structure.name}:{seed}:{attempt}"))
        answer = structure.solve(params)
        if answer is None:
            continue
        item = _item(structure, params, answer, seed, item_id)
        if not acceptable(structure, params, item):
            continue
        checked = structure.brute(params)
        if not agree(answer, checked):
            raise ValueError(f"{structure.name}, seed {seed}: solver {answer} but exhaustive check {checked}")
        return Made(structure, params, item, attempt)
    raise ValueError(f"{structure.name}, seed {seed}: no acceptable instance in {ATTEMPTS} attempts")


def _item(structure: Structure, params: Params, answer: Answer, seed: int, item_id: str) -> Item:
    fields = tuple(replace(each, value=_value(answer[each.name])) for each in structure.fields(params))
    return Item(
        item_id=item_id or f"transfer.{structure.name}.{seed}",
        tier="3",
        stem=structure.story(params),
        structure=structure.name,
        fields=fields,
        provenance=Provenance(structure.name, seed, f"{structure.name}.brute"),
    )


def _value(value: Any) -> Any:
    return tuple(value) if isinstance(value, (list, tuple, set, frozenset)) else value


def acceptable(structure: Structure, params: Params, item: Item) -> bool:
    """Whether no value is printed in the stem and neither a shortcut nor luck earns a pass."""
    if any(printed(each, item.stem) for each in item.fields):
        return False
    if any(passes(item.fields, reply) for reply in structure.naive(params)):
        return False
    mean, passed = random_score(item.fields, random.Random(item.stem))
    return mean < 0.6 and passed <= MOST_RANDOM_PASSES


def agree(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether two solutions hold the same values; floats to 1e-6 relative."""
    return first.keys() == second.keys() and all(_same(first[name], second[name]) for name in first)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        return abs(float(a) - float(b)) <= 1e-6 * max(1.0, abs(float(b)))
    return bool(_value(a) == _value(b))


def right(field: Field, value: Any) -> bool:
    """Whether a plain value, of the field's type already, is the one asked for."""
    if value is None or isinstance(value, bool) != (field.type == "bool"):
        return False
    if field.type in ("int", "float"):
        low, high = bounds(field)
        return low - SLACK <= float(value) <= high + SLACK
    if field.type == "set":
        wanted = {_end(field, each) for each in field.value or ()}  # type: ignore[union-attr]
        return {_end(field, each) for each in value} == wanted
    return bool(_value(value) == field.value)


def bounds(field: Field) -> tuple[float, float]:
    """Return the interval of a numeric field, both ends inside."""
    if field.range is not None:
        return field.range
    key = float(field.value)  # type: ignore[arg-type]
    room = max(field.abs_tol, field.rel_tol * abs(key))
    return key - room, key + room


def _end(field: Field, member: Any) -> Any:
    return "-".join(sorted(str(member).split("-"))) if field.edges else member


def passes(fields: Sequence[Field], reply: Mapping[str, Any]) -> bool:
    """Whether at least 60 % of the fields are right, in whole numbers."""
    return 5 * sum(right(each, reply.get(each.name)) for each in fields) >= 3 * len(fields)


def random_score(
    fields: Sequence[Field], rng: random.Random, replies: int = RANDOM_REPLIES
) -> tuple[float, float]:
    """Return the mean share of fields right and the share of passes of random plausible replies."""
    earned = passed = 0
    for _ in range(replies):
        reply = {each.name: plausible(each, rng) for each in fields}
        earned += sum(right(each, reply[each.name]) for each in fields)
        passed += passes(fields, reply)
    return earned / (replies * len(fields)), passed / replies


def plausible(field: Field, rng: random.Random) -> Any:
    """Return a value of the right kind and about the right size."""
    if field.type == "bool":
        return rng.random() < 0.5
    if field.type in ("enum", "string"):
        return rng.choice(field.options)
    if field.type in ("list", "set"):
        size = len(field.value) if isinstance(field.value, tuple) else 1
        return tuple(rng.sample(field.options, min(len(field.options), max(1, size + rng.randint(-1, 1)))))
    low, high = bounds(field)
    key = (low + high) / 2
    guess = rng.uniform(key - max(2.0, 0.4 * abs(key)), key + max(2.0, 0.4 * abs(key)))
    return round(guess) if field.type == "int" else guess


def printed(field: Field, stem: str) -> bool:
    """Whether a numeric value stands in the stem, in digits or as a word up to twenty."""
    if field.type not in ("int", "float"):
        return False
    if any(right(replace(field, range=None), float(token)) for token in re.findall(r"\d+(?:\.\d+)?", stem)):
        return True
    words = set(re.findall(r"[a-z]+", stem.lower()))
    return any(
        right(replace(field, range=None), float(number))
        for number, word in enumerate(_WORDS)
        if word in words
    )


def whole(name: str, description: str, unit: str = "", *, core: bool = False) -> Field:
    """Return a whole-number field."""
    return Field(name, "int", unit=unit, core=core, description=description)


def real(name: str, description: str, unit: str, tol: float, *, core: bool = False) -> Field:
    """Return a decimal field with an absolute tolerance."""
    return Field(name, "float", unit=unit, abs_tol=tol, core=core, description=description)


def members(
    name: str, description: str, options: Sequence[str], *, core: bool = False, edges: bool = False
) -> Field:
    """Return a field whose value is a set of names."""
    return Field(name, "set", options=tuple(options), core=core, edges=edges, description=description)


def one_of(name: str, description: str, options: Sequence[str], *, core: bool = False) -> Field:
    """Return a field whose value is one of the names."""
    return Field(name, "enum", options=tuple(options), core=core, description=description)


def listed(lines: Sequence[str]) -> str:
    """Return lines as a list below a paragraph."""
    return "\n" + "\n".join(f"- {line}" for line in lines)


def joined(names: Sequence[str]) -> str:
    """Return names as ``A, B and C``."""
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
