"""What each wire format sends beyond what the official clients show, and what an answer in it means."""

import json
from typing import Any

import pytest

from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import (
    ChatRequest,
    Completion,
    ErrorKind,
    JsonObject,
    Message,
    OneOf,
    Sampling,
    Status,
    TokenBias,
    TokenLogprob,
)
from metacog_pipeline.llm.wire import wire_for
from metacog_pipeline.llm.wire.events import HttpCall, UnsupportedConstraint
from tests.llm import replies
from tests.tables import every

PROVIDERS = ("openai", "anthropic", "gemini")
TURNS = (Message("system", "Be brief."), Message("user", "Which?"))
UNREADABLE = (b"", b"{", b"[]", b"null", b"<html>", b"\xff\xfe", b"[" * 100_000)
FATAL, LIMITED = ErrorKind.FATAL, ErrorKind.RATE_LIMIT
TRANSIENT, UNSUPPORTED = ErrorKind.TRANSIENT, ErrorKind.UNSUPPORTED


def spec_of(provider: str, **fields: Any) -> ModelSpec:
    base = "http://127.0.0.1:9" + ("/v1/" if provider == "openai" else "")
    given = {"name": "m", "provider": provider, "model": "some-model", "stream": False, "base_url": base}
    return ModelSpec.model_validate(given | fields)


def built(
    provider: str, sampling: Any = None, constraint: Any = None, key: Any = None, **fields: Any
) -> HttpCall:
    request = ChatRequest(TURNS, sampling or Sampling(), constraint)
    return wire_for(provider).build(spec_of(provider, **fields), request, key, Capabilities(reasons=False))


def sent(provider: str, *asked: Any, **fields: Any) -> Any:
    return json.loads(built(provider, *asked, **fields).body)


def read(provider: str, status: int, value: Any, headers: Any = None, key: str | None = None) -> Completion:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return wire_for(provider).read(spec_of(provider), status, headers or {}, body, key)


def chat(message: Any = None, **choice: Any) -> dict[str, Any]:
    return {
        "model": "some-model-2",
        "choices": [{"message": message or {"content": "B"}, "finish_reason": "stop", **choice}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 1},
    }


def message(**fields: Any) -> dict[str, Any]:
    return {
        "type": "message",
        "model": "some-model-2",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "B"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 1},
        **fields,
    }


def generated(finish: str | None = "STOP", text: str = "B", **candidate: Any) -> dict[str, Any]:
    parts = [{"text": "hm", "thought": True}, *([{"text": text}] if text else [])]
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish, **candidate}],
        "usageMetadata": {"promptTokenCount": 12, "candidatesTokenCount": 1},
        "modelVersion": "some-model-2",
    }


@every(
    ("provider", "base", "model", "url"),
    [
        ("openai", "http://h/v1/", "m", "http://h/v1/chat/completions"),
        ("openai", None, "m", "https://api.openai.com/v1/chat/completions"),
        *(("anthropic", f"http://h{end}", "m", "http://h/v1/messages") for end in ("", "/", "/v1", "/v1/")),
        ("gemini", "http://h/", "m", "http://h/v1/models/m:generateContent"),
        ("gemini", "http://h/v1/", "m", "http://h/v1/models/m:generateContent"),
        ("gemini", "http://h/v1beta/", "models/m", "http://h/v1beta/models/m:generateContent"),
        ("gemini", "http://h", "tunedModels/a?b#c", "http://h/v1/tunedModels/a%3Fb%23c:generateContent"),
    ],
)
def test_the_address_may_end_in_a_slash_or_a_version_and_names_what_is_asked(provider, base, model, url):
    assert built(provider, base_url=base, model=model).url == url


@every("provider", PROVIDERS)
@every("sampling", [Sampling(), Sampling(temperature=None)])
def test_the_key_stands_in_a_header_and_nowhere_else(provider, sampling):
    call = built(provider, sampling, key="canary-123")
    assert any(value.removeprefix("Bearer ") == "canary-123" for value in call.headers.values())
    assert "canary" not in repr(call) + call.url
    assert b"canary" not in call.body
    keyless = built(provider, sampling).headers
    assert not {"authorization", "x-api-key", "x-goog-api-key"} & set(keyless)


def test_a_required_token_limit_is_the_models_own_where_the_request_has_none():
    assert sent("anthropic", Sampling(max_tokens=None), max_tokens=77)["max_tokens"] == 77


