"""Token counts of OpenAI and of the servers that speak its formats."""

from __future__ import annotations

from dataclasses import replace

from metacog_pipeline.llm.types import Usage
from metacog_pipeline.llm.wire import values


def of_chat(usage: values.JsonDict | None) -> Usage:
    """Return the tokens of a chat completion."""
    return _counted(usage, "prompt_tokens", "completion_tokens")


def of_responses(usage: values.JsonDict | None) -> Usage:
    """Return the tokens of a response."""
    return _counted(usage, "input_tokens", "output_tokens")


def _counted(usage: values.JsonDict | None, sent: str, got: str) -> Usage:
    details = values.dict_at(usage, f"{sent}_details")
    cached = values.count_at(details, "cached_tokens")
    counted = Usage(
        values.count_at(usage, sent),
        values.count_at(usage, got),
        values.count_at(values.dict_at(usage, f"{got}_details"), "reasoning_tokens"),
        values.count_at(usage, "prompt_cache_hit_tokens") if cached is None else cached,  # DeepSeek
        values.count_at(details, "cache_write_tokens"),
    )
    return _whole(counted, values.count_at(usage, "total_tokens"))


def _whole(usage: Usage, total: int | None) -> Usage:
    """Return ``usage`` with what its ``total`` holds beside input and output: thought, unless it is what a cache held.

    Some count reasoning beside the completion instead of within it (xAI, Gemini in OpenAI's format), and reasoning that is
    more than the completion cannot be within it. All of it is billed, so all of it is output here.
    """
    sent, got, thought = usage.input_tokens, usage.output_tokens, usage.reasoning_tokens or 0
    if got is None:
        return usage
    beside = values.left_of(total, sent, got)
    if beside and sent is not None and beside == (usage.cached_tokens or 0) + (usage.cache_write_tokens or 0):
        usage, beside = replace(usage, input_tokens=sent + beside), 0
    if thought > got:
        beside = max(beside, thought)
    if not beside:
        return usage
    return replace(usage, output_tokens=got + beside, reasoning_tokens=max(thought, beside))
