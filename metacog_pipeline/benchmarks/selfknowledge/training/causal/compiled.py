"""Greedy answers from a cache of fixed size: what all prompts begin with is read once, and no step copies the cache.

The instruction, and whatever a chat template puts before the question, is the same for every prompt of a batch. Its keys
and values are made once, for one row, and written into the cache of the others. On a graphics card the step that makes one
token is captured (``torch.compile``, which replays it as a graph); on a processor nothing is compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from metacog_pipeline.benchmarks.selfknowledge.training.causal import generation
from metacog_pipeline.benchmarks.selfknowledge.training.causal.generation import Tokens
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.local.loading import Loaded

_STEP = 64  # sizes of the cache are multiples of it on a card, so that few graphs are captured
_LOOK_EVERY = 8  # steps between looks at whether all have ended: a look waits for the card


class Static:
    """Makes answers; one per model."""

    def __init__(self) -> None:
        self._caches: dict[tuple[int, int], Any] = {}
        self._step: Any = None

    def __call__(self, loaded: Loaded, prompts: Sequence[Tokens], most: int, rows: int) -> list[str]:
        """Return the most likely continuation of each prompt as text, special tokens left out."""
        said: list[str] = []
        for begin in range(0, len(prompts), rows):
            part = prompts[begin : begin + rows]
            if loaded.device != "cpu":  # a graph is of one number of rows
                part = [*part, *[part[-1]] * (min(rows, len(prompts)) - len(part))]
            tokens = self._greedy(loaded, part, most)[: len(prompts[begin : begin + rows])]
            said += loaded.tokenizer.batch_decode(tokens, skip_special_tokens=True)
        return said

    def _greedy(self, loaded: Loaded, prompts: Sequence[Tokens], most: int) -> list[list[int]]:
        shared = common(prompts)
        ids, mask = generation.padded(loaded, [prompt[shared:] for prompt in prompts])
        begin = shared + ids.shape[1]
        cache, size = self._cache(loaded, prompts[0][:shared], len(prompts), begin + most)
        whole = torch.ones(len(prompts), size, dtype=mask.dtype, device=mask.device)
        whole[:, shared:begin] = mask
        places = (whole.cumsum(-1) - 1).clamp(min=0)
        stop = torch.tensor(loaded.stop_ids or (-1,), device=ids.device)
        going = torch.ones(len(prompts), dtype=torch.bool, device=ids.device)
        length = torch.zeros(len(prompts), dtype=torch.int64, device=ids.device)
        best = _next(loaded, loaded.model, ids, whole, places[:, shared:begin], cache)
        kept, forward = [], self._forward(loaded)
        for step in range(most):
            going &= ~torch.isin(best, stop)
            length += going
            kept.append(best)
            last = step + 1 == most
            if last or ((loaded.device == "cpu" or step % _LOOK_EVERY == 0) and not bool(going.any())):
                break
            at = begin + step
            best = _next(loaded, forward, best[:, None], whole, places[:, at : at + 1], cache).clone()
        return generation.up_to(kept, length)

    def _forward(self, loaded: Loaded) -> Any:
        if loaded.device == "cpu":
            return loaded.model
        if self._step is None:
            compiler: Any = torch.compile
            self._step = compiler(loaded.model, mode="reduce-overhead")
        return self._step

    def _cache(self, loaded: Loaded, shared: Tokens, rows: int, size: int) -> tuple[Any, int]:
        """Return a cache that holds the shared tokens for every row, and its size."""
        from transformers import StaticCache

        if loaded.device != "cpu":
            size = -(-size // _STEP) * _STEP
        if (rows, size) not in self._caches:
            # A card keeps one per size, where graphs find it; a processor gives the memory back.
            if loaded.device == "cpu":
                self._caches.clear()
            self._caches[rows, size] = StaticCache(config=loaded.model.config, max_cache_len=size)
        cache: Any = self._caches[rows, size]
        if any(type(layer).__name__ != "StaticLayer" for layer in cache.layers):
            raise StudyError(
                "trainee compiled: the model has layers that do not attend to everything; use --trainee eager"
            )
        first = _read(loaded, shared)
        for layer, made in zip(cache.layers, first, strict=True):
            if not layer.is_initialized:
                one = made.keys.expand(rows, -1, -1, -1), made.values.expand(rows, -1, -1, -1)
                layer.lazy_initialization(*one)
            layer.keys[:, :, : len(shared)] = made.keys
            layer.values[:, :, : len(shared)] = made.values
            layer.cumulative_length.fill_(len(shared))
        return cache, size


def common(prompts: Sequence[Tokens]) -> int:
    """Return how many first tokens all prompts share; one or more of each is left over."""
    most = min(map(len, prompts)) - 1
    first = prompts[0]
    return next((k for k in range(most) if any(prompt[k] != first[k] for prompt in prompts)), most)


def _read(loaded: Loaded, tokens: Tokens) -> list[Any]:
    """Return the layers of a cache that has read tokens, one row; of a single filling token where there are none."""
    ids = torch.tensor([list(tokens) or [generation.filler(loaded)]], device=loaded.device)
    layers: list[Any] = loaded.model(input_ids=ids, use_cache=True).past_key_values.layers
    if not tokens:
        for layer in layers:
            layer.keys, layer.values = layer.keys[:, :, :0], layer.values[:, :, :0]
    return layers


def _next(loaded: Loaded, forward: Any, ids: Tensor, mask: Tensor, places: Tensor, cache: Any) -> Tensor:
    out = generation.forward(loaded, forward, ids, mask, places, cache)
    best: Tensor = out.logits[:, -1].argmax(-1)
    return best
