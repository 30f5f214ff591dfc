"""What a call may cost, what it did cost, and how many tokens a text is likely to be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from metacog_pipeline.files import canonical_json
from metacog_pipeline.llm import types
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, Status, Usage

# usual for English prose under byte-pair vocabularies; a heuristic
BYTES_PER_TOKEN = 4
# in one token: the longest of the vocabularies in use is a run of so many spaces
MOST_CHARACTERS = 128
# role markers and separators a chat template puts around one message
MESSAGE_OVERHEAD_TOKENS = 16
# start of sequence, default system lines, reply priming
REQUEST_OVERHEAD_TOKENS = 64
# instructions a provider adds when an answer is held to a schema
SCHEMA_OVERHEAD_TOKENS = 1024
# numbers in an extra body are not checked; beyond this they only have to be too much
MOST_TOKENS = 10**12
# prices are dollars per million tokens
TOKENS_PER_PRICE = 1_000_000
# what Anthropic, and OpenAI since gpt-5.6, bill for input written to the cache
CACHE_WRITE_FACTOR = 1.25
# no provider caches a shorter prompt
LEAST_CACHED_TOKENS = 1024
# OpenAI, Anthropic and Gemini alike
OFFICIAL_BATCH_FACTOR = 0.5
NO_USAGE = "reports no usage"
# the code of a call to a model that is not asked again
OVERBILLED = "overbilled"
TOLERATED_TOKENS = 32
# of a limit: what a server generates before it looks at its count again
TOLERATED_SHARE = 0.02
#: Keys of an extra body that raise what may be generated.
_LIMIT_KEYS = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "num_predict",
                         "n_predict"})  # fmt: skip
_THINKING_KEYS = frozenset({"budget_tokens", "thinkingBudget", "thinking_budget"})
_COPIES_KEYS = frozenset({"n", "candidateCount", "best_of"})


# An estimate is for plans and rate limits, where being right on average matters.
def estimate_tokens(text: str) -> int:
    """Return about how many tokens ``text`` is: its UTF-8 bytes over four, rounded up."""
    return -(-_byte_length(text) // BYTES_PER_TOKEN)


def estimate_input_tokens(request: ChatRequest) -> int:
    """Return about how many tokens the prompt of ``request`` is; four are added for each message's markers."""
    return sum(estimate_tokens(m.content) + 4 for m in request.messages)


# A bound is for the budget: a token for each byte, and what chat templates and schemas add. It is never too low.
def input_token_bound(spec: ModelSpec, request: ChatRequest) -> int:
    """Return a number of input tokens that ``request`` cannot be billed above."""
    total = REQUEST_OVERHEAD_TOKENS
    for message in request.messages:
        total += MESSAGE_OVERHEAD_TOKENS + _byte_length(message.content)
    if isinstance(request.constraint, types.JsonObject | types.OneOf):
        total += SCHEMA_OVERHEAD_TOKENS + len(canonical_json(types.constraint_fields(request.constraint)))
    # tools, documents and the like are read as input too
    if spec.extra_body:
        total += len(canonical_json(spec.extra_body))
    return total


def output_token_bound(spec: ModelSpec, request: ChatRequest, known: Capabilities = NOTHING_KNOWN) -> int:
    """Return a number of output tokens, thinking included, that ``request`` cannot be billed above."""
    limit = known.token_limit(spec, request) or spec.max_tokens + known.thinking_room(spec)
    thinking, copies = 0, 1
    for key, number in _numbers(spec.extra_body):
        if key in _LIMIT_KEYS:
            limit = max(limit, number)
        elif key in _THINKING_KEYS:
            thinking += max(0, number)
        elif key in _COPIES_KEYS:
            copies *= max(1, number)
    return min((limit + thinking) * copies, MOST_TOKENS)


def priced(spec: ModelSpec) -> bool:
    """Whether a cost is known: the model is free, or both of its prices are given."""
    return price_list(spec) is not None


