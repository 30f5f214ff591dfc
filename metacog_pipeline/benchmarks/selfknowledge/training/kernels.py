"""Noise and weights in one pass on a graphics card: Triton kernels of the counter-based generator of ``noise``.

Each makes the numbers of `noise.normals`, bit for bit, in registers: a perturbation reads and writes a weight once, and so
does an update, however many individuals there are. Products and sums are rounded one by one: fusing them into one
instruction is switched off. Tested on a processor through Triton's interpreter (``TRITON_INTERPRET=1``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from metacog_pipeline.benchmarks.selfknowledge.training import noise

BLOCKS = 64  # of 16 numbers, per program


@triton.jit
def _eps(keys, table, first, BLOCKS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return the normals of ``BLOCKS`` blocks from ``first``, for the seed and name at ``keys``."""
    k0 = tl.load(keys).to(tl.uint64, bitcast=True)
    k1 = tl.load(keys + 1).to(tl.uint64, bitcast=True)
    m0 = tl.full((BLOCKS,), 0xD2E7470EE14C6C93, tl.uint64)
    m1 = tl.full((BLOCKS,), 0xCA5A826395121157, tl.uint64)
    w0 = tl.full((BLOCKS,), 0x9E3779B97F4A7C15, tl.uint64)
    w1 = tl.full((BLOCKS,), 0xBB67AE8584CAA73B, tl.uint64)
    c0 = (first + 1 + tl.arange(0, BLOCKS)).to(tl.uint64)
    c1 = tl.zeros((BLOCKS,), tl.uint64)
    c2 = tl.zeros((BLOCKS,), tl.uint64)
    c3 = tl.zeros((BLOCKS,), tl.uint64)
    key0 = tl.zeros((BLOCKS,), tl.uint64) + k0
    key1 = tl.zeros((BLOCKS,), tl.uint64) + k1
    for _ in tl.static_range(10):
        h0 = tl.umulhi(m0, c0)
        h1 = tl.umulhi(m1, c2)
        l0 = m0 * c0
        l1 = m1 * c2
        c0 = h1 ^ c1 ^ key0
        c1 = l1
        c2 = h0 ^ c3 ^ key1
        c3 = l0
        key0 += w0
        key1 += w1
    words = tl.reshape(tl.join(tl.join(c0, c2), tl.join(c1, c3)), (BLOCKS, 4, 1))
    shifts = tl.reshape((tl.arange(0, 4) * 16).to(tl.uint64), (1, 1, 4))
    lanes = tl.reshape((words >> shifts) & 0xFFFF, (BLOCKS * 16,))
    return tl.load(table + lanes.to(tl.int32))


@triton.jit
def _store(out, at, value, inside):  # type: ignore[no-untyped-def]
    """Write float32 values in the type of ``out``; to bfloat16 rounded to nearest, ties to even, wherever this runs."""
    if out.dtype.element_ty == tl.bfloat16:
        bits = value.to(tl.uint32, bitcast=True)
        bits = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        tl.store(out + at, bits.to(tl.uint16).to(tl.bfloat16, bitcast=True), mask=inside)
    else:
        tl.store(out + at, value.to(out.dtype.element_ty), mask=inside)


@triton.jit
def _perturb(master, out, keys, table, start, count, scale, BLOCKS: tl.constexpr):  # type: ignore[no-untyped-def]
    first = start // 16 + tl.program_id(0).to(tl.int64) * BLOCKS
    at = first * 16 + tl.arange(0, BLOCKS * 16) - start
    inside = (at >= 0) & (at < count)
    moved = _eps(keys, table, first, BLOCKS) * tl.load(scale)
    value = moved + tl.load(master + at, mask=inside, other=0.0)
    _store(out, at, value, inside)


@triton.jit
def _update(  # type: ignore[no-untyped-def]
    master, out, keys, weights, table, squares, start, count, members, BLOCKS: tl.constexpr
):
    first = start // 16 + tl.program_id(0).to(tl.int64) * BLOCKS
    at = first * 16 + tl.arange(0, BLOCKS * 16) - start
    inside = (at >= 0) & (at < count)
    total = tl.zeros((BLOCKS * 16,), tl.float32)
    for k in range(members):
        total += _eps(keys + 2 * k, table, first, BLOCKS) * tl.load(weights + k)
    value = total + tl.load(master + at, mask=inside, other=0.0)
    tl.store(master + at, value, mask=inside)
    _store(out, at, value, inside)
    total = tl.where(inside, total, 0.0)
    tl.store(squares + tl.program_id(0), tl.sum(total * total))


def perturb(master: Tensor, piece: Any, seed: int, scale: float) -> None:
    """Write master plus scale times the noise of a seed into a piece of a tensor."""
    keys, _ = _members([(seed, 1.0)], piece.name, master.device)
    factor = torch.tensor([scale], device=master.device)
    with _card_of(master):
        _perturb[_grid(piece)](
            master, piece.part, keys, _table(master.device), piece.start, piece.count, factor, BLOCKS,
            enable_fp_fusion=False,
        )  # fmt: skip


def update(master: Tensor, piece: Any, steps: Sequence[tuple[int, float]]) -> Tensor:
    """Add weighted noises to the master and write it into a piece of a tensor; return the squared norm, not waited for."""
    keys, weights = _members(steps, piece.name, master.device)
    grid = _grid(piece)
    squares = torch.zeros(grid, device=master.device)
    with _card_of(master):
        _update[grid](
            master, piece.part, keys, weights, _table(master.device), squares, piece.start, piece.count, len(steps), BLOCKS,
            enable_fp_fusion=False,
        )  # fmt: skip
    return squares.sum()


def _card_of(tensor: Tensor) -> Any:
    """Make the card of a tensor the current one: Triton starts there, wherever its tensors are."""
    guard: Any = torch.cuda.device_of
    return guard(tensor)


def _grid(piece: Any) -> tuple[int]:
    blocks = -(-(piece.start % noise.LANES + piece.count) // noise.LANES)
    return (-(-blocks // BLOCKS),)


def _members(steps: Sequence[tuple[int, float]], name: str, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return seed and name of each noise as 64-bit patterns, and its weight."""
    key = noise.signed(noise.name_key(name))
    keys = torch.tensor([[noise.signed(seed), key] for seed, _ in steps], dtype=torch.int64)
    weights = torch.tensor([weight for _, weight in steps], dtype=torch.float32)
    return keys.to(device), weights.to(device)


def _table(device: torch.device) -> Tensor:
    return noise.table_on(device)
