"""What the stories of tier 3 share: a latent structure, and how an instance of it is accepted."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from metacog_pipeline.benchmarks.metacogbench.construction.field_values import bounds, printed, right
from metacog_pipeline.benchmarks.metacogbench.generators import wording
from metacog_pipeline.benchmarks.metacogbench.items import Field, Item, Provenance

Params = dict[str, Any]
Answer = tuple[Any, ...]

ATTEMPTS = 4000
RANDOM_REPLIES = 200
MOST_RANDOM_PASSES = 0.10  # share of random replies that may pass by luck


@dataclass(frozen=True, slots=True)
class Structure:
    """A latent structure that is told as a story; its words stand in ``stories.toml`` under its name.

    ``draw`` gives random parameters, JSON values only; ``solve`` the values of the fields in their order, None where it
    rejects the parameters (not unique, too easy); ``brute`` the same values by another algorithm, usually exhaustive;
    ``naive`` replies of shortcuts that a reader without the structure would take, None where a field is missing;
    ``told`` what the words need besides the parameters.
    """

    name: str
    draw: Callable[[random.Random], Params]
    solve: Callable[[Params], Answer | None]
    brute: Callable[[Params], Answer]
    naive: Callable[[Params], list[Answer]]
    told: Callable[[Params], Params] = lambda params: {}


class Instance(NamedTuple):
    """An accepted instance."""

    params: Params
    item: Item


def make(structure: Structure, seed: int, item_id: str = "") -> Instance:
    """Return the first acceptable instance of ``seed``; equal seeds give equal items.

    ValueError: if solver and independent check disagree, or no attempt is acceptable; neither is expected to happen.
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
        return Instance(params, item)
    raise ValueError(f"{structure.name}, seed {seed}: no acceptable instance in {ATTEMPTS} attempts")


def _item(structure: Structure, params: Params, answer: Answer, seed: int, item_id: str) -> Item:
    name = structure.name
    stem, fields = wording.story(name, {**params, **structure.told(params)})
    solved = tuple(replace(f, value=_plain(v)) for f, v in zip(fields, answer, strict=True))
    made = Provenance(name, seed, f"{name}.brute")
    return Item(
        item_id=item_id or f"transfer.{name}.{seed}", tier="3", stem=stem, structure=name, fields=solved, provenance=made
    )  # fmt: skip


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


def agree(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Whether two solutions hold the same values; floats to 1e-6 relative."""
    return len(first) == len(second) and all(map(_same, first, second))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        return abs(float(a) - float(b)) <= 1e-6 * max(1.0, abs(float(b)))
    return bool(_plain(a) == _plain(b))


def passes(fields: Sequence[Field], reply: Sequence[Any]) -> bool:
    """Whether at least 60 % of the fields are right, in whole numbers; ``reply`` holds values in their order."""
    return _enough(sum(map(right, fields, reply)), fields)


def _enough(hits: int, fields: Sequence[Field]) -> bool:
    return 5 * hits >= 3 * len(fields)


def random_score(
    fields: Sequence[Field], rng: random.Random, replies: int = RANDOM_REPLIES
) -> tuple[float, float]:
    """Return the mean share of fields right and the share of passes of random plausible replies."""
    hits = [sum(right(each, plausible(each, rng)) for each in fields) for _ in range(replies)]
    return sum(hits) / (replies * len(fields)), sum(_enough(each, fields) for each in hits) / replies


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
