"""What an error answer means, decided by HTTP status and the provider's own codes, never by message text."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from metacog_pipeline.errors import one_line
from metacog_pipeline.llm.types import Completion, ErrorKind, Status, failed
from metacog_pipeline.llm.wire import values

STRUCK_OUT = "[key]"
# shorter keys ("EMPTY", "none") are placeholders, and words an answer may hold
SECRET_LENGTH = 12
# characters in a row of a key that are struck out of what a provider says about a call
PART_LENGTH = 8
# characters of a message that are looked at
READ_LIMIT = 20_000
# characters of a provider's message that are kept
MESSAGE_LIMIT = 300
# characters of a model id, code or parameter name
NAME_LIMIT = 200
#: A provider's own words in a completion, and how much of each is kept.
SHOWN = {
    **dict.fromkeys(("model_reported", "finish_reason", "response_id", "system_fingerprint"), NAME_LIMIT),
    **dict.fromkeys(("service_tier", "error_code", "error_param"), NAME_LIMIT),
    **dict.fromkeys(("finish_detail", "error_message"), MESSAGE_LIMIT),
}
#: Codes after which no further call can succeed, with any status.
FATAL_CODES = frozenset({
    "account_deactivated", "api_key_invalid", "authentication_error", "insufficient_balance", "insufficient_credits",
    "insufficient_funds", "insufficient_permissions", "insufficient_quota", "invalid_api_key", "model_not_found",
    "organization_on_hold", "permission_error",
    # Gemini: the account's region or plan does not include the API
    "failed_precondition",
})  # fmt: skip
FATAL_FRAGMENTS = ("billing", "spend_limit")
REFUSAL_CODES = frozenset({"bio_policy", "content_filter", "content_policy_violation", "invalid_prompt",
                           "misalignment_policy_violation", "moderation_blocked"})  # fmt: skip
FATAL_STATUSES = frozenset({401, 402, 403, 407})
TRANSIENT_STATUSES = frozenset({408, 409, 425, 499})
RATE_LIMIT_STATUSES = frozenset({429, 529})
#: Inside a stream, which has no status of its own.
RATE_LIMIT_CODES = frozenset({"overloaded_error", "rate_limit_error", "rate_limit_exceeded"})
#: With 404: vLLM, Ollama and Anthropic, Google. A call names the model and nothing else to look up.
NO_SUCH_MODEL = frozenset({"NotFoundError", "not_found_error", "NOT_FOUND"})
#: Our name for what Gemini blames by its own.
PARAMETERS = {
    "response_mime_type": "response_format",
    "response_schema": "response_format",
    "response_json_schema": "response_format",
    "max_output_tokens": "max_tokens",
    "response_logprobs": "logprobs",
}


def error_kind(status: int, codes: Iterable[str]) -> ErrorKind:
    """Return how a failed call is to be treated."""
    lowered = [code.lower() for code in codes]
    if any(code in FATAL_CODES or any(part in code for part in FATAL_FRAGMENTS) for code in lowered):
        return ErrorKind.FATAL
    if status in RATE_LIMIT_STATUSES or any(code in RATE_LIMIT_CODES for code in lowered):
        return ErrorKind.RATE_LIMIT
    # A redirect is not followed, and the next call would be redirected as well.
    if status in FATAL_STATUSES or 300 <= status < 400:
        return ErrorKind.FATAL
    if status in TRANSIENT_STATUSES or status < 300 or (status >= 500 and status != 501):
        return ErrorKind.TRANSIENT
    return ErrorKind.UNSUPPORTED


def failure(status: int, codes: Iterable[str], message: str, param: str | None = None) -> Completion:
    """Return the completion of an error; ``codes`` are the provider's, the most specific first."""
    named = list(codes)
    code = next(iter(named), None)
    if any(name.lower() in REFUSAL_CODES for name in named):
        return Completion(Status.REFUSED, finish_reason=code, http_status=status)
    message = message or f"HTTP {status} without a message"
    return failed(error_kind(status, named), code, message, http_status=status, error_param=param)


