"""Chat completions: what is sent, and what an answer means."""

import json

import pytest

from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import (
    ChatRequest,
    ErrorKind,
    JsonObject,
    Message,
    OneOf,
    Sampling,
    Status,
    TokenBias,
    TokenLogprob,
)
from metacog_pipeline.llm.wire import UnsupportedConstraint, openai
from tests.tables import every

LOCAL = ModelSpec(
    name="m", provider="openai", model="some-model", stream=False, base_url="http://127.0.0.1:9/v1/"
)
OFFICIAL = ModelSpec(name="m", provider="openai", model="some-model", stream=False)
ASKED = ChatRequest((Message("system", "Be brief."), Message("user", "Which?")), Sampling())


def sent(spec, request=ASKED, key=None, **known):
    return json.loads(openai.build(spec, request, key, Capabilities(**{"reasons": False} | known)).body)


def read(status, value, headers=None):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return openai.read(LOCAL, status, headers or {}, body)


def answered(message=None, **choice):
    return {
        "model": "some-model-0613",
        "choices": [{"message": message or {"content": "B"}, "finish_reason": "stop", **choice}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 1},
    }


def test_a_trailing_slash_of_the_address_makes_no_difference():
    assert openai.build(LOCAL, ASKED, None).url == "http://127.0.0.1:9/v1/chat/completions"
    assert openai.build(OFFICIAL, ASKED, None).url == "https://api.openai.com/v1/chat/completions"


def test_the_key_stands_in_the_header_and_nowhere_else():
    call = openai.build(LOCAL, ASKED, "canary-123")
    assert call.headers["authorization"] == "Bearer canary-123"
    assert b"canary-123" not in call.body
    assert "canary-123" not in call.url
    assert "canary-123" not in repr(call)


def test_without_a_key_no_authorization_is_sent():
    assert "authorization" not in openai.build(LOCAL, ASKED, None).headers


def test_a_parameter_that_is_none_is_not_sent():
    body = sent(LOCAL, ChatRequest(ASKED.messages, Sampling(temperature=None, max_tokens=None)))
    assert set(body) == {"model", "messages"}


def test_the_token_limit_has_the_newer_name_only_at_the_official_address():
    assert sent(OFFICIAL)["max_completion_tokens"] == 64
    assert "max_tokens" not in sent(OFFICIAL)
    assert sent(LOCAL)["max_tokens"] == 64
    assert "max_completion_tokens" not in sent(LOCAL)


def test_a_token_limit_in_the_extra_body_stands_alone():
    body = sent(LOCAL.model_copy(update={"extra_body": {"max_completion_tokens": 9}}))
    assert body["max_completion_tokens"] == 9
    assert "max_tokens" not in body


def test_the_extra_body_is_laid_over_but_cannot_change_what_is_asked_or_of_whom():
    extra = {"model": "other", "messages": [], "stream": True, "temperature": 0.7, "reasoning_effort": "low"}
    body = sent(LOCAL.model_copy(update={"extra_body": extra}))
    assert body["model"] == "some-model"
    assert len(body["messages"]) == 2
    assert "stream" not in body
    assert body["temperature"] == 0.7
    assert body["reasoning_effort"] == "low"


def test_logprobs_are_asked_for_with_their_number_of_alternatives():
    body = sent(LOCAL, ChatRequest(ASKED.messages, Sampling(top_logprobs=3, seed=4, stop=("x",))))
    assert (body["logprobs"], body["top_logprobs"], body["seed"], body["stop"]) == (True, 3, 4, ["x"])


def test_a_json_schema_keeps_the_order_of_its_properties():
    schema = '{"type":"object","properties":{"b":{},"a":{}}}'
    call = openai.build(LOCAL, ChatRequest(ASKED.messages, Sampling(), JsonObject("answer", schema)), None)
    assert schema.encode() in call.body
    described = json.loads(call.body)["response_format"]["json_schema"]
    assert (described["name"], described["strict"]) == ("answer", True)


@pytest.mark.parametrize(
    ("field", "expected"), [("structured_outputs", {"choice": ["A", "B"]}), ("guided_choice", ["A", "B"])]
)
def test_a_guided_choice_goes_under_the_field_the_server_knows(field, expected):
    spec = LOCAL.model_copy(update={"choice_field": field})
    assert sent(spec, ChatRequest(ASKED.messages, Sampling(), OneOf(("A", "B"))))[field] == expected


