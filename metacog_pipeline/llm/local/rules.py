"""What each row of a batch is held to while it is generated: constraint, bias, temperature, its own length and seed.

The rows of a batch belong to different questions, so each has its own random numbers, seeded by what was asked: the same
question gets the same draw whatever it is batched with. Drawing is done with Gumbel noise (the largest of log p + g is a
draw from p), so that the library's own loop may always take the largest.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from metacog_pipeline.llm.types import ChatRequest, TokenLogprob, request_json

Trie = dict[int, "Trie"]


@dataclass(slots=True)
class Row:
    """One request while it is answered.

    ``place`` is where it stands in the tree of admitted answers, None where all are admitted.
    """

    request: ChatRequest
    budget: int
    bias: dict[int, float] = field(default_factory=dict)
    place: Trie | None = None
    tokens: list[int] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    ended: bool = False

    @property
    def full(self) -> bool:
        """Whether it has all the tokens it may have."""
        return len(self.tokens) >= self.budget


@dataclass(frozen=True, slots=True)
class Defaults:
    """How the checkpoint itself samples: used where a request leaves the temperature open."""

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0


def trie_of(options: Sequence[Sequence[int]], stop: int) -> Trie:
    """Return the tree of the admitted token sequences, each followed by ``stop``."""
    root: Trie = {}
    for option in options:
        node = root
        for token in (*option, stop):
            node = node.setdefault(token, {})
    return root


def choose(torch: Any, logits: Any, rows: Sequence[Row], defaults: Defaults, decode: Any, stop: Any) -> Any:
    """Return the next token of each row, ``(rows,)``, and write it down in the rows.

    ``logits`` is ``(rows, vocabulary)``. Log-probabilities are those of the model before constraint, bias and
    temperature. Rows that ended get the first of ``stop`` again.
    """
    plain = torch.log_softmax(logits.float(), dim=-1)
    chosen = [_one(torch, plain[place], row, defaults, stop) for place, row in enumerate(rows)]
    _note_logprobs(torch, plain, rows, chosen, decode)
    for row, token in zip(rows, chosen, strict=True):
        _advance(row, token, stop)
    return torch.tensor(chosen, device=logits.device)


def _one(torch: Any, plain: Any, row: Row, defaults: Defaults, stop: Sequence[int]) -> int:
    if row.ended or row.full:
        return int(stop[0])
    scores = plain
    if row.bias:
        places = torch.tensor(list(row.bias), device=plain.device)
        scores = scores.index_add(0, places, torch.tensor(list(row.bias.values()), device=plain.device))
    if row.place is not None:
        admitted = torch.tensor(list(row.place), device=plain.device)
        held = torch.full_like(scores, -math.inf)
        held[admitted] = scores[admitted]
        scores = held
    asked = row.request.sampling.temperature
    temperature = defaults.temperature if asked is None else asked
    if temperature <= 0:
        return int(scores.argmax())
    scores = scores / temperature
    if asked is None:
        scores = _narrowed(torch, scores, defaults)
    return int((scores + _gumbel(torch, scores.shape[-1], row).to(scores.device)).argmax())


def _narrowed(torch: Any, scores: Any, defaults: Defaults) -> Any:
    if 0 < defaults.top_k < scores.shape[-1]:
        least = torch.topk(scores, defaults.top_k).values[-1]
        scores = scores.masked_fill(scores < least, -math.inf)
    if defaults.top_p < 1:
        ordered, places = torch.sort(scores, descending=True)
        before = torch.softmax(ordered, dim=-1).cumsum(-1) - torch.softmax(ordered, dim=-1)
        scores = scores.index_fill(0, places[before >= defaults.top_p], -math.inf)
    return scores


def _gumbel(torch: Any, size: int, row: Row) -> Any:
    asked = f"{request_json(row.request)}|{len(row.tokens)}".encode("utf-8", "surrogatepass")
    seed = int.from_bytes(hashlib.sha256(asked).digest()[:8], "big") >> 1
    generator = torch.Generator().manual_seed(seed)  # on the CPU: the same on every device
    uniform = torch.rand(size, generator=generator, dtype=torch.float64).clamp_(1e-300, 1 - 1e-16)
    return -torch.log(-torch.log(uniform)).float()


def _note_logprobs(torch: Any, plain: Any, rows: Sequence[Row], chosen: Sequence[int], decode: Any) -> None:
    asking = [
        place
        for place, row in enumerate(rows)
        if row.request.sampling.top_logprobs is not None and not (row.ended or row.full)
    ]
    if not asking:
        return
    most = min(max(rows[place].request.sampling.top_logprobs or 0 for place in asking), plain.shape[-1])
    found = torch.topk(plain[asking], max(most, 1), dim=-1)
    for at, place in enumerate(asking):
        wanted = rows[place].request.sampling.top_logprobs or 0
        top = zip(found.indices[at].tolist()[:wanted], found.values[at].tolist()[:wanted], strict=True)
        rows[place].logprobs.append(
            TokenLogprob(
                decode(chosen[place]),
                float(plain[place, chosen[place]]),
                tuple((decode(token), float(value)) for token, value in top),
            )
        )


def _advance(row: Row, token: int, stop: Sequence[int]) -> None:
    if row.ended or row.full:
        return
    finishing = token in stop
    if finishing:
        row.ended = True
        if row.logprobs:
            row.logprobs.pop()  # the end of the text is not a token of the text
        return
    row.tokens.append(token)
    if row.place is not None:
        row.place = row.place[token]
        row.ended = set(row.place) <= set(stop)  # nothing but the end is left to say
