"""Answer a batch of requests with a model in this process: transformers' ``generate``, each row held to its own request."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from time import perf_counter
from typing import Any

from metacog_pipeline.errors import one_line
from metacog_pipeline.llm import types
from metacog_pipeline.llm.local.loading import Loaded, load
from metacog_pipeline.llm.spec import ModelSpec

# how long the first call of a batch waits for others; a forward pass takes longer
GATHER_S = 0.005
# tokens of an answer without a limit of its own
USUAL_LIMIT = 1024


class _CannotAsk(Exception):
    """What makes one request impossible: a code and a line."""


# The rows of a batch belong to different questions, so each has its own random numbers, seeded by what was
# asked: the same question gets the same draw in any batch.
@dataclass(slots=True)
class _Row:
    """One request while it is answered; ``options`` are the admitted answers, each with its end, where it is a choice."""

    request: types.ChatRequest
    prompt: list[int]
    budget: int
    options: list[list[int]]
    tokens: list[int] = field(default_factory=list)
    logprobs: list[types.TokenLogprob] = field(default_factory=list)
    ended: bool = False

    @property
    def done(self) -> bool:
        return self.ended or len(self.tokens) >= self.budget

    def admitted(self) -> list[int]:
        """Return the tokens that some option goes on with."""
        place = len(self.tokens)
        return list({each[place] for each in self.options if each[:place] == self.tokens})


class LocalModel:
    """A `ChatModel` over a folder. Calls that wait together are answered together, ``spec.batch_size`` at a time."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        self._loaded: Loaded = load(spec)
        self._waiting: list[tuple[types.ChatRequest, asyncio.Future[types.Completion]]] = []
        self._turn: asyncio.Task[None] | None = None

    async def complete(self, request: types.ChatRequest) -> types.Completion:
        """Answer ``request``; a device that fails gives a ``failed`` completion."""
        answer: asyncio.Future[types.Completion] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, answer))
        if self._turn is None or self._turn.done():
            self._turn = asyncio.ensure_future(self._work())
        return await answer

    async def close(self) -> None:
        """Wait for the batch under way."""
        if self._turn is not None and not self._turn.done():
            with contextlib.suppress(asyncio.CancelledError):
                await self._turn

    async def _work(self) -> None:
        await asyncio.sleep(GATHER_S)
        while self._waiting:
            # Alike in length together, so that short answers do not wait for long ones.
            self._waiting.sort(key=lambda each: each[0].sampling.max_tokens or 0)
            batch = self._waiting[: self.spec.batch_size]
            del self._waiting[: self.spec.batch_size]
            try:
                # In a thread, so that answers are written to disk meanwhile.
                done = await asyncio.to_thread(answer_batch, self._loaded, [request for request, _ in batch])
            except Exception as error:  # out of memory, a broken device
                said = f"model {self.spec.name}: {type(error).__name__}: {error}"
                done = [_failure(types.ErrorKind.TRANSIENT, "local_failure", said)] * len(batch)
            for (_, answer), completion in zip(batch, done, strict=True):
                if not answer.done():
                    answer.set_result(completion)
            # Who was answered asks the next step before the next batch is formed.
            await asyncio.sleep(GATHER_S)


def answer_batch(loaded: Loaded, requests: Sequence[types.ChatRequest]) -> list[types.Completion]:
    """Return how each request ended. What one of them makes impossible fails alone; the others are answered."""
    ended: dict[int, types.Completion] = {}
    rows: dict[int, _Row] = {}
    for place, request in enumerate(requests):
        try:
            rows[place] = _row(loaded, request)
        except _CannotAsk as error:
            ended[place] = _failure(types.ErrorKind.UNSUPPORTED, *error.args)
    if rows:
        ended.update(zip(rows, _generated(loaded, list(rows.values())), strict=True))
    return [ended[place] for place in range(len(requests))]


def _failure(kind: types.ErrorKind, code: str, message: str) -> types.Completion:
    return types.failed(kind, code, one_line(message)[:500], cost_usd=0.0, started_at=datetime.now(UTC))


def prompt_ids(loaded: Loaded, request: types.ChatRequest) -> list[int]:
    """Return the tokens of a conversation: by the model's chat template where it has one, else the plain texts."""
    tokenizer = loaded.tokenizer
    messages = [{"role": each.role, "content": each.content} for each in request.messages]
    if not getattr(tokenizer, "chat_template", None):
        found = tokenizer("\n\n".join(each["content"] for each in messages))["input_ids"]
        return list(found) or [_filler(loaded)]
    try:
        text = tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
        )
    except Exception as error:  # templates are programs of the model's maker
        raise _CannotAsk("chat_template", f"the chat template refuses: {one_line(str(error))}") from None
    return list(tokenizer(text, add_special_tokens=False)["input_ids"]) or [_filler(loaded)]


