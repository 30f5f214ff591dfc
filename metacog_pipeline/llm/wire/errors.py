"""What an error answer means, decided by HTTP status and the provider's own codes, never by message text."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from metacog_pipeline.errors import one_line
from metacog_pipeline.llm.types import Completion, ErrorKind, Status, failed
from metacog_pipeline.llm.wire import values

STRUCK_OUT = "[key]"
SECRET_LENGTH = 12  # shorter keys ("EMPTY", "none") are placeholders, and words an answer may hold
PART_LENGTH = 8  # characters in a row of a key that are struck out of what a provider says about a call
READ_LIMIT = 20_000  # characters of a message that are looked at
MESSAGE_LIMIT = 300  # characters of a provider's message that are kept
NAME_LIMIT = 200  # characters of a model id, code or parameter name
#: A provider's own words in a completion, and how much of each is kept.
SHOWN = {
    "model_reported": NAME_LIMIT,
    "finish_reason": NAME_LIMIT,
    "finish_detail": MESSAGE_LIMIT,
    "response_id": NAME_LIMIT,
    "system_fingerprint": NAME_LIMIT,
    "service_tier": NAME_LIMIT,
    "error_code": NAME_LIMIT,
    "error_param": NAME_LIMIT,
    "error_message": MESSAGE_LIMIT,
}

# Codes after which no further call can succeed, whatever status they come with.
FATAL_CODES = frozenset(
    {
        "account_deactivated",
        "api_key_invalid",
        "authentication_error",
        "failed_precondition",  # Gemini: the account's region or plan does not include the API
        "insufficient_balance",
        "insufficient_credits",
        "insufficient_funds",
        "insufficient_permissions",
        "insufficient_quota",
        "invalid_api_key",
        "model_not_found",
        "organization_on_hold",
        "permission_error",
    }
)
FATAL_FRAGMENTS = ("billing", "spend_limit")
REFUSAL_CODES = frozenset(
    {
        "bio_policy",
        "content_filter",
        "content_policy_violation",
        "invalid_prompt",
        "misalignment_policy_violation",
        "moderation_blocked",
    }
)
FATAL_STATUSES = frozenset({401, 402, 403, 407})
TRANSIENT_STATUSES = frozenset({408, 409, 425, 499})
RATE_LIMIT_STATUSES = frozenset({429, 529})
RATE_LIMIT_CODES = frozenset(
    {"overloaded_error", "rate_limit_error", "rate_limit_exceeded"}
)  # inside a stream


NO_SUCH_MODEL = frozenset({"NotFoundError", "not_found_error"})  # vLLM, Ollama: the only thing they look up
PARAMETERS = {  # our name for what Gemini blames by its own
    "response_mime_type": "response_format",
    "response_schema": "response_format",
    "response_json_schema": "response_format",
    "max_output_tokens": "max_tokens",
    "response_logprobs": "logprobs",
}


@dataclass(frozen=True, slots=True)
class ProviderProblem:
    """An error body in one form: ``codes`` most specific first, the parameter blamed, the message."""

    codes: tuple[str, ...] = ()
    message: str = ""
    param: str | None = None


def error_kind(status_code: int, codes: tuple[str, ...]) -> ErrorKind:
    """Return how a failed call is to be treated."""
    lowered = tuple(code.lower() for code in codes)
    if any(code in FATAL_CODES or any(part in code for part in FATAL_FRAGMENTS) for code in lowered):
        return ErrorKind.FATAL
    if status_code in RATE_LIMIT_STATUSES or any(code in RATE_LIMIT_CODES for code in lowered):
        return ErrorKind.RATE_LIMIT
    # A redirect is not followed, and the next call would be redirected as well.
    if status_code in FATAL_STATUSES or 300 <= status_code < 400:
        return ErrorKind.FATAL
    if status_code in TRANSIENT_STATUSES or status_code < 300 or (status_code >= 500 and status_code != 501):
        return ErrorKind.TRANSIENT
    return ErrorKind.UNSUPPORTED


def failure(status_code: int, problem: ProviderProblem) -> Completion:
    """Return the completion of an error answer: ``refused`` for a content policy's code, else ``failed``."""
    code = problem.codes[0] if problem.codes else None
    if any(name.lower() in REFUSAL_CODES for name in problem.codes):
        return Completion(Status.REFUSED, finish_reason=code, http_status=status_code)
    kind = error_kind(status_code, problem.codes)
    message = problem.message or f"HTTP {status_code} without a message"
    return failed(kind, code, message, http_status=status_code, error_param=problem.param)


def status_within(status_code: int, error: object) -> int:
    """Return the status an error body names in ``code`` when the answer itself claims success, else ``status_code``."""
    named = values.count_at(error, "code")
    return named if named is not None and 200 <= status_code < 300 and 400 <= named < 600 else status_code


def unreadable(status_code: int, what: str) -> Completion:
    """Return the completion of a 2xx answer whose body is not what the provider promises: worth another try."""
    return failure(status_code, ProviderProblem(("invalid_body",), what))


def raw_problem(status_code: int, headers: Mapping[str, str], body: bytes) -> ProviderProblem:
    """Return what can be said about an error body that is no JSON object, such as a proxy's HTML page."""
    if 300 <= status_code < 400:
        target = {name.lower(): value for name, value in headers.items()}.get("location", "somewhere else")
        return ProviderProblem((), f"redirected to {target}: redirects are not followed, correct base_url")
    return ProviderProblem((), body.decode("utf-8", "replace"))


