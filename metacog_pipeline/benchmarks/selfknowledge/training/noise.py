"""Normal numbers that can be looked up: eps(seed, tensor name, element), the same on every device and in every split.

Philox4x64-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", SC '11) keyed by the seed and the
name turns the number of a block into 16 lanes of 16 bits; a lane is looked up in a table of 65,536 normal quantiles of
mean 0 and variance 1. Integers and one table only: no logarithm or cosine that a processor, a graphics card and their
libraries would round differently. NumPy's own Philox does the work on a processor, integer tensors elsewhere.
"""

from __future__ import annotations

import functools
import hashlib
import math
import sys
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtri
from torch import Tensor

LANES = 16  # normals per block of 4 × 64 bits
LEVELS = 1 << 16
GRID = float(1 << 20)  # table values are multiples of 1/GRID, so that the last digit of a library cannot show
TABLE_SHA256 = "e8cfff23047b7e58f6ae180f798c0bd13cfa7a46c5e6db798596865662071226"
_ROUNDS = 10
_MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
_LOW = 0xFFFFFFFF
_MASK = 0xFFFFFFFFFFFFFFFF


@functools.cache
def table() -> NDArray[np.float32]:
    """Return the 65,536 equally likely values: normal quantiles at the middles of equal steps, scaled to variance 1."""
    half = ndtri((np.arange(LEVELS // 2) + 0.5) / LEVELS)
    scaled = np.rint(half / np.sqrt(np.mean(half**2)) * GRID) / GRID
    values: NDArray[np.float32] = np.concatenate([scaled, -scaled[::-1]]).astype(np.float32)
    values.flags.writeable = False
    return values


@functools.cache
def name_key(name: str) -> int:
    """Return 64 bits for the name of a tensor."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8, person=b"tensor").digest(), "little")


def normals(seed: int, name: str, start: int, count: int, device: torch.device | str = "cpu") -> Tensor:
    """Return elements ``start`` to ``start + count`` of the noise of one tensor, float32, shape ``(count,)``."""
    first, skip = divmod(start, LANES)
    blocks = -(-(skip + count) // LANES)
    if torch.device(device).type == "cpu" and sys.byteorder == "little":
        lanes = _raw(seed, name_key(name), first, blocks).view(np.uint16)
        return torch.from_numpy(table().take(lanes[skip : skip + count]))
    words = philox(seed, name_key(name), first, blocks, device)
    shifts = torch.tensor([0, 16, 32, 48], device=device)
    index = ((words.unsqueeze(-1) >> shifts) & (LEVELS - 1)).reshape(-1)
    return table_on(torch.device(device)).index_select(0, index[skip : skip + count])


def fill(out: NDArray[np.float32], seed: int, name: str, start: int) -> None:
    """Write the noise of one tensor from element ``start`` into ``out``, on the processor, without a copy."""
    first, skip = divmod(start, LANES)
    lanes = _raw(seed, name_key(name), first, -(-(skip + len(out)) // LANES)).view(np.uint16)
    table().take(lanes[skip : skip + len(out)], out=out, mode="clip")


def low_rank(
    seed: int, name: str, shape: Sequence[int], rank: int, start: int, count: int, device: torch.device | str
) -> Tensor:
    """Return elements of the noise of a matrix that is the sum of ``rank`` outer products, over the root of the rank.

    Every element has mean 0 and variance 1; products and sums are rounded one by one, in the order of the rank.
    """
    out = torch.empty(count, device=device)
    fill_low_rank(out, seed, name, shape, rank, start)
    return out


def fill_low_rank(out: Tensor, seed: int, name: str, shape: Sequence[int], rank: int, start: int) -> None:
    """Write low-rank noise of one matrix from element ``start`` into ``out``."""
    rows, columns = shape[0], math.prod(shape[1:])
    first, last = start // columns, -(-(start + len(out)) // columns)
    total, part = _sums(last - first, columns, out.device, threading.get_ident())
    for k in range(rank):
        left = normals(seed, f"{name}\0left", k * rows + first, last - first, out.device)
        right = normals(seed, f"{name}\0right", k * columns, columns, out.device)
        torch.mul(left[:, None], right, out=part if k else total)
        if k:
            total.add_(part)
    skip = start - first * columns
    chosen = total.view(-1)[skip : skip + len(out)]
    if rank == 1:
        out.copy_(chosen)
    else:
        torch.mul(chosen, float(np.float32(1 / math.sqrt(rank))), out=out)


@functools.lru_cache(maxsize=4)
def _sums(rows: int, columns: int, device: torch.device, thread: int) -> tuple[Tensor, Tensor]:
    """Return room for a sum and a product: to ask the system for it every time costs more than the numbers."""
    return torch.empty(rows, columns, device=device), torch.empty(rows, columns, device=device)


def philox(seed: int, key: int, first: int, blocks: int, device: torch.device | str) -> Tensor:
    """Return the four words of each block as int64 bit patterns, shape ``(blocks, 4)``, by tensor operations."""
    counter = torch.arange(first + 1, first + 1 + blocks, dtype=torch.int64, device=device)
    zero = torch.zeros_like(counter)
    words, keys = (counter, zero, zero, zero), (seed, key)
    for turn in range(_ROUNDS):
        if turn:
            keys = ((keys[0] + _WEYL[0]) & _MASK, (keys[1] + _WEYL[1]) & _MASK)
        high_0, low_0 = _multiply(_MULTIPLIERS[0], words[0])
        high_1, low_1 = _multiply(_MULTIPLIERS[1], words[2])
        words = (high_1 ^ words[1] ^ signed(keys[0]), low_1, high_0 ^ words[3] ^ signed(keys[1]), low_0)
    return torch.stack(words, dim=1)


def _multiply(constant: int, words: Tensor) -> tuple[Tensor, Tensor]:
    """Return high and low 64 bits of constant × words, unsigned, in int64 arithmetic that wraps."""
    a_low, a_high = constant & _LOW, constant >> 32
    b_low, b_high = words & _LOW, (words >> 32) & _LOW
    low, cross_1, cross_2 = a_low * b_low, a_low * b_high, a_high * b_low
    carry = ((low >> 32) & _LOW) + (cross_1 & _LOW) + (cross_2 & _LOW)
    high = a_high * b_high + ((cross_1 >> 32) & _LOW) + ((cross_2 >> 32) & _LOW) + (carry >> 32)
    return high, words * signed(constant)


def signed(word: int) -> int:
    """Return 64 bits as a signed number."""
    return word - (1 << 64) if word >> 63 else word


@functools.cache
def table_on(device: torch.device) -> Tensor:
    """Return the table on a device, where it stays."""
    return torch.from_numpy(table().copy()).to(device)


class _Source:
    """NumPy's generator, its state set anew for every call: building one costs more than a small tensor's noise."""

    here = threading.local()

    def __init__(self) -> None:
        self._bits = np.random.Philox(key=np.zeros(2, dtype=np.uint64))
        self._state: dict[str, Any] = dict(self._bits.state)
        self._counter, self._key = np.zeros(4, dtype=np.uint64), np.zeros(2, dtype=np.uint64)
        self._state["state"] = {"counter": self._counter, "key": self._key}

    def raw(self, seed: int, key: int, first: int, blocks: int) -> NDArray[np.uint64]:
        self._counter[0], self._key[0], self._key[1] = first, seed, key
        self._bits.state = self._state  # type: ignore[assignment]
        return self._bits.random_raw(4 * blocks)


def _raw(seed: int, key: int, first: int, blocks: int) -> NDArray[np.uint64]:
    source: _Source | None = getattr(_Source.here, "source", None)
    if source is None:
        source = _Source.here.source = _Source()
    return source.raw(seed, key, first, blocks)