def _row(loaded: Loaded, request: types.ChatRequest) -> _Row:
    prompt, budget = prompt_ids(loaded, request), request.sampling.max_tokens or USUAL_LIMIT
    options, unsupported = list[list[int]](), request.constraint is not None
    if isinstance(request.constraint, types.OneOf):
        tokens = [
            loaded.tokenizer(each, add_special_tokens=False).input_ids for each in request.constraint.options
        ]
        options = [[*each, *loaded.stop_ids[:1]] for each in tokens]
        budget, unsupported = max(map(len, options)), not loaded.stop_ids or not all(tokens)
    if unsupported:
        said = "a local model takes choices between texts, where it has an end token, and no other constraint"
        raise _CannotAsk("unsupported_constraint", said)
    if loaded.context is not None:
        budget = min(budget, loaded.context - len(prompt))
    if budget < 1:
        long = f"the prompt has {len(prompt)} tokens, the model takes {loaded.context}"
        raise _CannotAsk("context_length_exceeded", long)
    return _Row(request, prompt, budget, options)


def _generated(loaded: Loaded, rows: list[_Row]) -> list[types.Completion]:
    import torch
    from transformers import GenerationConfig

    started_at, begun = datetime.now(UTC), perf_counter()
    tensor, filler = partial(torch.tensor, device=loaded.device), _filler(loaded)
    longest, stop = max(len(row.prompt) for row in rows), loaded.stop_ids or (filler,)
    shorter = [longest - len(row.prompt) for row in rows]

    def choose(ids: Any, logits: Any) -> Any:
        """Write the next token of each row down there, and leave ``generate`` nothing else to take."""
        plain = torch.log_softmax(logits.float(), dim=-1)
        only = torch.full_like(plain, -math.inf)
        for place, row in enumerate(rows):
            token = stop[0]
            if not row.done:
                token = _next(torch, plain[place], row)
                _advance(loaded, torch, plain[place], row, token, stop)
            only[place, token] = 0.0
        return only

    # Nothing of the checkpoint's own settings: the temperature is that of each row, 0 where it has none.
    config: Any = GenerationConfig
    plain_config = config(
        do_sample=False,
        max_new_tokens=max(row.budget for row in rows),
        pad_token_id=filler,
        eos_token_id=list(loaded.stop_ids) or None,
    )
    own, loaded.model.generation_config = loaded.model.generation_config, plain_config
    try:
        with torch.inference_mode():
            loaded.model.generate(
                tensor([[filler] * pad + row.prompt for pad, row in zip(shorter, rows, strict=True)]),
                attention_mask=tensor([[0] * pad + [1] * (longest - pad) for pad in shorter]),
                generation_config=plain_config,
                logits_processor=[choose],
                stopping_criteria=[lambda *_, **__: tensor([row.done for row in rows])],
            )
    finally:
        loaded.model.generation_config = own
    spent = perf_counter() - begun
    return [_completion(loaded, row, started_at, spent) for row in rows]


def _next(torch: Any, plain: Any, row: _Row) -> int:
    scores = plain
    if row.options:
        admitted = row.admitted()
        scores = torch.full_like(plain, -math.inf)
        scores[admitted] = plain[admitted]
    temperature = row.request.sampling.temperature or 0.0
    if temperature > 0:
        scores = scores / temperature + _gumbel(torch, scores.shape[-1], row).to(scores.device)
    return int(scores.argmax())


def _advance(loaded: Loaded, torch: Any, plain: Any, row: _Row, token: int, stop: Sequence[int]) -> None:
    if token in stop:
        row.ended = True
        return
    row.tokens.append(token)
    if (wanted := row.request.sampling.top_logprobs) is not None:
        found = torch.topk(plain, min(wanted, plain.shape[-1]))
        words = [str(loaded.tokenizer.decode([each])) for each in (token, *found.indices.tolist())]
        top = tuple(zip(words[1:], map(float, found.values.tolist()), strict=True))
        row.logprobs.append(types.TokenLogprob(words[0], float(plain[token]), top))
    # nothing but the end is left
    row.ended = bool(row.options) and set(row.admitted()) <= set(stop)


# The largest of log p + g is a draw from p, so that the library may always take the largest.
def _gumbel(torch: Any, size: int, row: _Row) -> Any:
    asked = f"{types.request_json(row.request)}|{len(row.tokens)}".encode("utf-8", "surrogatepass")
    seed = int.from_bytes(hashlib.sha256(asked).digest()[:8], "big") >> 1
    # on the CPU: the same on every device
    generator = torch.Generator().manual_seed(seed)
    uniform = torch.rand(size, generator=generator, dtype=torch.float64).clamp_(1e-300, 1 - 1e-16)
    return -torch.log(-torch.log(uniform)).float()


def _completion(loaded: Loaded, row: _Row, started_at: datetime, spent: float) -> types.Completion:
    return types.Completion(
        types.Status.OK if row.ended else types.Status.TRUNCATED,
        text=str(loaded.tokenizer.decode(row.tokens, skip_special_tokens=True)),
        finish_reason="stop" if row.ended else "length",
        model_reported=loaded.reported,
        usage=types.Usage(len(row.prompt), len(row.tokens)),
        cost_usd=0.0,
        logprobs=tuple(row.logprobs),
        started_at=started_at,
        latency_s=spent,
    )


def _filler(loaded: Loaded) -> int:
    pad = loaded.tokenizer.pad_token_id
    return int(pad if pad is not None else loaded.stop_ids[0] if loaded.stop_ids else 0)
