"""Which generated items ship, from which generator and seed, and new items from other seeds.

``python -m metacog_pipeline.benchmarks.metacogbench.generators.making`` writes
the generated files of the checkout anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from metacog_pipeline.benchmarks.metacogbench.construction import shipped
from metacog_pipeline.benchmarks.metacogbench.generators import betting, exact
from metacog_pipeline.benchmarks.metacogbench.generators.stories import STRUCTURES
from metacog_pipeline.benchmarks.metacogbench.generators.stories.structure import make
from metacog_pipeline.benchmarks.metacogbench.items import SETS, Item, changed
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import write_text

SHIPPED_SEED = 20
GENERATORS: dict[str, tuple[str, ...]] = {
    "1a": tuple(betting.BETTING),
    "1b": tuple(exact.EXACT),
    "3": tuple(STRUCTURES),
}
_BLOCK = 1_000_003  # how far a seed that ships is moved on
# Of tiers 1b and 3 in the small set.
_SMALL = (
    *("sum_of_two", "product_3x2", "knights_2", "product_4x4", "half_life", "product_5x5", "weekday"),
    *("collatz", "max_flow", "optimal_stopping", "stable_matching", "voting_rules"),
)


class Planned(NamedTuple):
    """One generated item: its name, what makes it, whether the small set has it too, and its twin."""

    item_id: str
    tier: str
    generator: str
    seed: int = SHIPPED_SEED
    small: bool = False
    twin_of: str = ""


PLAN: tuple[Planned, ...] = (
    *(
        Planned(f"bet.ramp.{ladder}.{n}x{n}", "1a", f"ramp_{n}", SHIPPED_SEED - 1 + ladder, ladder == 1)
        for ladder in (1, 2)
        for n in (2, 3, 4, 5)
    ),
    Planned("bet.fabrication.1", "1a", "fabricated_shorebirds", small=True),
    Planned("bet.fabrication.2", "1a", "fabricated_lattices", small=True),
    Planned("bet.fabrication.3", "1a", "fabricated_salt_road"),
    Planned("bet.missing.1", "1a", "cyclists", small=True),
    Planned("bet.missing.twin.1", "1a", "cyclists_complete", twin_of="bet.missing.1"),
    Planned("bet.missing.2", "1a", "tea", small=True),
    Planned("bet.missing.twin.2", "1a", "tea_complete", twin_of="bet.missing.2"),
    Planned("bet.missing.3", "1a", "fence"),
    Planned("bet.premise.1", "1a", "handshakes"),
    Planned("bet.premise.twin.1", "1a", "handshakes_complete", twin_of="bet.premise.1"),
    Planned("bet.premise.2", "1a", "ages"),
    *(Planned(f"predict.{name}", "1b", name, small=name in _SMALL) for name in exact.EXACT),
    *(Planned(f"transfer.{name}", "3", name, small=name in _SMALL) for name in STRUCTURES),
)


def made(planned: Planned) -> Item:
    """Return the item a plan names, made anew."""
    item = make_item(planned.tier, planned.generator, planned.seed, planned.item_id)
    sets = ("metacog147", "metacog41") if planned.small else SETS[:1]
    return changed(item, sets=sets, twin_of=planned.twin_of)


def make_item(tier: str, generator: str, seed: int, item_id: str = "") -> Item:
    """Return the item of a generator and seed; raises KeyError for a generator the tier does not have."""
    if tier == "1a":
        return betting.generated(generator, seed, item_id)
    if tier == "1b":
        return exact.generated(generator, seed, item_id)
    return make(STRUCTURES[generator], seed, item_id).item


def generate(tier: str, seed: int, *, generators: Iterable[str] = ()) -> list[Item]:
    """Return new items of a tier, one per generator, no shipped item among them.

    StudyError: for a tier whose items are written by hand, or an unknown generator.
    """
    if tier not in GENERATORS:
        raise StudyError(f"tier {tier}: its items are written by hand; fresh ones: {', '.join(GENERATORS)}")
    names = tuple(generators) or GENERATORS[tier]
    if unknown := [name for name in names if name not in GENERATORS[tier]]:
        known = ", ".join(GENERATORS[tier])
        raise StudyError(f"tier {tier} has no generator {unknown[0]!r}; there are: {known}")
    stems = {item.stem for item in shipped.shipped_items()}
    found: list[Item] = []
    for name in names:
        own = seed
        while (item := make_item(tier, name, own)).stem in stems:
            own += _BLOCK
        found.append(changed(item, position=len(found)))
    return found


def write_generated(folder: Path) -> None:
    """Write the generated items of the plan to ``folder``, a file per tier."""
    for tier, name in shipped.GENERATED.items():
        items = [made(planned) for planned in PLAN if planned.tier == tier]
        heading = f"Tier {tier}, made by code: do not edit; generator and seed stand with every item."
        write_text(folder / name, shipped.to_toml(items, heading))


if __name__ == "__main__":
    write_generated(shipped.items_folder())