def error_answer(status: int, headers: Mapping[str, str], body: bytes, decoded: object) -> Completion:
    """Return the completion of an error body, or of an error event; one reader for every server."""
    if not isinstance(decoded, dict):
        # such as a proxy's HTML
        page = body.decode("utf-8", "replace")
        if 300 <= status < 400:
            target = headers.get("location", "somewhere else")
            page = f"redirected to {target}: redirects are not followed, correct base_url"
        return failure(status, (), page)
    # OpenAI, Azure (``innererror``), vLLM (unwrapped), xAI (text), OpenRouter, FastAPI (``detail``), Anthropic, Google.
    error = values.dict_at(decoded, "error") or decoded
    named = values.count_at(error, "code")
    if named is not None and 200 <= status < 300 and 400 <= named < 600:
        # of an error inside an answer that claims success
        status = named
    details = values.list_at(error, "details") or []
    param = values.word_at(error, "param") or _fastapi_param(decoded) or _google_param(details)
    said = values.str_at(error, "message") or values.str_at(decoded, "error")
    message = said or values.str_at(decoded, "detail") or ""
    # the field of the body that a path begins with
    param = re.split(r"[.\[]", param)[0] if param else None
    return failure(status, _codes(status, error, details, param), message, param)


def _codes(status: int, error: values.JsonDict, details: list[object], param: str | None) -> list[str]:
    named = (
        values.str_at(error.get("details"), "error_code"),
        values.str_at(error, "code"),
        values.str_at(error.get("innererror"), "code"),
        values.str_at(error, "type"),
        *(values.str_at(detail, "reason") for detail in details),
        values.str_at(error, "status"),
    )
    codes = [code for code in named if code]
    if status == 404 and (param == "model" or not NO_SUCH_MODEL.isdisjoint(codes)):
        codes.append("model_not_found")
    # this input was flagged, others will pass
    if values.list_at(error.get("metadata"), "reasons"):
        codes.append("content_policy_violation")
    quotas = [each for detail in details for each in values.list_at(detail, "violations") or []]
    if any("PerDay" in (values.str_at(each, "quotaId") or "") for each in quotas):
        # a spent daily quota does not come back while a run waits
        codes.append("insufficient_quota")
    return codes


def _fastapi_param(decoded: object) -> str | None:
    location = values.list_at(values.first(values.list_at(decoded, "detail")), "loc") or []
    names = [name for name in location if isinstance(name, str) and name != "body"]
    return names[0] if names else None


def _google_param(details: list[object]) -> str | None:
    """Return the parameter a ``BadRequest`` detail blames, under the name the other wire formats give it."""
    for detail in details:
        field = values.str_at(values.first(values.list_at(detail, "fieldViolations")), "field")
        if field:
            names = [re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower() for name in re.split(r"[.\[]", field)]
            name = names[1] if names[0] == "generation_config" and len(names) > 1 else names[0]
            return PARAMETERS.get(name, name)
    return None


def struck_out(completion: Completion, key: str | None) -> Completion:
    """Return ``completion`` with the provider's own fields made safe to show: without ``key``, on one line, short."""
    secret = key if key is not None and len(key) >= SECRET_LENGTH else None
    safe: dict[str, Any] = {}
    for name, limit in SHOWN.items():
        if (said := getattr(completion, name)) is not None:
            # Parts of the key go too, because providers quote keys with their middle left out.
            without = redacted(said[:READ_LIMIT], key)
            safe[name] = one_line(_parts(secret).sub(STRUCK_OUT, without) if secret else without, limit)
    if secret is not None:
        # The answer's text is left as it came but for the whole key, however it was escaped.
        safe["text"] = redacted(completion.text, secret)
        safe["reasoning_text"] = redacted(completion.reasoning_text or "", secret) or None
        if completion.logprobs and secret in "".join(token.token for token in completion.logprobs):
            # spread over tokens it cannot be struck out
            safe["logprobs"] = ()
    changed = {name: value for name, value in safe.items() if value != getattr(completion, name)}
    return replace(completion, **changed) if changed else completion


def redacted(text: str, key: str | None) -> str:
    """Return ``text`` with every occurrence of ``key`` replaced; use it for anything that may quote a request."""
    for form in _forms(key) if key and text else ():
        text = text.replace(form, STRUCK_OUT)
    return text


@functools.lru_cache(maxsize=16)
def _forms(key: str) -> frozenset[str]:
    return frozenset({key, quote(key, safe=""), key.replace("/", "\\/")})


@functools.lru_cache(maxsize=16)
def _parts(key: str) -> re.Pattern[str]:
    starts = {re.escape(key[at : at + PART_LENGTH]) for at in range(len(key) - PART_LENGTH + 1)}
    return re.compile(f"(?:(?={'|'.join(sorted(starts))}).)+.{{{PART_LENGTH - 1}}}", re.DOTALL)