def test_a_guided_choice_is_declined_at_the_official_address():
    with pytest.raises(UnsupportedConstraint):
        openai.build(OFFICIAL, ChatRequest(ASKED.messages, Sampling(), OneOf(("A", "B"))), None)


def test_a_bias_is_sent_by_token_id():
    body = sent(LOCAL, ChatRequest(ASKED.messages, Sampling(), TokenBias(((32, 100), (33, -100)))))
    assert body["logit_bias"] == {"32": 100, "33": -100}


def test_a_lone_surrogate_in_a_prompt_can_be_sent():
    assert b"\\ud800" in openai.build(LOCAL, ChatRequest((Message("user", "\ud800"),), Sampling()), None).body


def test_an_answer_carries_text_model_usage_and_finish_reason():
    completion = read(200, answered())
    assert completion.status is Status.OK
    assert completion.text == "B"
    assert completion.model_reported == "some-model-0613"
    assert (completion.usage.input_tokens, completion.usage.output_tokens) == (12, 1)
    assert (completion.finish_reason, completion.http_status) == ("stop", 200)


@pytest.mark.parametrize("content", ["", None])
def test_an_empty_answer_with_a_normal_finish_is_ok(content):
    completion = read(200, answered({"content": content}))
    assert (completion.status, completion.text) == (Status.OK, "")


def test_the_text_of_an_answer_given_in_parts_is_joined():
    parts = [
        {"type": "thinking", "thinking": []},
        {"type": "text", "text": "B"},
        {"type": "text", "text": "."},
    ]
    assert read(200, answered({"content": parts})).text == "B."


def test_log_probabilities_are_read_with_their_alternatives():
    top = [{"token": "B", "logprob": -0.1}, {"token": "A", "logprob": -2.5}]
    completion = read(
        200, answered(logprobs={"content": [{"token": "B", "logprob": -0.1, "top_logprobs": top}]})
    )
    assert completion.logprobs == (TokenLogprob("B", -0.1, (("B", -0.1), ("A", -2.5))),)


@every("value", ["low", None, True, float("nan"), float("-inf"), -(10**400)])
def test_one_unreadable_log_probability_drops_them_all(value):
    entries = [{"token": "B", "logprob": -0.1}, {"token": "C", "logprob": value}]
    assert read(200, answered(logprobs={"content": entries})).logprobs == ()


def test_an_unreadable_alternative_is_left_out_alone():
    top = [{"token": "B", "logprob": -0.1}, {"token": "A", "logprob": float("-inf")}, {"token": None}]
    completion = read(
        200, answered(logprobs={"content": [{"token": "B", "logprob": -0.1, "top_logprobs": top}]})
    )
    assert completion.logprobs == (TokenLogprob("B", -0.1, (("B", -0.1),)),)


@every(
    ("message", "finish", "status", "text"),
    [
        ({"content": None, "refusal": "I will not."}, "stop", Status.REFUSED, "I will not."),
        ({"content": "half"}, "content_filter", Status.REFUSED, "half"),
        ({"content": "half"}, "length", Status.TRUNCATED, "half"),
        ({"content": None}, "length", Status.TRUNCATED, ""),
        ({"content": "x", "refusal": ""}, None, Status.OK, "x"),
    ],
)
def test_refusals_and_cut_answers_are_told_by_fields(message, finish, status, text):
    completion = read(200, answered(message, finish_reason=finish))
    assert (completion.status, completion.text, completion.error_kind) == (status, text, None)


@every(
    "body",
    [b"", b"{", b"<html>", b"null", b"[]", b'{"choices":[]}', b'{"choices":[{}]}', b'{"choices":[{"message":{}}]}',
     b'{"choices":[{"message":{"content":5},"finish_reason":"stop"}]}', b"\xff\xfe", b"[" * 100_000,
     b'{"choices":[{"message":{"content":"x"},"finish_reason":"error"}]}'],
)  # fmt: skip
def test_a_success_without_a_readable_answer_is_transient(body):
    completion = read(200, body)
    assert (completion.status, completion.error_kind) == (Status.FAILED, ErrorKind.TRANSIENT)


def problem(code=None, kind=None, param=None, message="sorry"):
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


