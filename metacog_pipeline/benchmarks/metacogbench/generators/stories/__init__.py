"""Generators of tier 3: a latent structure, told as a story, solved twice.

Each module holds structures of one kind; `STRUCTURES` names them all. An instance is accepted only when its solution is
unique in the listed fields, no value is printed in the story, an independent algorithm agrees, and neither the
shortcuts of that structure nor random plausible replies earn a pass.
"""

from __future__ import annotations

from metacog_pipeline.benchmarks.metacogbench.generators.stories import (
    chance,
    games,
    networks,
    packing,
    pairing,
    planning,
)
from metacog_pipeline.benchmarks.metacogbench.generators.stories.structure import Structure

STRUCTURES: dict[str, Structure] = {
    each.name: each
    for each in (
        *networks.NETWORKS,
        *packing.PACKING,
        *pairing.PAIRING,
        *planning.PLANNING,
        *chance.CHANCE,
        *games.GAMES,
    )
}
