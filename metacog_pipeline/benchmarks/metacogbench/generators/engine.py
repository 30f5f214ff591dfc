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
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from metacog_pipeline.benchmarks.metacogbench.items import Field, Item, Provenance
from metacog_pipeline.benchmarks.metacogbench.rules import fields_right
from metacog_pipeline.files import shipped
from metacog_pipeline.reading.numbers import ONES

ATTEMPTS = 4000
RANDOM_REPLIES = 200
MOST_RANDOM_PASSES = 0.10  # share of random replies that may pass by luck
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


def printable(value: Any) -> Any:
    """Return a value, or values by name, with lists as `Names`."""
    if isinstance(value, dict):
        return {name: printable(each) for name, each in value.items()}
    return Names(map(printable, value)) if isinstance(value, (list, tuple)) else value


# --- stories of tier 3 ------------------------------------------------------------------------------------------------
class Instance(NamedTuple):
    """One drawn instance of a latent structure, solved.

    ``params`` are what was drawn, ``answer`` the values of the fields in their order; ``told`` what the words need besides
    the parameters; ``naive`` replies of shortcuts that a reader without the structure would take, given where they pass
    more than one fresh instance in ten.
    """

    params: Mapping[str, Any]
    answer: Sequence[Any]
    told: Mapping[str, Any] = MappingProxyType({})
    naive: Sequence[Sequence[Any]] = ()


#: From a random source to an instance, None where the draw is rejected (not unique, too easy). Its name is that of its
#: words in ``stories.toml``.
Structure = Callable[[random.Random], Instance | None]


def make(structure: Structure, seed: int, item_id: str = "") -> tuple[Instance, Item]:
    """Return the first acceptable instance of ``seed`` and its item; equal seeds give equal items."""
    name = structure.__name__
    for attempt in range(ATTEMPTS):
        found = structure(random.Random(f"{name}:{seed}:{attempt}"))
        if found is not None and acceptable(found, item := _item(name, found, seed, item_id)):
            return found, item
    raise ValueError(f"{name}, seed {seed}: no acceptable instance in {ATTEMPTS} attempts")


def story(structure: Structure, seed: int, item_id: str = "") -> Item:
    """Return the item of a structure and a seed."""
    return make(structure, seed, item_id)[1]


def _item(name: str, found: Instance, seed: int, item_id: str) -> Item:
    words = read("stories")[name]
    told = printable({**found.params, **found.told})
    for rows, line in words.get("lines", {}).items():
        told[rows] = "\n".join("- " + line.format(*row) for row in told[rows])
    fields = [
        Field(
            **{
                **record,
                "description": record["description"].format_map(told),
                "options": tuple(told[record["options"]]) if "options" in record else (),
                "value": tuple(value) if isinstance(value, list) else value,
            }
        )
        for record, value in zip(words["fields"], found.answer, strict=True)
    ]
    return Item(
        item_id=item_id or f"transfer.{name}.{seed}", tier="3", stem=words["story"].format_map(told),
        structure=name, fields=tuple(fields), provenance=Provenance(name, seed, CHECKED),
    )  # fmt: skip


def acceptable(found: Instance, item: Item) -> bool:
    """Whether no value is printed in the stem and neither a shortcut nor luck earns a pass."""
    if any(printed(each, item.stem) for each in item.fields):
        return False
    if any(passes(item.fields, reply) for reply in found.naive):
        return False
    return random_passes(item.fields, random.Random(item.stem)) <= MOST_RANDOM_PASSES


def passes(fields: Sequence[Field], reply: Sequence[Any]) -> bool:
    """Whether a reply that holds values in the order of the fields passes."""
    return fields_right(fields, {each.name: value for each, value in zip(fields, reply, strict=True)}).passed


def random_passes(fields: Sequence[Field], rng: random.Random, replies: int = RANDOM_REPLIES) -> float:
    """Return the share of random plausible replies that pass."""
    return sum(passes(fields, [plausible(each, rng) for each in fields]) for _ in range(replies)) / replies


def plausible(field: Field, rng: random.Random) -> Any:
    """Return a value of the right kind and about the right size."""
    if field.type == "bool":
        return rng.random() < 0.5
    if field.type in ("enum", "string"):
        return rng.choice(field.options)
    if field.type in ("list", "set"):
        size = len(field.value) if isinstance(field.value, tuple) else 1
        return rng.sample(field.options, min(len(field.options), max(1, size + rng.randint(-1, 1))))
    key = float(field.value)  # type: ignore[arg-type]
    guess = rng.uniform(key - max(2.0, 0.4 * abs(key)), key + max(2.0, 0.4 * abs(key)))
    return round(guess) if field.type == "int" else guess


def printed(field: Field, stem: str) -> bool:
    """Whether a numeric value is in the stem, in digits or as a word up to twenty."""
    if field.type not in ("int", "float"):
        return False
    words = set(re.findall(r"[a-z]+", stem.lower()))
    said = [
        *map(float, re.findall(r"\d+(?:\.\d+)?", stem)),
        *(n for n, word in enumerate(_WORDS) if word in words),
    ]
    return any(passes([field], [number]) for number in said)