def batch_price_factor(spec: ModelSpec) -> float | None:
    """Return what a batch costs times the online price: as given, else half at an official address, else unknown."""
    if spec.batch_factor is not None:
        return spec.batch_factor
    return OFFICIAL_BATCH_FACTOR if spec.at_official_address else None


def price_list(spec: ModelSpec, *, batch: bool = False) -> dict[str, float] | None:
    """Return the dollars per million tokens of each kind, and the factor of the lane; ``None`` without both prices."""
    if spec.free:
        return dict.fromkeys(("in", "cached_in", "cache_write", "out", "reasoning"), 0.0) | {"factor": 1.0}
    if spec.price_in is None or spec.price_out is None:
        return None
    price_in, written = spec.price_in, spec.price_cache_write
    factor = batch_price_factor(spec) if batch else None
    return {
        "in": price_in,
        "cached_in": price_in if spec.price_cached_in is None else spec.price_cached_in,
        "cache_write": price_in * CACHE_WRITE_FACTOR if written is None else written,
        "out": spec.price_out,
        "reasoning": spec.price_out if spec.price_reasoning is None else spec.price_reasoning,
        "factor": 1.0 if factor is None else factor,
    }


def usage_cost(spec: ModelSpec, usage: Usage, *, batch: bool = False) -> float | None:
    """Return the dollars of ``usage``; 0 for a free model, ``None`` for one without both prices."""
    prices = price_list(spec, batch=batch)
    if prices is None:
        return None
    sent, got = usage.input_tokens or 0, usage.output_tokens or 0
    # A part is never below 0, which some server said, nor above its whole.
    cached = max(0, min(usage.cached_tokens or 0, sent))
    written = max(0, min(usage.cache_write_tokens or 0, sent - cached))
    thought = max(0, min(usage.reasoning_tokens or 0, got))
    # Linear in the counts, so that a cost can be computed again from what is kept, for one call or a sum of them.
    dollars = (
        (sent - cached - written) * prices["in"]
        + cached * prices["cached_in"]
        + written * prices["cache_write"]
        + (got - thought) * prices["out"]
        + thought * prices["reasoning"]
    )
    return dollars * prices["factor"] / TOKENS_PER_PRICE


def believed(usage: Usage, *, said: bool = False) -> Usage:
    """Return ``usage`` without the zeros of servers that count nothing: no prompt is empty, nor what ``said`` something."""
    no_input = not usage.input_tokens
    no_output = not usage.output_tokens and (said or no_input)
    if no_input:
        usage = replace(usage, input_tokens=None, cached_tokens=None, cache_write_tokens=None)
    return replace(usage, output_tokens=None, reasoning_tokens=None) if no_output else usage


def worst_case_cost(
    spec: ModelSpec, request: ChatRequest, known: Capabilities = NOTHING_KNOWN, *, batch: bool = False
) -> float | None:
    """Return the most dollars one attempt of ``request`` can be billed; ``None`` when the model has no price."""
    prices = price_list(spec, batch=batch)
    if prices is None:
        return None
    most_in = input_token_bound(spec, request) + (known.hidden_tokens or 0)
    most_out = output_token_bound(spec, request, known)
    dearest_in = prices["in"]
    if most_in >= LEAST_CACHED_TOKENS:
        dearest_in = max(dearest_in, prices["cached_in"], prices["cache_write"])
    dearest_out = max(prices["out"], prices["reasoning"])
    return (most_in * dearest_in + most_out * dearest_out) * prices["factor"] / TOKENS_PER_PRICE


@dataclass(frozen=True, slots=True)
class Bill:
    """What a call is charged."""

    cost: float | None  # in dollars; None without a price
    # why it is not what was reported
    doubt: str | None = None
    # more was reported than the request allows
    above: bool = False