def test_the_extra_body_is_laid_over_but_cannot_change_what_is_asked_or_of_whom():
    extra = {"model": "other", "messages": [], "stream": True, "temperature": 0.7, "reasoning_effort": "low"}
    body = sent("openai", extra_body=extra)
    assert (body["model"], len(body["messages"]), "stream" in body) == ("some-model", 2, False)
    assert (body["temperature"], body["reasoning_effort"]) == (0.7, "low")
    alone = sent("openai", extra_body={"max_completion_tokens": 9})
    assert (alone["max_completion_tokens"], "max_tokens" in alone) == (9, False)
    extra = {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}, "contents": []}
    merged = sent("gemini", extra_body=extra)
    assert merged["generationConfig"]["thinkingConfig"] == {"thinkingBudget": 0}
    assert merged["generationConfig"]["maxOutputTokens"] == 64
    assert merged["contents"]


def test_a_json_schema_keeps_the_order_of_its_properties():
    schema = '{"type":"object","properties":{"b":{},"a":{}}}'
    assert list(JsonObject("answer", schema).properties) == ["b", "a"]
    for provider in PROVIDERS:
        assert schema.encode() in built(provider, None, JsonObject("answer", schema)).body


def test_a_guided_choice_goes_under_the_field_the_server_knows():
    body = sent("openai", None, OneOf(("A", "B")), choice_field="guided_choice")
    assert body["guided_choice"] == ["A", "B"]


@every(
    ("provider", "fields", "constraint"),
    [
        ("openai", {"base_url": None}, OneOf(("A", "B"))),
        ("anthropic", {}, OneOf(("A",))),
        ("anthropic", {}, TokenBias(((1, 100),))),
        ("gemini", {}, TokenBias(((1, 100),))),
    ],
)
def test_constraints_without_a_field_are_declined(provider, fields, constraint):
    with pytest.raises(UnsupportedConstraint):
        built(provider, None, constraint, **fields)


def test_a_lone_surrogate_in_a_prompt_can_be_sent():
    request = ChatRequest((Message("user", "\ud800"),), Sampling())
    assert b"\\ud800" in wire_for("openai").build(spec_of("openai"), request, None, Capabilities()).body


ANTHROPIC_ENDS = {
    **dict.fromkeys(("end_turn", "stop_sequence"), Status.OK), "refusal": Status.REFUSED,
    **dict.fromkeys(("max_tokens", "model_context_window_exceeded"), Status.TRUNCATED),
}  # fmt: skip
GEMINI_ENDS = {
    "STOP": Status.OK, "MAX_TOKENS": Status.TRUNCATED,
    **dict.fromkeys(("SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII"), Status.REFUSED),
}  # fmt: skip


@every(
    ("provider", "answer", "status", "text"),
    [
        ("openai", chat({"content": None, "refusal": "I will not."}), Status.REFUSED, "I will not."),
        ("openai", chat({"content": "half"}, finish_reason="content_filter"), Status.REFUSED, "half"),
        ("openai", chat({"content": "half"}, finish_reason="length"), Status.TRUNCATED, "half"),
        ("openai", chat({"content": None}, finish_reason="length"), Status.TRUNCATED, ""),
        ("openai", chat({"content": "x", "refusal": ""}, finish_reason=None), Status.OK, "x"),
        *(("openai", chat({"content": empty}), Status.OK, "") for empty in ("", None)),
        *(("anthropic", message(stop_reason=reason, **more), status, text)
          for reason, status in ANTHROPIC_ENDS.items() for more, text in (({}, "B"), ({"content": []}, ""))),
        *(("gemini", generated(finish, text), status, text)
          for finish, status in GEMINI_ENDS.items() for text in ("B", "")),
        ("gemini", {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}, Status.REFUSED, ""),
    ],
)  # fmt: skip
def test_how_an_answer_ended_is_told_by_its_fields(provider, answer, status, text):
    completion = read(provider, 200, answer)
    assert (completion.status, completion.text, completion.error_kind) == (status, text, None)


def test_the_text_of_an_answer_given_in_parts_is_joined():
    parts = [{"type": "text", "text": each} for each in "B."]
    assert read("openai", 200, chat({"content": [{"type": "thinking", "thinking": []}, *parts]})).text == "B."


