"""Error bodies and token counts of OpenAI and of the servers that speak its formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from metacog_pipeline.llm.types import Usage
from metacog_pipeline.llm.wire import errors, google, values

NO_SUCH_MODEL = frozenset({"NotFoundError", "not_found_error"})  # vLLM, Ollama: the only thing they look up


def problem(
    status_code: int, headers: Mapping[str, str], body: bytes, decoded: object
) -> errors.ProviderProblem:
    """Read the error forms of OpenAI, vLLM (also unwrapped), xAI (``error`` as text), FastAPI (``detail``), Google."""
    if not isinstance(decoded, dict):
        return errors.raw_problem(status_code, headers, body)
    error = values.dict_at(decoded, "error") or decoded
    inner = values.dict_at(error, "innererror")
    named = (values.str_at(error, "code"), values.str_at(inner, "code"), values.str_at(error, "type"))
    of_google = google.problem(status_code, values.dict_at(decoded, "error") or {})
    codes = (*(code for code in named if code), *of_google.codes)
    param = values.word_at(error, "param") or _fastapi_param(decoded) or of_google.param
    if status_code == 404 and (param == "model" or any(code in NO_SUCH_MODEL for code in codes)):
        codes = (*codes, "model_not_found")
    if values.list_at(
        values.dict_at(error, "metadata"), "reasons"
    ):  # OpenRouter: this input was flagged, others will pass
        codes = (*codes, "content_policy_violation")
    message = (
        values.str_at(error, "message")
        or values.str_at(decoded, "error")
        or values.str_at(decoded, "detail")
        or ""
    )
    return errors.ProviderProblem(codes, message, _top_level(param))


def _fastapi_param(decoded: object) -> str | None:
    location = values.list_at(values.first(values.list_at(decoded, "detail")), "loc") or []
    names = [name for name in location if isinstance(name, str) and name != "body"]
    return names[0] if names else None


def _top_level(param: str | None) -> str | None:
    """Return the body field a parameter path begins with: ``response_format`` of ``response_format.json_schema``."""
    return param.split(".")[0].split("[")[0] if param else None


def of_chat(usage: values.JsonDict | None) -> Usage:
    """Return the tokens of a chat completion."""
    details = values.dict_at(usage, "prompt_tokens_details")
    cached = values.count_at(details, "cached_tokens")
    if cached is None:
        cached = values.count_at(usage, "prompt_cache_hit_tokens")  # DeepSeek
    counted = Usage(
        values.count_at(usage, "prompt_tokens"),
        values.count_at(usage, "completion_tokens"),
        values.count_at(values.dict_at(usage, "completion_tokens_details"), "reasoning_tokens"),
        cached,
        values.count_at(details, "cache_write_tokens"),
    )
    return _whole(counted, values.count_at(usage, "total_tokens"))


def of_responses(usage: values.JsonDict | None) -> Usage:
    """Return the tokens of a response."""
    details = values.dict_at(usage, "input_tokens_details")
    counted = Usage(
        values.count_at(usage, "input_tokens"),
        values.count_at(usage, "output_tokens"),
        values.count_at(values.dict_at(usage, "output_tokens_details"), "reasoning_tokens"),
        values.count_at(details, "cached_tokens"),
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
