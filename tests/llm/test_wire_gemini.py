"""Gemini generateContent: what is sent, and what an answer means."""

import json

import pytest

from metacog_pipeline.llm import types
from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.wire import UnsupportedConstraint, gemini
from tests.tables import every

SPEC = ModelSpec(name="m", provider="gemini", model="some-model", stream=False, base_url="http://127.0.0.1:9")
TURNS = (
    types.Message("system", "Be brief."),
    types.Message("user", "Which?"),
    types.Message("assistant", "B"),
    types.Message("user", "Sure?"),
)


def config(constraint=None, sampling=None, **update):
    request = types.ChatRequest(TURNS, sampling or types.Sampling(), constraint)
    known = Capabilities(reasons=False)
    return json.loads(gemini.build(SPEC.model_copy(update=update), request, None, known).body)[
        "generationConfig"
    ]


def read(status, value):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return gemini.read(SPEC, status, {}, body)


def answered(finish="STOP", text="B", **candidate):
    parts = [{"text": "hm", "thought": True}, *([{"text": text}] if text else [])]
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish, **candidate}],
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 40},
        "modelVersion": "some-model-001",
    }


@pytest.mark.parametrize(
    ("base", "model", "url"),
    [
        ("http://h/", "m", "http://h/v1/models/m:generateContent"),
        ("http://h/v1/", "m", "http://h/v1/models/m:generateContent"),
        ("http://h/v1beta/", "models/m", "http://h/v1beta/models/m:generateContent"),
        ("http://h", "tunedModels/a?b#c", "http://h/v1/tunedModels/a%3Fb%23c:generateContent"),
    ],
)
def test_the_address_names_version_and_model(base, model, url):
    spec = SPEC.model_copy(update={"base_url": base, "model": model})
    assert gemini.build(spec, types.ChatRequest(TURNS, types.Sampling()), None).url == url


def test_the_key_stands_in_the_header_and_not_in_the_address():
    call = gemini.build(SPEC, types.ChatRequest(TURNS, types.Sampling()), "canary-123")
    assert call.headers["x-goog-api-key"] == "canary-123"
    assert "canary" not in repr(call) + call.url
    assert b"canary" not in call.body


def test_turns_are_user_and_model_and_the_system_message_stands_apart():
    body = json.loads(gemini.build(SPEC, types.ChatRequest(TURNS, types.Sampling()), None).body)
    assert [turn["role"] for turn in body["contents"]] == ["user", "model", "user"]
    assert body["systemInstruction"]["parts"] == [{"text": "Be brief."}]


def test_sampling_goes_under_gemini_names():
    sampling = types.Sampling(temperature=0.5, max_tokens=3, seed=1, top_logprobs=2, stop=("x",))
    assert config(sampling=sampling) == {
        "temperature": 0.5,
        "maxOutputTokens": 3,
        "stopSequences": ["x"],
        "responseLogprobs": True,
        "logprobs": 2,
        "seed": 1,
    }


def test_a_choice_is_an_enum_and_an_object_is_a_schema():
    chosen = config(types.OneOf(("A", "B")))
    assert (chosen["responseMimeType"], chosen["responseSchema"]["enum"]) == ("text/x.enum", ["A", "B"])
    described = config(types.JsonObject("answer", '{"type":"object"}'))
    assert described["responseMimeType"] == "application/json"
    assert described["responseJsonSchema"] == {"type": "object"}


def test_a_bias_is_declined():
    with pytest.raises(UnsupportedConstraint):
        config(types.TokenBias(((1, 100),)))


def test_the_extra_body_is_merged_into_the_configuration_instead_of_replacing_it():
    extra = {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}, "contents": []}
    merged = config(extra_body=extra)
    assert merged["thinkingConfig"] == {"thinkingBudget": 0}
    assert merged["maxOutputTokens"] == 64


def test_thoughts_are_no_answer_but_their_tokens_are_billed():
    completion = read(200, answered())
    assert (completion.status, completion.text, completion.model_reported) == (
        types.Status.OK,
        "B",
        "some-model-001",
    )
    assert (completion.usage.input_tokens, completion.usage.output_tokens) == (5, 42)


