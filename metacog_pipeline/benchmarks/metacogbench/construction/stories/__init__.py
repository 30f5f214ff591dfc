"""Generators of tier 3: a latent structure, told as a story, solved twice.

Each module holds structures of one kind; `STRUCTURES` names them all. An instance is accepted only when its solution is
unique in the listed fields, no value is printed in the story, an independent algorithm agrees, and neither the
shortcuts of that structure nor random plausible replies earn a pass.
"""

from __future__ import annotations

from metacog_pipeline.benchmarks.metacogbench.construction.stories.chance import CHANCE
from metacog_pipeline.benchmarks.metacogbench.construction.stories.common import Structure
from metacog_pipeline.benchmarks.metacogbench.construction.stories.games import GAMES
from metacog_pipeline.benchmarks.metacogbench.construction.stories.networks import NETWORKS
from metacog_pipeline.benchmarks.metacogbench.construction.stories.packing import PACKING
from metacog_pipeline.benchmarks.metacogbench.construction.stories.pairing import PAIRING
from metacog_pipeline.benchmarks.metacogbench.construction.stories.planning import PLANNING

STRUCTURES: dict[str, Structure] = {
    each.name: each for each in (*NETWORKS, *PACKING, *PAIRING, *PLANNING, *CHANCE, *GAMES)
}
