"""How a study comes by its items: ``shipped`` reads their texts, ``invariants`` holds them to their rules.

What wrote the generated ones stands in ``generators``, outside this path. The one step of the pipeline takes the items of
the study's set.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from metacog_pipeline.benchmark.contract import Check, Checked, Inputs, Made, Step
from metacog_pipeline.benchmark.seeded_sample import seeded_sample
from metacog_pipeline.benchmarks.metacogbench.construction import invariants, shipped
from metacog_pipeline.benchmarks.metacogbench.items import TIERS, Item, changed

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.metacogbench import MetaCogBench

_SHOWN = 20  # broken rules that are listed


def chosen_items(item_set: str, seed: int = 0, limit: int | None = None) -> list[Item]:
    """Return the items of a set as they are asked: at most ``limit`` of a tier, drawn by ``seed``; a larger only adds."""
    items = shipped.items_of(item_set)
    if limit is not None:
        kept = set[str]()
        for tier in TIERS:
            own = (item.item_id for item in items if item.tier == tier)
            kept |= {*seeded_sample(own, limit, seed, f"metacogbench:{tier}")}
        items = [item for item in items if item.item_id in kept]
    placed = (changed(item, dataset=item_set, position=place) for place, item in enumerate(items))
    return [shuffled(item, seed) for item in placed]


def shuffled(item: Item, seed: int) -> Item:
    """Return the item with the options of its probe in the order the seed draws."""
    if not item.options:
        return item
    roles = {option.role: option for option in item.options}
    drawn = seeded_sample(sorted(roles), len(roles), seed, f"metacogbench:probe:{item.item_id}")
    return changed(item, options=tuple(roles[role] for role in drawn))


@cache
def violations(item_set: str) -> tuple[str, ...]:
    """Return a line per rule the set breaks, whatever part of it a study asks."""
    items = shipped.items_of(item_set)
    known = {item.item_id for item in items}
    # The small set has no twins: a twin's partner may be missing there, a partner's twin always is.
    whole = [item if item.twin_of in known else changed(item, twin_of="") for item in items]
    return tuple(invariants.check(whole, item_set))


def _items(bench: MetaCogBench, inputs: Inputs) -> Made:
    settings = bench.settings
    items = chosen_items(settings.dataset, bench.context.seed, settings.limit)
    counts = {tier: sum(item.tier == tier for item in items) for tier in TIERS}
    broken = violations(settings.dataset)
    held = Checked(not broken, {f"violation {n}": line for n, line in enumerate(broken[:_SHOWN], 1)})
    return Made(items, facts={"dataset": settings.dataset, **counts}, checks={"invariants_hold": held})


_HOLD = Check(
    "Every answer is the computed one, every twin has its partner, no hint names what is hidden.",
    blocking=True,
)
STEPS = (
    Step(
        "items", "The tasks of the five tiers, all written for this project; answers computed wherever they can be.",
        _items, writes=Item, checks={"invariants_hold": _HOLD}, inputs=lambda bench: sorted(shipped.digests().items()),
    ),
)  # fmt: skip