def openai_problem(
    status_code: int, headers: Mapping[str, str], body: bytes, decoded: object
) -> ProviderProblem:
    """Read the error forms of OpenAI, vLLM (also unwrapped), xAI (``error`` as text), FastAPI (``detail``), Google."""
    if not isinstance(decoded, dict):
        return raw_problem(status_code, headers, body)
    error = values.dict_at(decoded, "error") or decoded
    inner = values.dict_at(error, "innererror")
    named = (values.str_at(error, "code"), values.str_at(inner, "code"), values.str_at(error, "type"))
    of_google = google_problem(status_code, values.dict_at(decoded, "error") or {})
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
    return ProviderProblem(codes, message, _top_level(param))


def _fastapi_param(decoded: object) -> str | None:
    location = values.list_at(values.first(values.list_at(decoded, "detail")), "loc") or []
    names = [name for name in location if isinstance(name, str) and name != "body"]
    return names[0] if names else None


def _top_level(param: str | None) -> str | None:
    """Return the body field a parameter path begins with: ``response_format`` of ``response_format.json_schema``."""
    return param.split(".")[0].split("[")[0] if param else None


def google_problem(status_code: int, error: values.JsonDict) -> ProviderProblem:
    """Read ``error``, the object below ``error``: the reasons of its details, then its status; the parameter blamed."""
    details = values.list_at(error, "details") or []
    reasons = [reason for reason in (values.str_at(detail, "reason") for detail in details) if reason]
    codes = (*reasons, *([status] if (status := values.str_at(error, "status")) else []))
    if status_code == 404 and status == "NOT_FOUND":
        codes = (*codes, "model_not_found")  # a call names the model and nothing else
    if any(_per_day(detail) for detail in details):
        codes = (*codes, "insufficient_quota")  # a spent daily quota does not come back while a run waits
    return ProviderProblem(codes, values.str_at(error, "message") or "", _param(details))


def _per_day(detail: object) -> bool:
    violations = values.list_at(detail, "violations") or []
    return any("PerDay" in (values.str_at(violation, "quotaId") or "") for violation in violations)


def _param(details: list[object]) -> str | None:
    """Return the parameter a ``BadRequest`` detail blames, under the name the other wire formats give it."""
    for detail in details:
        field = values.str_at(values.first(values.list_at(detail, "fieldViolations")), "field")
        if field:
            names = [re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower() for name in re.split(r"[.\[]", field)]
            name = names[1] if names[0] == "generation_config" and len(names) > 1 else names[0]
            return PARAMETERS.get(name, name)
    return None


def struck_out(completion: Completion, key: str | None) -> Completion:
    """Return ``completion`` with the provider's own fields made safe to show: without ``key``, on one line, short.

    Striking out comes before shortening, and takes parts of the key too, because providers quote keys with their
    middle left out. The answer's text is left as it came but for the whole key, however it was escaped.
    """

    def clean(text: str, limit: int) -> str:
        return one_line(_without_parts(text[:READ_LIMIT], key), limit)

    secret = key if key is not None and len(key) >= SECRET_LENGTH else None
    text, logprobs = completion.text, completion.logprobs
    if secret is not None and logprobs and secret in "".join(token.token for token in logprobs):
        logprobs = ()  # spread over tokens it cannot be struck out
    thought = completion.reasoning_text
    safe: dict[str, Any] = {
        "text": redacted(text, secret),
        "logprobs": logprobs,
        "reasoning_text": None if thought is None else redacted(thought, secret),
    }
    for name, limit in SHOWN.items():
        if (said := getattr(completion, name)) is not None:
            safe[name] = clean(said, limit)
    changed = {name: value for name, value in safe.items() if value != getattr(completion, name)}
    return replace(completion, **changed) if changed else completion


def redacted(text: str, key: str | None) -> str:
    """Return ``text`` with every occurrence of ``key`` replaced; use it for anything that may quote a request."""
    if not key or not text:
        return text
    for form in {key, quote(key, safe=""), key.replace("/", "\\/")}:
        text = text.replace(form, STRUCK_OUT)
    return text


def _without_parts(text: str, key: str | None) -> str:
    """Return ``text`` without ``key`` and without any ``PART_LENGTH`` or more characters of it in a row."""
    text = redacted(text, key)
    if key is None or len(key) < SECRET_LENGTH:
        return text
    found = sorted(
        match.start()
        for part in _parts(key)
        if part in text
        for match in re.finditer(f"(?={re.escape(part)})", text)
    )
    kept: list[str] = []
    reached = 0
    for start in found:
        if start > reached or not kept:
            kept += [text[reached:start], STRUCK_OUT]
        reached = max(reached, start + PART_LENGTH)
    return "".join(kept) + text[reached:]


@functools.lru_cache(maxsize=16)
def _parts(key: str) -> tuple[str, ...]:
    """Return every run of ``PART_LENGTH`` characters of ``key``, each once."""
    return tuple(dict.fromkeys(key[i : i + PART_LENGTH] for i in range(len(key) - PART_LENGTH + 1)))