@every(
    ("provider", "body"),
    [
        *((provider, body) for provider in PROVIDERS for body in UNREADABLE),
        *(("openai", body) for body in (b'{"choices":[]}', b'{"choices":[{}]}', b'{"choices":[{"message":{}}]}')),
        ("openai", chat({"content": 5})),
        ("openai", chat({"content": "x"}, finish_reason="error")),
        *(("anthropic", body) for body in (b'{"content":"B"}', b'{"content":[]}')),
        *(("gemini", body) for body in (b'{"candidates":[]}', b'{"candidates":[{}]}')),
        *(("gemini", generated(each, "")) for each in ("OTHER", "MALFORMED_RESPONSE", "SOMETHING_NEW", None)),
    ],
)  # fmt: skip
def test_a_success_without_a_readable_answer_is_transient(provider, body):
    completion = read(provider, 200, body)
    assert (completion.status, completion.error_kind) == (Status.FAILED, TRANSIENT)


def with_logprobs(provider: str, *tokens: Any) -> dict[str, Any]:
    """Return an answer of ``tokens``: each its text, its log-probability and its alternatives."""
    name = "logprob" if provider == "openai" else "logProbability"
    listed = [{"token": token, name: value} for token, value, _ in tokens]
    tops = [[{"token": other, name: number} for other, number in top] for _, _, top in tokens]
    if provider == "openai":
        whole = [{**each, "top_logprobs": top} for each, top in zip(listed, tops, strict=True)]
        return chat(logprobs={"content": whole})
    candidates = [{"candidates": top} for top in tops]
    return generated(logprobsResult={"chosenCandidates": listed, "topCandidates": candidates})


@every("provider", ["openai", "gemini"])
def test_log_probabilities_are_read_with_the_alternatives_that_can_be_read(provider):
    answer = with_logprobs(provider, ("B", -0.1, [("B", -0.1), ("A", -3)]))
    assert read(provider, 200, answer).logprobs == (TokenLogprob("B", -0.1, (("B", -0.1), ("A", -3.0))),)
    answer = with_logprobs(provider, ("B", -0.1, [("B", -0.1), ("A", float("-inf")), (None, -1)]))
    assert read(provider, 200, answer).logprobs == (TokenLogprob("B", -0.1, (("B", -0.1),)),)


@every("provider", ["openai", "gemini"])
@every("value", ["low", None, True, float("nan"), float("-inf"), -(10**400)])
def test_one_unreadable_log_probability_drops_them_all(provider, value):
    assert read(provider, 200, with_logprobs(provider, ("B", -0.1, []), ("C", value, []))).logprobs == ()


def problem(code: Any = None, kind: Any = None, param: Any = None, message: str = "sorry") -> Any:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def claude(kind: str, code: str | None = None) -> Any:
    details = {"details": {"error_code": code}} if code else {}
    return {"type": "error", "error": {"type": kind, "message": "sorry", **details}}


def google(status: str, *details: Any) -> Any:
    return {"error": {"code": 400, "message": "sorry", "status": status, "details": list(details)}}


def quota(name: str) -> Any:
    return google("RESOURCE_EXHAUSTED", {"violations": [{"quotaId": name}]})


def blamed(field: str) -> Any:
    return google("INVALID_ARGUMENT", {"fieldViolations": [{"field": field}]})


