"""A decoder of 33 thousand weights that reads four words and says the next one."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from metacog_pipeline.benchmarks.selfknowledge.training.toy.world import LENGTH, WORDS

WIDTH, HEADS, LAYERS = 32, 4, 2
_EMBEDDING_SD = 0.5


class RmsNorm(nn.Module):
    """Divide by the root mean square, then scale."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """Return the normed states, of the same shape."""
        return functional.rms_norm(x, (x.shape[-1],), self.weight, 1e-6)


class Layer(nn.Module):
    """Attention and a GELU network, each after a norm and added to what came in."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = RmsNorm(width), RmsNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor, last: bool) -> Tensor:
        """Return the states ``(batch, words, width)``; only of the last word with ``last``."""
        batch, words, width = x.shape
        q, k, v = (
            part.view(batch, words, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(self.before(x)).chunk(3, dim=-1)
        )
        if last:
            q, x = q[:, :, -1:], x[:, -1:]
        scores = q @ k.transpose(-1, -2) / math.sqrt(width // self.heads)
        if not last:
            scores = scores + torch.full((words, words), -torch.inf, dtype=scores.dtype).triu(1)
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, -1, width)
        x = x + self.out(mixed)
        x = x + self.down(functional.gelu(self.up(self.between(x))))
        return x


class Decoder(nn.Module):
    """Learned positions, untied output; returns the scores of the word after the last one."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.layers = nn.ModuleList(Layer(WIDTH, HEADS) for _ in range(LAYERS))
        self.norm = RmsNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, prompts: Tensor) -> Tensor:
        """Return scores ``(batch, words)`` from prompts ``(batch, 4)``."""
        x = self.words(prompts) + self.places.weight
        for index, layer in enumerate(self.layers):
            x = layer(x, last=index == LAYERS - 1)
        scores: Tensor = self.head(self.norm(x[:, -1]))
        return scores


def build_model(seed: int) -> Decoder:
    """Return an untrained model: embeddings of sd 0.5, matrices of sd 1/√fan-in, those that add to the stream half."""
    model = Decoder()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim < 2:
                continue
            sd = _EMBEDDING_SD if name.startswith(("words", "places")) else 1 / math.sqrt(parameter.shape[1])
            if name.endswith(("out.weight", "down.weight")):
                sd /= 2
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * sd)
    return model
