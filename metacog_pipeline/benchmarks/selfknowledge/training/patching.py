"""Which weights carry what was learnt: put only the largest, or the smallest, changes into the base model.

Two rules choose entries of the change by magnitude, over all tensors together. The exact one keeps floor(p · n + 1/2)
entries from a side, ordered by (magnitude, position): bottom p and top 1 - p are the whole change, but where p · n ends on
one half both are rounded up and share one entry. The one of the authors' code compares with a threshold: ties are
all kept or all dropped, and from the bottom its ratio means the share that is dropped.

Nothing is sorted: the magnitude of the last entry kept is found by counting float32 bit patterns, whose order is that
of the magnitudes, first by their upper and then by their lower 16 bits. Memory beside the tensors: one of them at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Side = Literal["top", "bottom"]
Tensors = Mapping[str, Tensor]
_HALF, _LEVELS = 16, 1 << 16


def change(base: Tensors, tuned: Tensors) -> dict[str, Tensor]:
    """Return tuned minus base by name, in float32."""
    if base.keys() != tuned.keys() or any(base[n].shape != tuned[n].shape for n in base):
        raise ValueError("base and tuned model do not have the same tensors")
    return {name: tuned[name].float() - base[name].float() for name in tuned}


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the entries kept end."""

    bits: int  # bit pattern of the magnitude at the border
    below: int  # entries of lesser magnitude
    tied: int  # how many entries of just that magnitude, the first by position, belong to the bottom part


def find_cut(tensors: Iterable[Tensor], count: int) -> Cut | None:
    """Return where the ``count`` smallest magnitudes end; None when there are none to take.

    ``tensors`` is gone through twice, so it must be a collection, not a generator.
    """
    if count < 1:
        return None
    upper = sum(_counts(_bits(tensor) >> _HALF) for tensor in tensors)
    assert isinstance(upper, Tensor)
    high, before = _place(upper, count)
    lower = torch.zeros(_LEVELS, dtype=torch.int64)
    for tensor in tensors:
        bits = _bits(tensor)
        lower += _counts(bits[(bits >> _HALF) == high] & (_LEVELS - 1))
    low, inside = _place(lower, count - before)
    return Cut((high << _HALF) | low, before + inside, count - before - inside)


def masks(delta: Tensors, ratio: float, side: Side) -> tuple[int, dict[str, Tensor]]:
    """Return how many entries the exact rule keeps and, by name, which."""
    if not 0 <= ratio <= 1 or side not in ("top", "bottom"):
        raise ValueError(f"ratio {ratio} must lie in 0..1 and side {side!r} be top or bottom")
    total = sum(tensor.numel() for tensor in delta.values())
    count = min(total, math.floor(ratio * total + 0.5))
    bottom = bottom_masks(delta, count if side == "bottom" else total - count)
    return count, bottom if side == "bottom" else {name: ~mask for name, mask in bottom.items()}


def bottom_masks(delta: Tensors, count: int) -> dict[str, Tensor]:
    """Return which entries are the ``count`` smallest by (magnitude, position), by name."""
    cut = find_cut(list(delta.values()), count)
    found: dict[str, Tensor] = {}
    left = 0 if cut is None else cut.tied
    for name, tensor in delta.items():
        if cut is None:
            found[name] = torch.zeros(tensor.shape, dtype=torch.bool)
            continue
        bits = _bits(tensor)
        mask = bits < cut.bits
        tied = torch.nonzero(bits == cut.bits).reshape(-1)[:left]
        mask[tied] = True
        left -= len(tied)
        found[name] = mask.reshape(tensor.shape)
    return found


def kept(delta: Tensors, ratio: float, side: Side) -> tuple[int, dict[str, Tensor]]:
    """Return how many entries the exact rule keeps, and the change with all others set to zero."""
    count, chosen = masks(delta, ratio, side)
    return count, {name: torch.where(chosen[name], delta[name], 0.0) for name in delta}


def reference_kept(
    delta: Tensors, ratio: float, from_bottom: bool = False
) -> tuple[float, dict[str, Tensor]]:
    """Return threshold and kept change by the rule of the authors' code.

    From the top, entries of magnitude at or above the threshold are kept; from the bottom those below it, so that
    ``ratio`` is the share dropped. The threshold is the k-th smallest magnitude, k = max(1, floor(n (1 - ratio))); a
    ratio of 1 keeps everything from the top.
    """
    total = sum(tensor.numel() for tensor in delta.values())
    if ratio >= 1:
        threshold = 0.0
    else:
        cut = find_cut(list(delta.values()), max(1, math.floor(total * (1 - ratio))))
        assert cut is not None
        threshold = torch.tensor(cut.bits, dtype=torch.int32).view(torch.float32).item()
    keep = {name: (tensor.abs() < threshold) == from_bottom for name, tensor in delta.items()}
    return threshold, {name: torch.where(keep[name], delta[name], 0.0) for name in delta}


def _bits(tensor: Tensor) -> Tensor:
    """Return bit patterns of magnitudes, flat, int32: their order is that of the magnitudes."""
    return tensor.detach().float().cpu().abs().contiguous().reshape(-1).view(torch.int32)


def _counts(values: Tensor) -> Tensor:
    return torch.bincount(values, minlength=_LEVELS)


def _place(counts: Tensor, number: int) -> tuple[int, int]:
    """Return the level the ``number``-th entry lies in, and how many lie below that level."""
    sums = counts.cumsum(0)
    level = int(torch.searchsorted(sums, torch.tensor(number)))
    return level, int(sums[level] - counts[level])
