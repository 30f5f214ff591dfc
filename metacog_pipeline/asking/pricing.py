"""What planned calls would cost: expected and at most, online and through batches."""

from __future__ import annotations

from dataclasses import dataclass

from metacog_pipeline.asking.cost_estimate import CostEstimate
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.costs import batch_price_factor, usage_cost
from metacog_pipeline.llm.spec import IN_PROCESS, ModelSpec
from metacog_pipeline.llm.types import Usage

NOTHING = 0.0


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars of planned calls.

    ``expected`` takes every answer as long as it may get, thinking as long as the longest seen, and starts of prompts that
    repeat as read from the provider's cache. ``at_most`` takes thinking as long as it may get, and no cache.
    """

    expected: float
    at_most: float


def thinking_at_most(spec: ModelSpec, known: Capabilities | None) -> int:
    """Return how many tokens may be thought before one answer."""
    if spec.provider in IN_PROCESS:
        return 0
    seen = known or NOTHING_KNOWN
    room = seen.thinking_room(spec)
    return room if seen.context is None else min(room, seen.context)


def thinking_expected(spec: ModelSpec, known: Capabilities | None) -> int:
    """Return how many tokens will be thought before one answer, as far as that was seen; else what the study asks for."""
    room, seen = thinking_at_most(spec, known), known or NOTHING_KNOWN
    if seen.reasons is False:
        return 0
    if seen.reasoning_tokens is not None:
        return min(room, seen.reasoning_tokens)
    if seen.reasoning_share:
        return min(
            room, round(spec.max_tokens * seen.reasoning_share / (1 - min(seen.reasoning_share, 0.999)))
        )
    return room if seen.reasons or spec.thinking_tokens is not None else 0


def online(spec: ModelSpec, estimate: CostEstimate, known: Capabilities | None) -> Price | None:
    """Return what the calls of ``estimate`` cost one by one; ``None`` when the model has no price."""
    return _price(spec, estimate, known, _usages(spec, estimate, known, cached=True), batch=False)


def batched(spec: ModelSpec, estimate: CostEstimate, known: Capabilities | None) -> Price | None:
    """Return what they cost through batches; ``None`` without a price, and where nothing says that there are any.

    Calls of a batch are made in any order, hours apart: nothing is expected of the prompt cache.
    """
    if spec.provider in IN_PROCESS or (spec.lane == "online" and batch_price_factor(spec) is None):
        return None
    return _price(spec, estimate, known, _usages(spec, estimate, known, cached=False), batch=True)


def cache_saves(spec: ModelSpec, estimate: CostEstimate, known: Capabilities | None) -> float | None:
    """Return by how many dollars the prompt cache lowers what is expected online; ``None`` without a price of it."""
    if spec.price_cached_in is None or not estimate.tokens_repeated:
        return None
    with_cache = usage_cost(spec, _usages(spec, estimate, known, cached=True))
    without = usage_cost(spec, _usages(spec, estimate, known, cached=False))
    return None if with_cache is None or without is None else without - with_cache


def _usages(spec: ModelSpec, estimate: CostEstimate, known: Capabilities | None, *, cached: bool) -> Usage:
    thought = estimate.sends * thinking_expected(spec, known)
    repeated = estimate.tokens_repeated if cached else 0
    written = estimate.tokens_new if cached and _pays_for_writing(spec) else 0
    return Usage(_tokens_in(estimate, known), estimate.tokens_out + thought, thought, repeated, written)


def _tokens_in(estimate: CostEstimate, known: Capabilities | None) -> int:
    """Return the tokens of the prompts, with what bills have shown to be added to each on the way."""
    return estimate.tokens_in + estimate.sends * ((known or NOTHING_KNOWN).hidden_tokens or 0)


def _pays_for_writing(spec: ModelSpec) -> bool:
    """Whether writing to the prompt cache is expected to cost more than sending: where that is known of the provider."""
    return spec.provider == "anthropic" or spec.price_cache_write is not None


def _price(
    spec: ModelSpec, estimate: CostEstimate, known: Capabilities | None, expected: Usage, *, batch: bool
) -> Price | None:
    if estimate.to_ask == 0:
        return Price(NOTHING, NOTHING)
    thought = estimate.sends * thinking_at_most(spec, known)
    whole = estimate.tokens_out + thought
    long = estimate.tokens_repeated + estimate.tokens_new
    # Long prompts may be written to the cache each time, or never; thinking may cost less than text, or more.
    worst = [
        usage_cost(spec, Usage(_tokens_in(estimate, known), whole, reasoning, 0, written), batch=batch)
        for reasoning in (0, thought)
        for written in (0, long)
    ]
    likely = usage_cost(spec, expected, batch=batch)
    priced = [each for each in worst if each is not None]
    return None if likely is None or not priced else Price(likely, max(likely, *priced))
