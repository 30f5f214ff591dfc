"""Greedy answers to many prompts at once, and the scores of the next token."""

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
    found = []
    for part in _parts(prompts, rows):
        ids, mask = padded(loaded, part)
        scores = forward(loaded, loaded.model, ids, mask, _places(mask), None).logits[:, -1]
        found.append(scores[:, list(tokens)].float().cpu())
    return torch.cat(found)


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


def _greedy(loaded: Loaded, prompts: Sequence[Tokens], most: int) -> list[list[int]]:
    ids, mask = padded(loaded, prompts)
    stop = torch.tensor(loaded.stop_ids or (-1,), device=ids.device)
    going = torch.ones(len(prompts), dtype=torch.bool, device=ids.device)
    length = torch.zeros(len(prompts), dtype=torch.int64, device=ids.device)
    cache: Any = None
    step, kept = ids, []
    for _ in range(most):
        places = _places(mask)[:, -step.shape[1] :]
        out = forward(loaded, loaded.model, step, mask, places, cache)
        cache, best = out.past_key_values, out.logits[:, -1].argmax(-1)
        going &= ~torch.isin(best, stop)
        length += going
        kept.append(best)
        if not bool(going.any()):
            break
        step = best[:, None]
        mask = torch.cat([mask, mask.new_ones(len(prompts), 1)], dim=1)
    return up_to(kept, length)


def up_to(kept: Sequence[Tensor], length: Tensor) -> list[list[int]]:
    """Return the tokens of each row from those of each step, up to where the row ended."""
    rows = torch.stack(list(kept), dim=1).tolist()
    return [row[:size] for row, size in zip(rows, length.tolist(), strict=True)]


def forward(loaded: Loaded, model: Any, ids: Tensor, mask: Tensor, places: Tensor, cache: Any) -> Any:
    """Return what a model says to some more tokens at these places; only the last one's scores, where it can do so."""
    optional = {"position_ids": places, "logits_to_keep": 1}
    return model(
        input_ids=ids,
        attention_mask=mask,
        past_key_values=cache,
        use_cache=True,
        **{name: value for name, value in optional.items() if name in loaded.takes},
    )


def _places(mask: Tensor) -> Tensor:
    return (mask.cumsum(-1) - 1).clamp(min=0)


def _parts(prompts: Sequence[Tokens], rows: int) -> Iterator[Sequence[Tokens]]:
    for begin in range(0, len(prompts), rows):
        yield prompts[begin : begin + rows]
