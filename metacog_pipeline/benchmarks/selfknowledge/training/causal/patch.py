"""Base models with a part of what training changed, asked again: how much of the change does it take?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import nn

from metacog_pipeline.benchmarks.selfknowledge.training.patching import Side, change, masks
from metacog_pipeline.benchmarks.selfknowledge.training.weights import trainable
from metacog_pipeline.errors import StudyError


def patch_each(
    base: nn.Module, tuned: nn.Module, ratios: Sequence[float], side: Side, skip: Sequence[str] = ()
) -> Iterator[tuple[float, int]]:
    """Yield ratio and entries changed, for each ratio in turn, while ``tuned`` is the patched model.

    The tuned model is the one that is patched, each time from the two originals; the base is only read. Tensors whose
    name starts with one of ``skip`` keep the base's values and are not counted.

    Raises StudyError when the two are not of the same shape.
    """
    before, after = trainable(base), trainable(tuned)
    if before.keys() != after.keys() or any(before[n].shape != after[n].shape for n in before):
        raise StudyError(
            "base and tuned model do not have the same tensors; one must be trained from the other"
        )
    original = {name: tensor.clone() for name, tensor in after.items()}
    free = [name for name in before if not name.startswith(tuple(skip))] if skip else list(before)
    delta = change({n: before[n] for n in free}, {n: original[n] for n in free})
    for ratio in ratios:
        count, chosen = masks(delta, ratio, side)
        with torch.no_grad():
            for name, tensor in after.items():
                if name in chosen:
                    keep = chosen[name].to(tensor.device)
                    tensor.copy_(torch.where(keep, original[name], before[name].to(tensor)))
                else:
                    tensor.copy_(before[name])
        yield ratio, count


def grid(text: str) -> list[float]:
    """Return ratios from percentages: ``0,10,50`` or ``0-100/10`` (from, to, step).

    Raises StudyError for anything else, or a percentage outside 0..100.
    """
    read: Callable[[str], float] = float
    try:
        if "-" in text:
            ends, _, step = text.partition("/")
            low, high = map(read, ends.split("-"))
            size = read(step or "10")
            if not size > 0 or (high - low) / size > 1000:
                raise ValueError
            found = [low + k * size for k in range(round((high - low) / size) + 1)]
        else:
            found = [read(part) for part in text.split(",")]
    except ValueError:
        raise StudyError(f"ratios {text!r}: percentages such as 0,10,50 or 0-100/10 needed") from None
    if not found or not all(0 <= each <= 100 for each in found):
        raise StudyError(f"ratios {text!r}: percentages of 0 to 100 needed")
    return [each / 100 for each in found]
