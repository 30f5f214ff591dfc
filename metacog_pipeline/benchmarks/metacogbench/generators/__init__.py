"""New items of tiers 1a, 1b and 3 from a seed; no study imports them. The shipped ones are made from seeds 20 and 21.

``questions`` makes those of 1a and 1b; ``stories`` and ``networks`` hold the structures of tier 3, whose instances
``engine`` accepts and puts into words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from metacog_pipeline.benchmarks.metacogbench.generators.engine import story
from metacog_pipeline.benchmarks.metacogbench.generators.questions import BETTING, EXACT, bet, prediction
from metacog_pipeline.benchmarks.metacogbench.generators.stories import STRUCTURES as STRUCTURES
from metacog_pipeline.benchmarks.metacogbench.items import Item, changed, shipped_items
from metacog_pipeline.errors import StudyError

#: By tier, what makes an item of a generator and a seed.
GENERATORS: Mapping[str, Mapping[str, Callable[..., Item]]] = {
    "1a": {name: partial(bet, name) for name in BETTING},
    "1b": {name: partial(prediction, name) for name in EXACT},
    "3": {name: partial(story, each) for name, each in STRUCTURES.items()},
}
_BLOCK = 1_000_003  # how far a seed that ships is moved on


def generate(tier: str, seed: int, *, generators: Iterable[str] = ()) -> list[Item]:
    """Return new items of a tier, one per generator, no shipped item among them.

    StudyError: for a tier whose items are written by hand, or an unknown generator.
    """
    if tier not in GENERATORS:
        raise StudyError(f"tier {tier}: its items are written by hand; fresh ones: {', '.join(GENERATORS)}")
    known = GENERATORS[tier]
    names = tuple(generators) or tuple(known)
    if unknown := [name for name in names if name not in known]:
        raise StudyError(f"tier {tier} has no generator {unknown[0]!r}; there are: {', '.join(known)}")
    stems = {item.stem for item in shipped_items()}
    found: list[Item] = []
    for name in names:
        own = seed
        while (item := known[name](own)).stem in stems:
            own += _BLOCK
        found.append(changed(item, position=len(found)))
    return found
