"""Which generated items ship, from which generator and seed; the texts they give stand as data beside the authored."""

from __future__ import annotations

from dataclasses import dataclass, replace

from metacog_pipeline.benchmarks.metacogbench.construction import betting, exact
from metacog_pipeline.benchmarks.metacogbench.construction.stories import STRUCTURES
from metacog_pipeline.benchmarks.metacogbench.construction.stories.structure import make
from metacog_pipeline.benchmarks.metacogbench.items import Item

BOTH = ("metacog147", "metacog41")
SHIPPED_SEED = 20


@dataclass(frozen=True, slots=True)
class Planned:
    """One generated item: its name, what makes it, whether the small set has it too, and its twin."""

    item_id: str
    tier: str
    generator: str
    seed: int
    small: bool = False
    twin_of: str = ""


def _ladders() -> list[Planned]:
    return [
        Planned(f"bet.ramp.{ladder}.{digits}x{digits}", "1a", f"ramp_{digits}", seed, small=ladder == 1)
        for ladder, seed in ((1, SHIPPED_SEED), (2, SHIPPED_SEED + 1))
        for digits in (2, 3, 4, 5)
    ]


PLAN: tuple[Planned, ...] = (
    *_ladders(),
    Planned("bet.fabrication.1", "1a", "fabricated_shorebirds", SHIPPED_SEED, small=True),
    Planned("bet.fabrication.2", "1a", "fabricated_lattices", SHIPPED_SEED, small=True),
    Planned("bet.fabrication.3", "1a", "fabricated_salt_road", SHIPPED_SEED),
    Planned("bet.missing.1", "1a", "cyclists", SHIPPED_SEED, small=True),
    Planned("bet.missing.twin.1", "1a", "cyclists_complete", SHIPPED_SEED, twin_of="bet.missing.1"),
    Planned("bet.missing.2", "1a", "tea", SHIPPED_SEED, small=True),
    Planned("bet.missing.twin.2", "1a", "tea_complete", SHIPPED_SEED, twin_of="bet.missing.2"),
    Planned("bet.missing.3", "1a", "fence", SHIPPED_SEED),
    Planned("bet.premise.1", "1a", "handshakes", SHIPPED_SEED),
    Planned("bet.premise.twin.1", "1a", "handshakes_complete", SHIPPED_SEED, twin_of="bet.premise.1"),
    Planned("bet.premise.2", "1a", "ages", SHIPPED_SEED),
    *(
        Planned(f"predict.{name}", "1b", name, SHIPPED_SEED, small=name in _SMALL)
        for _SMALL in [
            {
                "sum_of_two",
                "product_3x2",
                "knights_2",
                "product_4x4",
                "half_life",
                "product_5x5",
                "weekday",
                "collatz",
            }
        ]
        for name in exact.EXACT
    ),
    *(
        Planned(f"transfer.{name}", "3", name, SHIPPED_SEED, small=name in _SMALL)
        for _SMALL in [{"max_flow", "optimal_stopping", "stable_matching", "voting_rules"}]
        for name in STRUCTURES
    ),
)


def made(planned: Planned) -> Item:
    """Return the item a plan names, made anew."""
    item = make_item(planned.tier, planned.generator, planned.seed, planned.item_id)
    return replace(item, sets=BOTH if planned.small else BOTH[:1], twin_of=planned.twin_of)


def make_item(tier: str, generator: str, seed: int, item_id: str = "") -> Item:
    """Return a fresh item; raises KeyError for a generator the tier does not have."""
    if tier == "1a":
        return betting.generated(generator, seed, item_id)
    if tier == "1b":
        return exact.generated(generator, seed, item_id)
    return make(STRUCTURES[generator], seed, item_id).item


GENERATORS: dict[str, tuple[str, ...]] = {
    "1a": tuple(betting.BETTING),
    "1b": tuple(exact.EXACT),
    "3": tuple(STRUCTURES),
}
