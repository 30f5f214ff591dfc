"""Error bodies of Google's servers, at Gemini's own address and at the one that speaks OpenAI's format."""

from __future__ import annotations

import re

from metacog_pipeline.llm.wire import errors, values

PARAMETERS = {  # our name for what Gemini blames by its own
    "response_mime_type": "response_format",
    "response_schema": "response_format",
    "response_json_schema": "response_format",
    "max_output_tokens": "max_tokens",
    "response_logprobs": "logprobs",
    "stop_sequences": "stop",
}


def problem(status_code: int, error: values.JsonDict) -> errors.ProviderProblem:
    """Read ``error``, the object below ``error``: the reasons of its details, then its status; the parameter blamed."""
    details = values.list_at(error, "details") or []
    reasons = [reason for reason in (values.str_at(detail, "reason") for detail in details) if reason]
    codes = (*reasons, *([status] if (status := values.str_at(error, "status")) else []))
    if status_code == 404 and status == "NOT_FOUND":
        codes = (*codes, "model_not_found")  # a call names the model and nothing else
    if any(_per_day(detail) for detail in details):
        codes = (*codes, "insufficient_quota")  # a spent daily quota does not come back while a run waits
    return errors.ProviderProblem(codes, values.str_at(error, "message") or "", _param(details))


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
