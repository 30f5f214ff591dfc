"""Which weights carry what was learnt: only the largest, or the smallest, changes are put into the base model.

The exact rule keeps floor(p · n + 1/2) entries of the change, ordered by (magnitude, position) over all tensors:
bottom p and top 1 - p are the whole change, except that both keep one entry where p · n ends on one half.
`reference_kept` is the rule of the authors' code: a threshold, ties all or none, and "bottom p" meaning all but the
share p.

Nothing is sorted: the border is found by counting float32 bit patterns, whose order is that of the magnitudes, first
by their upper and then by their lower 16 bits. Memory beside the tensors: one of them at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from metacog_pipeline.benchmarks.selfknowledge.training.weights import Named, trainable
from metacog_pipeline.errors import StudyError

Side = Literal["top", "bottom"]
_HALF, _LEVELS = 16, 1 << 16


class Cut(NamedTuple):
    """Border of the smallest entries: bit pattern there, and how many entries of just that magnitude lie below it."""

    bits: int
    tied: int


def find_cut(tensors: Sequence[Tensor], count: int) -> Cut:
    """Return where the ``count`` smallest magnitudes end, ``count`` from 1."""
    upper = torch.zeros(_LEVELS, dtype=torch.int64)
    for tensor in tensors:
        upper += torch.bincount(_bits(tensor) >> _HALF, minlength=_LEVELS)
    high, before = _place(upper, count)
    lower = torch.zeros(_LEVELS, dtype=torch.int64)
    for tensor in tensors:
        bits = _bits(tensor)
        lower += torch.bincount(bits[(bits >> _HALF) == high] & (_LEVELS - 1), minlength=_LEVELS)
    low, inside = _place(lower, count - before)
    return Cut((high << _HALF) | low, count - before - inside)


def masks(delta: Named, ratio: float, side: Side) -> tuple[int, dict[str, Tensor]]:
    """Return how many entries the exact rule keeps and, by name, which."""
    if not 0 <= ratio <= 1 or side not in ("top", "bottom"):
        raise ValueError(f"ratio {ratio} must lie in 0..1 and side {side!r} be top or bottom")
    total = sum(tensor.numel() for tensor in delta.values())
    count = min(total, math.floor(ratio * total + 0.5))
    bottom = _bottom(delta, count if side == "bottom" else total - count)
    return count, bottom if side == "bottom" else {name: ~mask for name, mask in bottom.items()}


def _bottom(delta: Named, count: int) -> dict[str, Tensor]:
    """Return which entries are the ``count`` smallest by (magnitude, position), by name."""
    cut = find_cut(list(delta.values()), count) if count else Cut(0, 0)
    found, left = {}, cut.tied
    for name, tensor in delta.items():
        bits = _bits(tensor)
        mask = bits < cut.bits
        tied = torch.nonzero(bits == cut.bits).reshape(-1)[:left]
        mask[tied] = True
        left -= len(tied)
        found[name] = mask.reshape(tensor.shape)
    return found


def kept(delta: Named, ratio: float, side: Side) -> tuple[int, dict[str, Tensor]]:
    """Return how many entries the exact rule keeps, and the change with all others set to zero."""
    count, chosen = masks(delta, ratio, side)
    return count, {name: torch.where(chosen[name], delta[name], 0.0) for name in delta}


def reference_kept(delta: Named, ratio: float, from_bottom: bool = False) -> tuple[float, dict[str, Tensor]]:
    """Return threshold and kept change by the rule of the authors' code."""
    # The threshold is the k-th smallest magnitude, k = max(1, floor(n (1 - ratio))). From the top, entries at or
    # above it are kept, and all for a ratio of 1; from the bottom those below it.
    threshold = 0.0
    if ratio < 1:
        total = sum(tensor.numel() for tensor in delta.values())
        cut = find_cut(list(delta.values()), max(1, math.floor(total * (1 - ratio))))
        threshold = torch.tensor(cut.bits, dtype=torch.int32).view(torch.float32).item()
    keep = {name: (tensor.abs() < threshold) == from_bottom for name, tensor in delta.items()}
    return threshold, {name: torch.where(keep[name], delta[name], 0.0) for name in delta}


def patch_each(
    base: nn.Module, tuned: nn.Module, shares: Sequence[tuple[Side, float]]
) -> Iterator[tuple[Side, float, int]]:
    """Yield side, share and number of entries for each share in turn, while ``tuned`` is the patched model."""
    # The tuned model is patched each time from the two originals; the base is only read.
    before, after = trainable(base), trainable(tuned)
    if before.keys() != after.keys() or any(before[n].shape != after[n].shape for n in before):
        raise StudyError(
            "base and tuned model do not have the same tensors; one must be trained from the other"
        )
    original = {name: tensor.clone() for name, tensor in after.items()}
    delta = {name: original[name].float() - before[name].to(original[name].device).float() for name in before}
    for side, share in shares:
        count, chosen = masks(delta, share, side)
        with torch.no_grad():
            for name, tensor in after.items():
                keep = chosen[name].to(tensor.device)
                tensor.copy_(torch.where(keep, original[name], before[name].to(tensor)))
        yield side, share, count


def _bits(tensor: Tensor) -> Tensor:
    """Return bit patterns of magnitudes, flat, int32: their order is that of the magnitudes."""
    return tensor.detach().float().cpu().abs().contiguous().reshape(-1).view(torch.int32)


def _place(counts: Tensor, number: int) -> tuple[int, int]:
    """Return the level in which the ``number``-th entry lies, and how many lie below that level."""
    sums = counts.cumsum(0)
    level = int(torch.searchsorted(sums, torch.tensor(number)))
    return level, int(sums[level] - counts[level])
