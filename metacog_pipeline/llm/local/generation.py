"""Answer a batch of requests with a model in this process: transformers' ``generate``, each row held to its own request.

The rows of a batch belong to different questions, so each has its own random numbers, seeded by what was asked: the same
question gets the same draw whatever it is batched with. Drawing is done with Gumbel noise (the largest of log p + g is a
draw from p), so that the library may always take the largest.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

from metacog_pipeline.errors import one_line
from metacog_pipeline.llm import types
from metacog_pipeline.llm.local.loading import Loaded, load
from metacog_pipeline.llm.spec import ModelSpec

GATHER_S = 0.005  # how long the first call of a batch waits for others; a forward pass takes longer
USUAL_LIMIT = 1024  # tokens of an answer without a limit of its own


class _CannotAsk(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True)
class _Row:
    """One request while it is answered; ``options`` are the admitted answers, each with its end, where it is a choice."""

    request: types.ChatRequest
    prompt: list[int]
    budget: int
    bias: dict[int, float] = field(default_factory=dict)
    options: list[list[int]] = field(default_factory=list)
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
    """A `ChatModel` over a folder. Calls that wait together are answered together, ``spec.batch_size`` at a time.

    For one event loop; generation runs in a thread, so that answers are written to disk meanwhile. Errors as of `load`.
    """

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
                requests = [request for request, _ in batch]
                done = await asyncio.to_thread(answer_batch, self._loaded, requests)
            except Exception as error:  # out of memory, a broken device
                said = one_line(f"model {self.spec.name}: {type(error).__name__}: {error}")[:500]
                now = datetime.now(UTC)
                failure = types.failed(
                    types.ErrorKind.TRANSIENT, "local_failure", said, cost_usd=0.0, started_at=now
                )
                done = [failure] * len(batch)
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
            rows[place] = _row(loaded, request, prompt_ids(loaded, request))
        except _CannotAsk as error:
            kind, now = types.ErrorKind.UNSUPPORTED, datetime.now(UTC)
            ended[place] = types.failed(kind, error.code, one_line(str(error)), cost_usd=0.0, started_at=now)
    if rows:
        ended.update(zip(rows, _generated(loaded, list(rows.values())), strict=True))
    return [ended[place] for place in range(len(requests))]


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


def _row(loaded: Loaded, request: types.ChatRequest, prompt: list[int]) -> _Row:
    row = _Row(request, prompt, request.sampling.max_tokens or USUAL_LIMIT)
    if loaded.context is not None:
        row.budget = min(row.budget, loaded.context - len(prompt))
    if row.budget < 1:
        long = f"the prompt has {len(prompt)} tokens, the model takes {loaded.context}"
        raise _CannotAsk("context_length_exceeded", long)
    problem = None
    match request.constraint:
        case types.OneOf(options):
            tokens = [loaded.tokenizer(each, add_special_tokens=False)["input_ids"] for each in options]
            row.options = [[*each, *loaded.stop_ids[:1]] for each in tokens]
            row.budget = max(map(len, row.options))
            if not loaded.stop_ids or not all(tokens):
                problem = "a choice needs an end token and non-empty options"
        case types.TokenBias(bias):
            size = loaded.model.config.get_text_config().vocab_size
            row.bias = {token: float(value) for token, value in bias}
            if any(not 0 <= token < size for token in row.bias):
                problem = f"logit_bias names a token outside 0..{size - 1}"
        case types.JsonObject():
            problem = "a local model takes no JSON schema"
    if problem is not None:
        raise _CannotAsk("unsupported_constraint", problem)
    return row


def _generated(loaded: Loaded, rows: list[_Row]) -> list[types.Completion]:
    import torch
    from transformers import GenerationConfig

    started_at, begun = datetime.now(UTC), perf_counter()
    longest, filler = max(len(row.prompt) for row in rows), _filler(loaded)
    ids = [[filler] * (longest - len(row.prompt)) + row.prompt for row in rows]
    mask = [[0] * (longest - len(row.prompt)) + [1] * len(row.prompt) for row in rows]
    # Nothing of the checkpoint's own settings: the temperature is that of each row, 0 where it has none.
    config: Any = GenerationConfig
    plain = config(
        do_sample=False,
        max_new_tokens=max(row.budget for row in rows),
        pad_token_id=filler,
        eos_token_id=list(loaded.stop_ids) or None,
    )
    own = loaded.model.generation_config
    loaded.model.generation_config = plain
    try:
        with torch.inference_mode():
            loaded.model.generate(
                torch.tensor(ids, device=loaded.device),
                attention_mask=torch.tensor(mask, device=loaded.device),
                generation_config=plain,
                logits_processor=[_Chooser(torch, loaded, rows)],
                stopping_criteria=[
                    lambda ids, _, **__: torch.tensor([row.done for row in rows], device=ids.device)
                ],
            )
    finally:
        loaded.model.generation_config = own
    spent = perf_counter() - begun
    return [_completion(loaded, row, started_at, spent) for row in rows]


class _Chooser:
    """Chooses the next token of each row, writes it down there, and leaves ``generate`` nothing else to take."""

    def __init__(self, torch: Any, loaded: Loaded, rows: Sequence[_Row]) -> None:
        self._torch, self._loaded, self._rows = torch, loaded, rows
        self._stop = loaded.stop_ids or (_filler(loaded),)

    def __call__(self, ids: Any, logits: Any) -> Any:
        plain = self._torch.log_softmax(logits.float(), dim=-1)
        only = self._torch.full_like(plain, -math.inf)
        for place, row in enumerate(self._rows):
            token = self._stop[0]
            if not row.done:
                token = self._next(plain[place], row)
                self._advance(plain[place], row, token)
            only[place, token] = 0.0
        return only

    def _next(self, plain: Any, row: _Row) -> int:
        scores = plain.clone()
        for token, value in row.bias.items():
            scores[token] += value
        if row.options:
            admitted = row.admitted()
            scores = self._torch.full_like(plain, -math.inf)
            scores[admitted] = plain[admitted]
        temperature = row.request.sampling.temperature or 0.0
        if temperature <= 0:
            return int(scores.argmax())
        return int(
            (scores / temperature + _gumbel(self._torch, scores.shape[-1], row).to(scores.device)).argmax()
        )

    def _advance(self, plain: Any, row: _Row, token: int) -> None:
        if token in self._stop:
            row.ended = True
            return
        row.tokens.append(token)
        if (wanted := row.request.sampling.top_logprobs) is not None:
            found = self._torch.topk(plain, min(wanted, plain.shape[-1]))
            top = zip(found.indices.tolist(), found.values.tolist(), strict=True)
            named = tuple((self._word(each), float(value)) for each, value in top)
            row.logprobs.append(types.TokenLogprob(self._word(token), float(plain[token]), named))
        row.ended = bool(row.options) and set(row.admitted()) <= set(
            self._stop
        )  # nothing but the end is left

    def _word(self, token: int) -> str:
        return str(self._loaded.tokenizer.decode([token]))


def _gumbel(torch: Any, size: int, row: _Row) -> Any:
    asked = f"{types.request_json(row.request)}|{len(row.tokens)}".encode("utf-8", "surrogatepass")
    seed = int.from_bytes(hashlib.sha256(asked).digest()[:8], "big") >> 1
    generator = torch.Generator().manual_seed(seed)  # on the CPU: the same on every device
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
