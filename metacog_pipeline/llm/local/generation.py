"""Answer a batch of requests with a model in this process."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

from metacog_pipeline.errors import one_line
from metacog_pipeline.llm import types
from metacog_pipeline.llm.local.loading import Loaded
from metacog_pipeline.llm.local.rules import Defaults, Row, choose, trie_of


def answer_batch(loaded: Loaded, requests: Sequence[types.ChatRequest]) -> list[types.Completion]:
    """Return how each request ended. What one of them makes impossible fails alone; the others are answered."""
    ended: dict[int, types.Completion] = {}
    prompts: dict[int, list[int]] = {}
    rows: dict[int, Row] = {}
    for place, request in enumerate(requests):
        try:
            prompts[place] = prompt_ids(loaded, request)
            rows[place] = _row(loaded, request, len(prompts[place]))
        except _CannotAsk as error:
            more = {"cost_usd": 0.0, "started_at": datetime.now(UTC)}
            kind = types.ErrorKind.UNSUPPORTED
            ended[place] = types.failed(kind, error.code, one_line(str(error)), **more)
    if rows:
        places = list(rows)
        done = _generated(loaded, [prompts[place] for place in places], [rows[place] for place in places])
        ended.update(zip(places, done, strict=True))
    return [ended[place] for place in range(len(requests))]


class _CannotAsk(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def prompt_ids(loaded: Loaded, request: types.ChatRequest) -> list[int]:
    """Return the tokens of a conversation: by the model's chat template where it has one, else the plain texts.

    The template is applied to every step alike, with its thinking switched off where it knows the word, and tokenised
    once, so that no start token is doubled.
    """
    tokenizer = loaded.tokenizer
    messages = [{"role": each.role, "content": each.content} for each in request.messages]
    if getattr(tokenizer, "chat_template", None):
        try:
            text = tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
            )
        except Exception as error:  # templates are programs of the model's maker
            raise _CannotAsk("chat_template", f"the chat template refuses: {one_line(str(error))}") from None
        found = tokenizer(text, add_special_tokens=False)["input_ids"]
    else:
        found = tokenizer("\n\n".join(each["content"] for each in messages))["input_ids"]
    return list(found) or [_filler(loaded)]


def _row(loaded: Loaded, request: types.ChatRequest, prompt: int) -> Row:
    budget = request.sampling.max_tokens or 1024
    if loaded.context is not None:
        left = loaded.context - prompt
        if left < 1:
            raise _CannotAsk(
                "context_length_exceeded",
                f"the prompt has {prompt} tokens, the model takes {loaded.context}",
            )
        budget = min(budget, left)
    row = Row(request, budget)
    match request.constraint:
        case None:
            pass
        case types.OneOf(options):
            tokens = [loaded.tokenizer(each, add_special_tokens=False)["input_ids"] for each in options]
            if not loaded.stop_ids or not all(tokens):
                raise _CannotAsk(
                    "unsupported_constraint", "a choice needs an end token and non-empty options"
                )
            row.place = trie_of(tokens, loaded.stop_ids[0])
            row.budget = max(len(each) for each in tokens) + 1
        case types.TokenBias(bias):
            size = loaded.model.config.get_text_config().vocab_size
            if any(not 0 <= token < size for token, _ in bias):
                raise _CannotAsk("unsupported_constraint", f"logit_bias names a token outside 0..{size - 1}")
            row.bias = {token: float(value) for token, value in bias}
        case types.JsonObject():
            raise _CannotAsk("unsupported_constraint", "a local model takes no JSON schema")
    return row


def _generated(loaded: Loaded, prompts: Sequence[list[int]], rows: Sequence[Row]) -> list[types.Completion]:
    import torch

    started_at, begun = datetime.now(UTC), perf_counter()
    longest = max(map(len, prompts))
    filler = _filler(loaded)
    ids = torch.tensor([[filler] * (longest - len(each)) + each for each in prompts], device=loaded.device)
    mask = torch.tensor(
        [[0] * (longest - len(each)) + [1] * len(each) for each in prompts], device=loaded.device
    )
    stop = loaded.stop_ids or (filler,)
    defaults = _defaults(loaded)
    decode = _decoder(loaded)
    cache: Any = None
    step = ids
    with torch.inference_mode():
        while not all(row.ended or row.full for row in rows):
            positions = mask.cumsum(-1).sub(1).clamp(min=0)[:, -step.shape[1] :]
            optional = {"position_ids": positions, "logits_to_keep": 1}
            out = loaded.model(
                input_ids=step,
                attention_mask=mask,
                past_key_values=cache,
                use_cache=True,
                **{name: value for name, value in optional.items() if name in loaded.takes},
            )
            cache = out.past_key_values
            step = choose(torch, out.logits[:, -1], rows, defaults, decode, stop)[:, None]
            mask = torch.cat([mask, mask.new_ones(len(rows), 1)], dim=1)
            _stop_at_words(loaded, rows)
    spent = perf_counter() - begun
    return [
        _completion(loaded, row, len(prompt), started_at, spent)
        for row, prompt in zip(rows, prompts, strict=True)
    ]


def _stop_at_words(loaded: Loaded, rows: Sequence[Row]) -> None:
    for row in rows:
        words = row.request.sampling.stop
        if words and not row.ended and any(word in _text(loaded, row) for word in words):
            row.ended = True


def _completion(
    loaded: Loaded, row: Row, prompt_tokens: int, started_at: datetime, spent: float
) -> types.Completion:
    text = _text(loaded, row)
    for word in row.request.sampling.stop:
        text = text.partition(word)[0]
    return types.Completion(
        types.Status.OK if row.ended else types.Status.TRUNCATED,
        text=text,
        finish_reason="stop" if row.ended else "length",
        model_reported=loaded.reported,
        usage=types.Usage(prompt_tokens, len(row.tokens)),
        cost_usd=0.0,
        logprobs=tuple(row.logprobs),
        started_at=started_at,
        latency_s=spent,
    )


def _text(loaded: Loaded, row: Row) -> str:
    return str(loaded.tokenizer.decode(row.tokens, skip_special_tokens=True))


def _decoder(loaded: Loaded) -> Any:
    return lambda token: str(loaded.tokenizer.decode([token]))


def _filler(loaded: Loaded) -> int:
    pad = loaded.tokenizer.pad_token_id
    return int(pad if pad is not None else loaded.stop_ids[0] if loaded.stop_ids else 0)


def _defaults(loaded: Loaded) -> Defaults:
    found = loaded.model.generation_config
    if not getattr(found, "do_sample", False):
        return Defaults()
    return Defaults(
        temperature=float(found.temperature or 1.0),
        top_k=int(found.top_k or 0),
        top_p=float(found.top_p if found.top_p is not None else 1.0),
    )