@every(
    ("status", "value", "kind"),
    [
        (429, problem("rate_limit_exceeded", "requests"), ErrorKind.RATE_LIMIT),
        (529, {}, ErrorKind.RATE_LIMIT),
        (429, problem("insufficient_quota", "insufficient_quota"), ErrorKind.FATAL),
        (429, problem(None, "insufficient_quota"), ErrorKind.FATAL),
        (429, problem("billing_not_active", "billing_not_active"), ErrorKind.FATAL),
        (400, problem("billing_hard_limit_reached"), ErrorKind.FATAL),
        (400, problem("invalid_api_key"), ErrorKind.FATAL),
        (401, {}, ErrorKind.FATAL),
        (402, {}, ErrorKind.FATAL),
        (403, {}, ErrorKind.FATAL),
        (301, {}, ErrorKind.FATAL),
        (404, problem("model_not_found"), ErrorKind.FATAL),
        (404, problem(404, "NotFoundError", "model"), ErrorKind.FATAL),
        (404, {"object": "error", "message": "none", "type": "NotFoundError", "code": 404}, ErrorKind.FATAL),
        (404, {"detail": "Not Found"}, ErrorKind.UNSUPPORTED),
        (400, problem("unsupported_parameter", "invalid_request_error", "temperature"), ErrorKind.UNSUPPORTED),
        (413, {}, ErrorKind.UNSUPPORTED),
        (415, {}, ErrorKind.UNSUPPORTED),
        (422, {}, ErrorKind.UNSUPPORTED),
        (501, {}, ErrorKind.UNSUPPORTED),
        (408, {}, ErrorKind.TRANSIENT),
        (409, {}, ErrorKind.TRANSIENT),
        (425, {}, ErrorKind.TRANSIENT),
        (500, b"<html>Bad gateway</html>", ErrorKind.TRANSIENT),
        (503, b"", ErrorKind.TRANSIENT),
        (200, {"error": {"code": 429, "message": "upstream"}}, ErrorKind.RATE_LIMIT),
        (200, {"error": {"code": 502, "message": "upstream"}}, ErrorKind.TRANSIENT),
    ],
)  # fmt: skip
def test_errors_are_classified_by_status_and_code(status, value, kind):
    completion = read(status, value)
    assert (completion.status, completion.error_kind) == (Status.FAILED, kind)


@every("words", ["insufficient_quota", "billing", "rate limit", "model_not_found", "content_filter"])
def test_the_message_of_an_error_never_decides(words):
    plain, worded = read(400, problem("x", "y")), read(400, problem("x", "y", message=words))
    assert (plain.status, plain.error_kind) == (worded.status, worded.error_kind)


@every(
    ("value", "param"),
    [
        (problem("unsupported_parameter", param="temperature"), "temperature"),
        (problem(param="response_format.json_schema"), "response_format"),
        (problem(param="messages[0].content"), "messages"),
        ({"detail": [{"loc": ["body", "logit_bias"], "msg": "no"}]}, "logit_bias"),
        (problem(), None),
    ],
)
def test_the_parameter_blamed_is_named(value, param):
    assert read(400, value).error_param == param


@pytest.mark.parametrize(
    ("status", "value"),
    [
        (400, {"error": {"code": "content_filter", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}),
        (403, {"error": {"code": 403, "message": "flagged", "metadata": {"reasons": ["violence"]}}}),
        (400, problem("content_policy_violation")),
    ],
)
def test_an_error_that_is_a_content_policy_is_a_refusal(status, value):
    assert read(status, value).status is Status.REFUSED


def test_the_key_is_struck_out_of_what_the_provider_says():
    secret = "canary-" + "k" * 400  # longer than any message that is kept
    value = problem(secret, secret, secret, message=f"bad\nkey {secret}")
    completion = openai.read(LOCAL, 401, {}, json.dumps(value).encode(), secret)
    assert completion.error_message == "bad key [key]"
    assert "canary" not in repr(completion)
    completion = openai.read(LOCAL, 200, {}, json.dumps({**answered(), "model": secret}).encode(), secret)
    assert "canary" not in repr(completion)
    completion = openai.read(LOCAL, 302, {"Location": f"https://x/{secret}"}, b"", secret)
    assert "canary" not in repr(completion)
    completion = openai.read(LOCAL, 500, {}, b"<html>\n\n" + secret.encode() * 50, secret)
    assert "canary" not in repr(completion)


@every("count", [-1, 10**30, 1.5, True, "7", None])
def test_a_token_count_that_is_no_count_is_unknown(count):
    assert read(200, {**answered(), "usage": {"prompt_tokens": count}}).usage.input_tokens is None