@every(
    ("finish", "status"),
    [
        ("STOP", types.Status.OK),
        ("MAX_TOKENS", types.Status.TRUNCATED),
        ("SAFETY", types.Status.REFUSED),
        ("RECITATION", types.Status.REFUSED),
        ("PROHIBITED_CONTENT", types.Status.REFUSED),
        ("BLOCKLIST", types.Status.REFUSED),
        ("SPII", types.Status.REFUSED),
    ],
)
@every("text", ["B", ""])
def test_the_finish_reason_decides_the_status(finish, status, text):
    assert read(200, answered(finish, text)).status is status


def test_a_blocked_prompt_is_a_refusal():
    completion = read(200, {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})
    assert (completion.status, completion.finish_reason) == (types.Status.REFUSED, "PROHIBITED_CONTENT")


@pytest.mark.parametrize("finish", ["OTHER", "MALFORMED_RESPONSE", "SOMETHING_NEW", None])
def test_nothing_said_for_no_normal_reason_is_transient(finish):
    completion = read(200, answered(finish, ""))
    assert (completion.status, completion.error_kind) == (types.Status.FAILED, types.ErrorKind.TRANSIENT)


@every("body", [b"", b"{", b"[]", b'{"candidates":[]}', b'{"candidates":[{}]}', b"<html>"])
def test_a_success_without_a_readable_answer_is_transient(body):
    completion = read(200, body)
    assert (completion.status, completion.error_kind) == (types.Status.FAILED, types.ErrorKind.TRANSIENT)


def test_log_probabilities_are_read_with_their_alternatives():
    chosen = {"token": "B", "logProbability": -0.1}
    result = {
        "chosenCandidates": [chosen],
        "topCandidates": [{"candidates": [chosen, {"token": "A", "logProbability": -3}]}],
    }
    completion = read(200, answered(logprobsResult=result))
    assert completion.logprobs == (types.TokenLogprob("B", -0.1, (("B", -0.1), ("A", -3.0))),)


def problem(status, *details):
    return {"error": {"code": 400, "message": "sorry", "status": status, "details": list(details)}}


@every(
    ("status", "value", "kind"),
    [
        (429, problem("RESOURCE_EXHAUSTED"), types.ErrorKind.RATE_LIMIT),
        (
            429,
            problem("RESOURCE_EXHAUSTED", {"violations": [{"quotaId": "RequestsPerMinute"}]}),
            types.ErrorKind.RATE_LIMIT,
        ),
        (
            429,
            problem("RESOURCE_EXHAUSTED", {"violations": [{"quotaId": "RequestsPerDayX"}]}),
            types.ErrorKind.FATAL,
        ),
        (400, problem("INVALID_ARGUMENT", {"reason": "API_KEY_INVALID"}), types.ErrorKind.FATAL),
        (400, problem("FAILED_PRECONDITION"), types.ErrorKind.FATAL),
        (403, problem("PERMISSION_DENIED"), types.ErrorKind.FATAL),
        (404, problem("NOT_FOUND"), types.ErrorKind.FATAL),
        (400, problem("INVALID_ARGUMENT"), types.ErrorKind.UNSUPPORTED),
        (503, problem("UNAVAILABLE"), types.ErrorKind.TRANSIENT),
        (504, problem("DEADLINE_EXCEEDED"), types.ErrorKind.TRANSIENT),
    ],
)
def test_errors_are_classified_by_status_and_code(status, value, kind):
    completion = read(status, value)
    assert (completion.status, completion.error_kind) == (types.Status.FAILED, kind)


@pytest.mark.parametrize(
    ("field", "param"),
    [
        ("generation_config.temperature", "temperature"),
        ("generationConfig.responseJsonSchema", "response_format"),
        ("generation_config.response_schema.enum[0]", "response_format"),
        ("contents", "contents"),
    ],
)
def test_the_parameter_blamed_has_the_name_the_other_formats_give_it(field, param):
    value = problem("INVALID_ARGUMENT", {"fieldViolations": [{"field": field}]})
    assert read(400, value).error_param == param
