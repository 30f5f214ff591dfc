"""Token counts in OpenAI's formats."""

from __future__ import annotations

from metacog_pipeline.llm.types import Usage
from metacog_pipeline.llm.wire import values


def of_chat(usage: values.JsonDict | None) -> Usage:
    """Return the tokens of a chat completion.

    xAI counts reasoning beside the completion instead of within it; its total tells, and so does reasoning that is more
    than the completion. Both are billed, so both are output here.
    """
    got = values.count_at(usage, "completion_tokens")
    sent = values.count_at(usage, "prompt_tokens")
    thought = values.count_at(values.dict_at(usage, "completion_tokens_details"), "reasoning_tokens")
    if got is not None and thought:
        beside = sent is not None and values.count_at(usage, "total_tokens") == sent + got + thought
        if beside or thought > got:
            got += thought
    details = values.dict_at(usage, "prompt_tokens_details")
    cached = values.count_at(details, "cached_tokens")
    if cached is None:
        cached = values.count_at(usage, "prompt_cache_hit_tokens")  # DeepSeek
    return Usage(sent, got, thought, cached, values.count_at(details, "cache_write_tokens"))


def of_responses(usage: values.JsonDict | None) -> Usage:
    """Return the tokens of a response."""
    details = values.dict_at(usage, "input_tokens_details")
    return Usage(
        values.count_at(usage, "input_tokens"),
        values.count_at(usage, "output_tokens"),
        values.count_at(values.dict_at(usage, "output_tokens_details"), "reasoning_tokens"),
        values.count_at(details, "cached_tokens"),
        values.count_at(details, "cache_write_tokens"),
    )
