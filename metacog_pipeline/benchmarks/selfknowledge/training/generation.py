"""Greedy answers to many prompts at once, and the scores of the next token, for a model whose weights change all the
time.

What all prompts of a batch begin with (template, instruction) is read once and its keys and values are repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from metacog_pipeline.llm.local.loading import Loaded

Tokens = Sequence[int]


def answers(loaded: Loaded, prompts: Sequence[Tokens], most: int, rows: int) -> list[str]:
    """Return the most likely continuation of each prompt as text, special tokens left out."""
    said: list[str] = []
    for part in _parts(prompts, rows):
        said += loaded.tokenizer.batch_decode(_greedy(loaded, part, most), skip_special_tokens=True)
    return said


def next_scores(loaded: Loaded, prompts: Sequence[Tokens], tokens: Sequence[int], rows: int) -> Tensor:
    """Return the scores of some tokens after each prompt, float32 on the processor, ``(prompts, tokens)``."""
    scores = [_Reading(loaded, part).scores[:, list(tokens)].float().cpu() for part in _parts(prompts, rows)]
    return torch.cat(scores)


def padded(loaded: Loaded, prompts: Sequence[Tokens]) -> tuple[Tensor, Tensor]:
    """Return token ids, filled up on the left, and the mask of what is not filling."""
    longest = max(map(len, prompts))
    ids = [[filler(loaded)] * (longest - len(each)) + list(each) for each in prompts]
    mask = [[0] * (longest - len(each)) + [1] * len(each) for each in prompts]
    return torch.tensor(ids, device=loaded.device), torch.tensor(mask, device=loaded.device)


def filler(loaded: Loaded) -> int:
    """Return the token to fill up with; it is never attended to."""
    pad = loaded.tokenizer.pad_token_id
    return int(pad if pad is not None else loaded.stop_ids[0] if loaded.stop_ids else 0)


def common(prompts: Sequence[Tokens]) -> int:
    """Return how many tokens all prompts begin with; each keeps one token of its own."""
    first, last = (list(pick(map(list, prompts))) for pick in (min, max))
    shared = next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return min(shared, min(map(len, prompts)) - 1)


class _Reading:
    """A batch of prompts that the model has read; ``scores`` of the next token, ``(batch, words)``."""

    def __init__(self, loaded: Loaded, prompts: Sequence[Tokens]) -> None:
        self._loaded, self._cache = loaded, None
        shared = common(prompts) if len(prompts) > 1 else 0
        self._mask = torch.ones(1, shared, dtype=torch.int64, device=loaded.device)
        if shared:
            self._read(torch.tensor([list(prompts[0][:shared])], device=loaded.device))
            cache: Any = self._cache
            cache.batch_repeat_interleave(len(prompts))
        ids, mask = padded(loaded, [each[shared:] for each in prompts])
        self._mask = torch.cat([self._mask.expand(len(prompts), -1), mask], dim=1)
        self.scores = self._read(ids)

    def go_on(self, tokens: Tensor) -> None:
        """Read one more token of each row."""
        self._mask = torch.cat([self._mask, self._mask.new_ones(len(tokens), 1)], dim=1)
        self.scores = self._read(tokens[:, None])

    def _read(self, ids: Tensor) -> Tensor:
        places = (self._mask.cumsum(-1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        optional = {"position_ids": places, "logits_to_keep": 1}
        takes = {name: value for name, value in optional.items() if name in self._loaded.takes}
        given = {"attention_mask": self._mask, "past_key_values": self._cache, "use_cache": True, **takes}
        out = self._loaded.model(input_ids=ids, **given)
        self._cache = out.past_key_values
        scores: Tensor = out.logits[:, -1]
        return scores


def _greedy(loaded: Loaded, prompts: Sequence[Tokens], most: int) -> list[list[int]]:
    reading, said = _Reading(loaded, prompts), list[Tensor]()
    stop = torch.tensor(loaded.stop_ids or (-1,), device=loaded.device)
    going = torch.ones(len(prompts), dtype=torch.bool, device=loaded.device)
    length = torch.zeros(len(prompts), dtype=torch.int64, device=loaded.device)
    while True:
        best = reading.scores.argmax(-1)
        going &= ~torch.isin(best, stop)
        length += going
        said.append(best)
        if len(said) == most or not bool(going.any()):
            rows = torch.stack(said, dim=1).tolist()
            return [row[:size] for row, size in zip(rows, length.tolist(), strict=True)]
        reading.go_on(best)


def _parts(prompts: Sequence[Tokens], rows: int) -> Iterator[Sequence[Tokens]]:
    return (prompts[begin : begin + rows] for begin in range(0, len(prompts), rows))
