"""What a call may cost, what it did cost, and how many tokens a text is likely to be.

Two different questions, two different answers. The *estimate* (four bytes of UTF-8 per token) is for plans and rate
limits, where being right on average is what matters. The *bound* (one byte per token, plus what chat templates and
schemas add) is for the budget, where being too low even once would matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from metacog_pipeline.files import canonical_json
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, JsonObject, OneOf, Usage

BYTES_PER_TOKEN = 4  # usual for English prose under byte-pair vocabularies; a heuristic
MESSAGE_OVERHEAD_TOKENS = 16  # role markers and separators a chat template puts around one message
REQUEST_OVERHEAD_TOKENS = 64  # start of sequence, default system lines, reply priming
SCHEMA_OVERHEAD_TOKENS = 1024  # instructions a provider adds when an answer is held to a schema
DEFAULT_OUTPUT_TOKENS = 4096  # a request without a limit of its own, when the model row has none either
MOST_TOKENS = 10**12  # numbers in an extra body are not checked; beyond this they only have to be too much
TOKENS_PER_PRICE = 1_000_000  # prices are dollars per million tokens

_LIMIT_KEYS = frozenset(
    {
        "max_tokens",
        "max_completion_tokens",
        "max_output_tokens",
        "maxOutputTokens",
        "num_predict",
        "n_predict",
    }
)
_THINKING_KEYS = frozenset({"budget_tokens", "thinkingBudget", "thinking_budget"})
_COPIES_KEYS = frozenset({"n", "candidateCount", "best_of"})


def estimate_tokens(text: str) -> int:
    """Return about how many tokens ``text`` is: its UTF-8 bytes over four, rounded up."""
    return -(-_byte_length(text) // BYTES_PER_TOKEN)


def estimate_input_tokens(request: ChatRequest) -> int:
    """Return about how many tokens the prompt of ``request`` is; four are added for each message's markers."""
    return sum(estimate_tokens(m.content) + 4 for m in request.messages)


def input_token_bound(spec: ModelSpec, request: ChatRequest) -> int:
    """Return a number of input tokens that ``request`` cannot be billed above.

    A token covers at least one byte of text, so the bytes of the messages, the constraint and the extra body bound
    it; what templates and schema instructions add is bounded by the named constants.
    """
    total = REQUEST_OVERHEAD_TOKENS
    for message in request.messages:
        total += MESSAGE_OVERHEAD_TOKENS + _byte_length(message.content)
    match request.constraint:
        case JsonObject(name, schema_json):
            total += SCHEMA_OVERHEAD_TOKENS + _byte_length(name) + _byte_length(schema_json)
        case OneOf(options):
            total += SCHEMA_OVERHEAD_TOKENS + sum(_byte_length(o) for o in options)
        case _:
            pass
    if spec.extra_body:  # tools, documents and the like are read as input too
        total += len(canonical_json(spec.extra_body))
    return total


def output_token_bound(spec: ModelSpec, request: ChatRequest) -> int:
    """Return a number of output tokens that ``request`` cannot be billed above.

    The request's own limit, raised by any larger limit, thinking allowance or number of copies that the model row
    asks for in its extra body.
    """
    limit = request.sampling.max_tokens or spec.max_tokens or DEFAULT_OUTPUT_TOKENS
    if not spec.extra_body:
        return limit
    thinking = 0
    copies = 1
    for key, number in _numbers(spec.extra_body):
        if key in _LIMIT_KEYS:
            limit = max(limit, number)
        elif key in _THINKING_KEYS:
            thinking += max(0, number)
        elif key in _COPIES_KEYS:
            copies *= max(1, number)
    return min((limit + thinking) * copies, MOST_TOKENS)


def priced(spec: ModelSpec) -> bool:
    """Whether a cost can be told: the model is free, or both of its prices are given."""
    return spec.free or (spec.price_in is not None and spec.price_out is not None)


def cost_of(spec: ModelSpec, input_tokens: int, output_tokens: int) -> float | None:
    """Return the dollars of so many tokens; 0 for a free model, ``None`` for one without both prices."""
    if spec.free:
        return 0.0
    if spec.price_in is None or spec.price_out is None:
        return None
    return (input_tokens * spec.price_in + output_tokens * spec.price_out) / TOKENS_PER_PRICE


def worst_case_cost(spec: ModelSpec, request: ChatRequest) -> float | None:
    """Return the most dollars one attempt of ``request`` can be billed; ``None`` when the model has no price."""
    return cost_of(spec, input_token_bound(spec, request), output_token_bound(spec, request))


def billed_cost(spec: ModelSpec, request: ChatRequest, usage: Usage) -> float | None:
    """Return the dollars of the reported ``usage``; a count that is missing or negative is taken at its bound."""
    used_in, used_out = usage.input_tokens, usage.output_tokens
    if used_in is None or used_in < 0:
        used_in = input_token_bound(spec, request)
    if used_out is None or used_out < 0:
        used_out = output_token_bound(spec, request)
    return cost_of(spec, used_in, used_out)


def _byte_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _numbers(value: object) -> Iterator[tuple[str, int]]:
    """Yield every (key, whole number) at any depth of ``value``."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if isinstance(inner, (int, float)) and not isinstance(inner, bool):
                yield str(key), int(min(inner, MOST_TOKENS))
            else:
                yield from _numbers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _numbers(inner)