ERRORS: dict[str, list[tuple[int, Any, ErrorKind]]] = {
    "openai": [
        (429, problem("rate_limit_exceeded", "requests"), LIMITED),
        (529, {}, LIMITED),
        (429, problem("insufficient_quota", "insufficient_quota"), FATAL),
        (429, problem(None, "insufficient_quota"), FATAL),
        (429, problem("billing_not_active", "billing_not_active"), FATAL),
        (400, problem("billing_hard_limit_reached"), FATAL),
        (400, problem("invalid_api_key"), FATAL),
        *((status, {}, FATAL) for status in (401, 402, 403, 301)),
        (404, problem("model_not_found"), FATAL),
        (404, problem(404, "NotFoundError", "model"), FATAL),
        (404, {"object": "error", "message": "none", "type": "NotFoundError", "code": 404}, FATAL),
        (404, {"detail": "Not Found"}, UNSUPPORTED),
        (400, problem("unsupported_parameter", "invalid_request_error", "temperature"), UNSUPPORTED),
        *((status, {}, UNSUPPORTED) for status in (413, 415, 422, 501)),
        *((status, {}, TRANSIENT) for status in (408, 409, 425)),
        (500, b"<html>Bad gateway</html>", TRANSIENT),
        (503, b"", TRANSIENT),
        (200, {"error": {"code": 429, "message": "upstream"}}, LIMITED),
        (200, {"error": {"code": 502, "message": "upstream"}}, TRANSIENT),
    ],
    "anthropic": [
        (429, claude("rate_limit_error"), LIMITED),
        (429, claude("rate_limit_error", "ramp_limit_exceeded"), LIMITED),
        (429, claude("rate_limit_error", "contract_spend_limit_reached"), FATAL),
        (529, claude("overloaded_error"), LIMITED),
        (200, claude("overloaded_error"), LIMITED),
        (402, claude("billing_error"), FATAL),
        (400, claude("invalid_request_error", "organization_on_hold"), FATAL),
        (401, claude("authentication_error"), FATAL),
        (404, claude("not_found_error"), FATAL),
        (404, b"<html>", UNSUPPORTED),
        (400, claude("invalid_request_error"), UNSUPPORTED),
        (500, claude("api_error"), TRANSIENT),
        (504, claude("timeout_error"), TRANSIENT),
    ],
    "gemini": [
        (429, google("RESOURCE_EXHAUSTED"), LIMITED),
        (429, quota("RequestsPerMinute"), LIMITED),
        (429, quota("RequestsPerDayX"), FATAL),
        (400, google("INVALID_ARGUMENT", {"reason": "API_KEY_INVALID"}), FATAL),
        (400, google("FAILED_PRECONDITION"), FATAL),
        (403, google("PERMISSION_DENIED"), FATAL),
        (404, google("NOT_FOUND"), FATAL),
        (400, google("INVALID_ARGUMENT"), UNSUPPORTED),
        (503, google("UNAVAILABLE"), TRANSIENT),
        (504, google("DEADLINE_EXCEEDED"), TRANSIENT),
    ],
}


@every(
    ("provider", "status", "value", "kind"),
    [(provider, *case) for provider, cases in ERRORS.items() for case in cases],
)
def test_errors_are_classified_by_status_and_code(provider, status, value, kind):
    completion = read(provider, status, value)
    assert (completion.status, completion.error_kind) == (Status.FAILED, kind)
    if provider == "anthropic" and isinstance(value, dict):  # the most specific code is told
        error = value["error"]
        assert completion.error_code == error.get("details", {}).get("error_code", error["type"])


@every("words", ["insufficient_quota", "billing", "rate limit", "model_not_found", "content_filter"])
def test_the_message_of_an_error_never_decides(words):
    plain, worded = (read("openai", 400, problem("x", "y", message=said)) for said in ("sorry", words))
    assert (plain.status, plain.error_kind) == (worded.status, worded.error_kind)


@every("case", ERRORS["gemini"])
@every("provider", ["openai", "gemini"])
def test_googles_errors_are_read_alike_at_its_own_address_and_in_openais_format(provider, case):
    status, value, kind = case
    said = {"error": {**value["error"], "code": status}}
    for code in (status, 200):  # some proxies claim success
        for body in (said, [said]):  # Google wraps some errors in a list
            completion = read(provider, code, body)
            assert (completion.error_kind, completion.http_status) == (kind, status)
            assert completion.error_message == "sorry"
    assert replies.read(provider, [[said]]).error_kind is kind


@every(
    ("provider", "value", "param"),
    [
        ("openai", problem("unsupported_parameter", param="temperature"), "temperature"),
        ("openai", problem(param="response_format.json_schema"), "response_format"),
        ("openai", problem(param="messages[0].content"), "messages"),
        ("openai", {"detail": [{"loc": ["body", "logit_bias"], "msg": "no"}]}, "logit_bias"),
        ("openai", problem(), None),
        *(("openai", problem(param=name), None) for name in ("None", "null", "", " ")),
        ("openai", blamed("generation_config.max_output_tokens"), "max_tokens"),
        ("gemini", blamed("generation_config.temperature"), "temperature"),
        ("gemini", blamed("generationConfig.responseJsonSchema"), "response_format"),
        ("gemini", blamed("generation_config.response_schema.enum[0]"), "response_format"),
        ("gemini", blamed("contents"), "contents"),
    ],
)
def test_the_parameter_blamed_has_one_name_in_every_format(provider, value, param):
    assert read(provider, 400, value).error_param == param


@every(
    ("status", "value"),
    [
        (400, {"error": {"code": "content_filter", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}),
        (403, {"error": {"code": 403, "message": "flagged", "metadata": {"reasons": ["violence"]}}}),
        (400, problem("content_policy_violation")),
    ],
)
def test_an_error_that_is_a_content_policy_is_a_refusal(status, value):
    assert read("openai", status, value).status is Status.REFUSED
