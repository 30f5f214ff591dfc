"""From the shipped texts to the items of a study on disk, and fresh variants from seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from metacog_pipeline.benchmarks.common.draw import draw
from metacog_pipeline.benchmarks.metacogbench.construction import texts
from metacog_pipeline.benchmarks.metacogbench.construction.files import items_path, write_items
from metacog_pipeline.benchmarks.metacogbench.construction.invariants import check
from metacog_pipeline.benchmarks.metacogbench.construction.plan import GENERATORS, make_item
from metacog_pipeline.benchmarks.metacogbench.items import DIFFICULTIES, FAMILIES, SETS, TIERS, Item
from metacog_pipeline.errors import StudyError

CONSTRUCTION_VERSION = "1"


@dataclass(frozen=True, slots=True)
class Built:
    """The items of a study. ``counts`` are items per tier; ``violations`` lines of `invariants.check`."""

    items: tuple[Item, ...]
    counts: Mapping[str, int]
    violations: tuple[str, ...]


def construct(home: Path, set: str = "metacog147", *, seed: int = 0, limit: int | None = None) -> Built:
    """Build the items of a set and write them to `items_path`.

    Parameters
    ----------
    limit
        At most so many items per tier, drawn by ``seed``; a larger number only adds. None: all.

    Raises
    ------
    StudyError
        For an unknown set.
    SourceError
        If a shipped text cannot be read.
    """
    whole = items_of(set)
    chosen = whole if limit is None else _limited(whole, seed, limit)
    items = tuple(replace(item, position=place) for place, item in enumerate(chosen))
    write_items(items_path(home), items, set)
    counts = {tier: sum(item.tier == tier for item in items) for tier in TIERS}
    # Rules about numbers of items hold of the whole set, whatever part of it a study asks.
    return Built(items, counts, _violations(set))


def items_of(item_set: str) -> list[Item]:
    """Return the items of a set, tier by tier; raises StudyError for an unknown set."""
    if item_set not in SETS:
        raise StudyError(f"metacogbench: unknown set {item_set!r}; there are: {', '.join(SETS)}")
    members = [item for item in shipped_items() if item_set in item.sets]
    return sorted(members, key=_place)


def _place(item: Item) -> tuple[int, int]:
    """Sort by tier, then by family or difficulty; within these the order of the files stays."""
    if item.tier == "1a":
        return 0, FAMILIES.index(item.family)
    return TIERS.index(item.tier), DIFFICULTIES.index(item.difficulty) if item.tier == "1b" else 0


@cache
def shipped_items() -> tuple[Item, ...]:
    """Return all shipped items in the order of the files."""
    return tuple(item for path in texts.shipped_files() for item in texts.read_texts(path))


@cache
def _violations(item_set: str) -> tuple[str, ...]:
    items = items_of(item_set)
    known = {item.item_id for item in items}
    # The small set has no twins: a twin's partner may be missing there, a partner's twin always is.
    return tuple(check([i if i.twin_of in known else replace(i, twin_of="") for i in items], item_set))


def input_digests() -> dict[str, str]:
    """Return the SHA-256 of every file the items are built from."""
    return texts.digests()


def _limited(items: Iterable[Item], seed: int, limit: int) -> list[Item]:
    listed = list(items)
    kept: list[str] = []
    for tier in TIERS:
        kept += draw(
            (item.item_id for item in listed if item.tier == tier), limit, seed, f"metacogbench:{tier}"
        )
    wanted = frozenset(kept)
    return [item for item in listed if item.item_id in wanted]


def generate(tier: str, seed: int, *, generators: Iterable[str] = ()) -> list[Item]:
    """Return fresh items of a tier, one per generator; no shipped item among them.

    Raises
    ------
    StudyError
        For a tier whose items are written by hand, or an unknown generator.
    """
    if tier not in GENERATORS:
        raise StudyError(f"tier {tier}: its items are written by hand; fresh ones: {', '.join(GENERATORS)}")
    names = tuple(generators) or GENERATORS[tier]
    for name in names:
        if name not in GENERATORS[tier]:
            raise StudyError(
                f"tier {tier} has no generator {name!r}; there are: {', '.join(GENERATORS[tier])}"
            )
    shipped = {item.stem for item in shipped_items()}
    # Stems of shipped seeds are moved on by a whole block, so that a fresh item is never one that ships.
    made: list[Item] = []
    for name in names:
        fresh = seed
        while (item := make_item(tier, name, fresh)).stem in shipped:
            fresh += 1_000_003
        made.append(replace(item, position=len(made)))
    return made
