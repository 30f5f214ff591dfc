"""Items from a seed: a table of structures (draw, solve, shortcuts, wording) and one engine that accepts their instances.

Words and names are in ``data/metacogbench/construction``. An instance of tier 3 is accepted only if its solution is unique
in the listed fields, no value is printed in the story, and neither the shortcuts of its structure nor random plausible
replies earn a pass. The tests solve every item again by another method.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from metacog_pipeline.benchmarks.metacogbench.items import Field, Item, Provenance
from metacog_pipeline.files import shipped
from metacog_pipeline.reading.numbers import ONES

Params = dict[str, Any]
Answer = tuple[Any, ...]
ATTEMPTS = 4000
RANDOM_REPLIES = 200
MOST_RANDOM_PASSES = 0.10  # share of random replies that may pass by luck
SLACK = 1e-9
CHECKED = "solved again by another method in the tests"
_WORDS = (*ONES, "twenty")


# --- words ------------------------------------------------------------------------------------------------------------
class Names(tuple[Any, ...]):
    """Names that print as ``A, B and C``, or joined by the format specification: ``{names:, then }``."""

    def __format__(self, spec: str) -> str:
        """Return the names as one text."""
        return spec.join(self) if spec else joined(self)


def joined(names: Sequence[str]) -> str:
    """Return names as ``A, B and C``."""
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


@cache
def read(name: str) -> dict[str, Any]:
    """Return a file of words as the tables it holds."""
    path = shipped("data", "metacogbench", "construction", f"{name}.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


NAMES: dict[str, list[str]] = read("names")


def printable(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with their lists as `Names`."""
    return {name: _printable(value) for name, value in values.items()}


def _printable(value: Any) -> Any:
    return Names(map(_printable, value)) if isinstance(value, (list, tuple)) else value


# --- stories of tier 3 ------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Structure:
    """A latent structure in the words of a story; its words are in ``stories.toml`` under its name.

    ``draw`` gives random parameters; ``solve`` the values of the fields in their order, None where it rejects the
    parameters (not unique, too easy); ``told`` what the words need besides the parameters; ``naive`` replies of shortcuts
    that a reader without the structure would take, None where a field is missing. It is left out where no shortcut has
    passed any of 30 fresh instances.
    """

    name: str
    draw: Callable[[random.Random], Params]
    solve: Callable[[Params], Answer | None]
    told: Callable[[Params], Params] = lambda params: {}
    naive: Callable[[Params], list[Answer]] = lambda params: []


def make(structure: Structure, seed: int, item_id: str = "") -> tuple[Params, Item]:
    """Return the first acceptable instance of ``seed``, its parameters and its item; equal seeds give equal items."""
    for attempt in range(ATTEMPTS):
        params = structure.draw(random.Random(f"{structure.name}:{seed}:{attempt}"))
        answer = structure.solve(params)
        if answer is not None:
            item = _item(structure, params, answer, seed, item_id)
            if acceptable(structure, params, item):
                return params, item
    raise ValueError(f"{structure.name}, seed {seed}: no acceptable instance in {ATTEMPTS} attempts")


def story(structure: Structure, seed: int, item_id: str = "") -> Item:
    """Return the item of a structure and a seed."""
    return make(structure, seed, item_id)[1]


def _item(structure: Structure, params: Params, answer: Answer, seed: int, item_id: str) -> Item:
    words = read("stories")[structure.name]
    told = printable({**params, **structure.told(params)})
    for name, line in words.get("lines", {}).items():
        told[name] = "\n".join("- " + line.format(*row) for row in told[name])
    fields = [_field(each, told, value) for each, value in zip(words["fields"], answer, strict=True)]
    return Item(
        item_id=item_id or f"transfer.{structure.name}.{seed}", tier="3", stem=words["story"].format_map(told),
        structure=structure.name, fields=tuple(fields), provenance=Provenance(structure.name, seed, CHECKED),
    )  # fmt: skip


def _field(record: Mapping[str, Any], told: Mapping[str, Any], value: Any) -> Field:
    options = tuple(told[record["options"]]) if "options" in record else ()
    about = record["description"].format_map(told)
    return Field(**{**record, "description": about, "options": options, "value": _plain(value)})


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, (list, tuple, set, frozenset)) else value


def acceptable(structure: Structure, params: Params, item: Item) -> bool:
    """Whether no value is printed in the stem and neither a shortcut nor luck earns a pass."""
    if any(printed(each, item.stem) for each in item.fields):
        return False
    if any(passes(item.fields, reply) for reply in structure.naive(params)):
        return False
    mean, passed = random_score(item.fields, random.Random(item.stem))
    return mean < 0.6 and passed <= MOST_RANDOM_PASSES


def passes(fields: Sequence[Field], reply: Sequence[Any]) -> bool:
    """Whether at least 60 % of the fields are right, in whole numbers; ``reply`` holds values in their order."""
    return 5 * sum(map(right, fields, reply)) >= 3 * len(fields)


def random_score(
    fields: Sequence[Field], rng: random.Random, replies: int = RANDOM_REPLIES
) -> tuple[float, float]:
    """Return the mean share of fields right and the share of passes of random plausible replies."""
    hits = [sum(right(each, plausible(each, rng)) for each in fields) for _ in range(replies)]
    enough = sum(5 * each >= 3 * len(fields) for each in hits)
    return sum(hits) / (replies * len(fields)), enough / replies


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


def right(field: Field, value: Any) -> bool:
    """Whether a plain value, of the field's type already, is the one asked for."""
    if value is None or isinstance(value, bool) != (field.type == "bool"):
        return False
    if field.type in ("int", "float"):
        low, high = bounds(field)
        return low - SLACK <= float(value) <= high + SLACK
    if field.type == "set":
        wanted = {_end(field, each) for each in _plain(field.value) or ()}
        return {_end(field, each) for each in value} == wanted
    return bool(_plain(value) == field.value)


def bounds(field: Field) -> tuple[float, float]:
    """Return the interval of a numeric field, both ends inside."""
    if field.range is not None:
        return field.range
    key = float(field.value)  # type: ignore[arg-type]
    room = max(field.abs_tol, field.rel_tol * abs(key))
    return key - room, key + room


def _end(field: Field, member: Any) -> Any:
    return "-".join(sorted(str(member).split("-"))) if field.edges else member


def printed(field: Field, stem: str) -> bool:
    """Whether a numeric value is in the stem, in digits or as a word up to twenty."""
    if field.type not in ("int", "float"):
        return False
    plain = replace(field, range=None)
    if any(right(plain, float(token)) for token in re.findall(r"\d+(?:\.\d+)?", stem)):
        return True
    words = set(re.findall(r"[a-z]+", stem.lower()))
    return any(right(plain, float(number)) for number, word in enumerate(_WORDS) if word in words)
