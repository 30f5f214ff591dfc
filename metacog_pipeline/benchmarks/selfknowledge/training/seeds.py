"""Where every random number of a run comes from: the run's seed, the generation, the individual. Nothing else.

No generator is carried along, so results do not depend on how many workers there are, and any generation can be made
again from its number alone.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_BATCH, _INDIVIDUAL = b"batch", b"indiv"


@dataclass(frozen=True, slots=True)
class Individual:
    """One member of a population: the seed of its noise, whether it is added or subtracted, its rank (0: full)."""

    seed: int
    sign: int = 1
    rank: int = 0


def hash64(kind: bytes, *numbers: int) -> int:
    """Return 64 bits of BLAKE2b over signed 64-bit numbers; ``kind`` keeps uses apart."""
    packed = struct.pack(f"<{len(numbers)}q", *numbers)
    return int.from_bytes(hashlib.blake2b(packed, digest_size=8, person=kind).digest(), "little")


def population(
    run_seed: int, t: int, size: int, antithetic: bool = False, rank: int = 0
) -> tuple[Individual, ...]:
    """Return the individuals of generation ``t``; antithetic ones come in pairs (+eps, -eps)."""
    if size < 2 or (antithetic and size % 2):
        raise ValueError(f"population {size}: two or more needed, an even number of antithetic ones")
    if not antithetic:
        return tuple(Individual(hash64(_INDIVIDUAL, run_seed, t, i), 1, rank) for i in range(size))
    seeds = [hash64(_INDIVIDUAL, run_seed, t, i) for i in range(size // 2)]
    return tuple(Individual(seed, sign, rank) for seed in seeds for sign in (1, -1))


def batch(run_seed: int, t: int, size: int, items: int) -> NDArray[np.int64]:
    """Return the positions of the items of generation ``t``: the next slice of a reshuffled pass over all ``items``.

    The last slice of a pass is shorter where ``size`` does not divide ``items``.
    """
    if items < 1 or size < 1:
        raise ValueError(f"a batch of {size} of {items} items: at least one of each needed")
    slices = -(-items // size)
    turn, part = divmod(t, slices)
    bits = np.random.Philox(key=np.array([hash64(_BATCH, run_seed, turn), 0], dtype=np.uint64))
    order = np.argsort(bits.random_raw(items), kind="stable")
    return order[part * size : (part + 1) * size].astype(np.int64)