def reconciled(
    spec: ModelSpec,
    completion: Completion,
    request: ChatRequest,
    known: Capabilities = NOTHING_KNOWN,
    *,
    batch: bool = False,
) -> Bill:
    """Return what the call that brought ``completion`` is charged: the one rule for every protocol and lane."""
    usage = believed(completion.usage, said=bool(completion.text or completion.reasoning_text))
    sent, got = usage.input_tokens, usage.output_tokens
    # A reported count is never below the fewest tokens that what was sent, or received, can be.
    least_in = fewest_tokens("".join(message.content for message in request.messages))
    most_in = input_token_bound(spec, request) + (known.hidden_tokens or 0)
    thought = completion.reasoning_text or ""
    # not within the text, between tags
    shown_apart = thought not in completion.text
    least_out = fewest_tokens(completion.text) + (fewest_tokens(thought) if shown_apart else 0)
    most_out = output_token_bound(spec, request, known)
    # A count that is missing is the most that can have been billed.
    if sent is None:
        # the dearest it can have been
        written = most_in if most_in >= LEAST_CACHED_TOKENS else None
        usage = replace(usage, input_tokens=most_in, cached_tokens=None, cache_write_tokens=written)
    elif not least_in <= sent <= most_in:
        usage = replace(usage, input_tokens=max(least_in, min(sent, most_in)))
    if got is None:
        most = _most_received(spec, completion, most_out, known)
        dearer = (spec.price_reasoning or 0) > (spec.price_out or 0)
        usage = replace(usage, output_tokens=most, reasoning_tokens=most if dearer else 0)
    elif not least_out <= got <= most_out:  # what was received goes before what was allowed
        usage = replace(usage, output_tokens=max(least_out, min(got, most_out)))
    doubt = _doubt(got, least_out, most_out, "output tokens for a reply")
    doubt = doubt or _doubt(sent, least_in, most_in, "input tokens for a prompt")
    above = (sent or 0) > most_in or (got or 0) > most_out
    return Bill(usage_cost(spec, usage, batch=batch), doubt, above)


def _doubt(count: int | None, least: int, most: int, of_what: str) -> str | None:
    """Return why another count is charged than was reported; None where it is the same."""
    if count is None:
        return NO_USAGE
    if count < least:
        return f"reported {count:,} {of_what} of at least {least:,}"
    return f"reported {count:,} {of_what} of at most {most:,}" if beyond(count, most) else None


def beyond(count: int, most: int) -> bool:
    """Whether a bill is above the most; some servers also count a handful of tokens of their template."""
    return count > most + max(TOLERATED_TOKENS, most * TOLERATED_SHARE)


def fewest_tokens(text: str) -> int:
    """Return the fewest tokens ``text`` can be in any vocabulary in use."""
    return -(-len(text) // MOST_CHARACTERS)


def _most_received(spec: ModelSpec, completion: Completion, allowed: int, known: Capabilities) -> int:
    """Return the most output tokens a reply without a count can have been billed."""
    told_not_to_think = spec.thinking_tokens == 0 and spec.provider != "openai"
    # thinking is shown in part, or not at all
    shows_all = known.reasons is False or told_not_to_think
    if completion.status is Status.FAILED or not shows_all:
        return allowed
    received = _byte_length(completion.text) + _byte_length(completion.reasoning_text or "")
    return min(allowed, received + MESSAGE_OVERHEAD_TOKENS)


def _byte_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _numbers(value: object) -> Iterator[tuple[str, int]]:
    """Yield every (key, whole number) at any depth of ``value``."""
    pairs = (
        value.items() if isinstance(value, Mapping) else enumerate(value if isinstance(value, list) else ())
    )
    for key, inner in pairs:
        if isinstance(inner, (int, float)) and not isinstance(inner, bool):
            yield str(key), int(min(inner, MOST_TOKENS))
        else:
            yield from _numbers(inner)


def bill_problem(spec: ModelSpec, known: Capabilities) -> str | None:
    """Return why ``spec`` is not asked again, and what to do, where a bill showed that a request has no most."""
    if spec.free or known.overbilled is None:
        return None
    return (
        f"billed {known.overbilled:,} tokens once, more than the request allowed, and is not asked again, because no "
        "budget holds then: raise thinking_tokens or max_tokens of its row, lower effort, or ask the provider directly"
    )
