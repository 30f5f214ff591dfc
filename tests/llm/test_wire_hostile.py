"""``read`` is total: whatever a server sends, a completion comes back and its fields can be stored."""

import dataclasses
import json
import math
import re
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Completion, Status, TokenLogprob
from metacog_pipeline.llm.wire import wire_for
from metacog_pipeline.llm.wire.errors import struck_out
from tests.llm.replies import CHAT, GENERATED, LOGPROB, MESSAGE, changed, spoiled, values
from tests.tables import every

SAMPLES = {"openai": CHAT, "anthropic": MESSAGE, "gemini": GENERATED}
SECRET = "sk-proj/ABCDEFGH+0123456789"
PROVIDERS = tuple(SAMPLES)
STATUSES = st.sampled_from([0, 100, 199, 200, 204, 301, 400, 403, 404, 429, 500, 501, 529, 599, 999])

FURTHER = {"reasoning_content": None, "reasoning_details": [{"text": "hm"}]}
ANSWERS = {
    "openai": {**changed(CHAT, "choices", 0, to={
        **CHAT["choices"][0], "message": {**CHAT["choices"][0]["message"], **FURTHER}, "logprobs": {"content": [LOGPROB]},
        "content_filter_results": {"hate": {"filtered": False}},
    }), "error": None, "detail": [{"loc": ["body", "seed"]}]},
    "anthropic": {
        **MESSAGE, "stop_details": {"category": "c", "explanation": "e"},
        "error": {"type": "api_error", "message": "m", "details": {"error_code": "c"}},
    },
    "gemini": {**changed(GENERATED, "candidates", 0, "logprobsResult", to={
        "chosenCandidates": [{"token": "B", "logProbability": -1}],
        "topCandidates": [{"candidates": [{"token": "A", "logProbability": -2}]}],
    }), "promptFeedback": {"blockReason": None, "blockReasonMessage": "m"}},
}  # fmt: skip
ERRORS = {
    "openai": {"error": {"message": "m", "code": "c", "type": "t", "param": "p", "innererror": {"code": "i"},
                         "metadata": {"reasons": ["r"]}}},
    "anthropic": {"type": "error", "error": {"type": "t", "message": "m", "details": {"error_code": "c"}}},
    "gemini": {"error": {"code": 400, "status": "S", "message": "m", "details": [
        {"reason": "r", "fieldViolations": [{"field": "a.b"}], "violations": [{"quotaId": "q"}]}]}},
}  # fmt: skip


def sent(provider: str, status: int, body: bytes, key: str | None = None, **headers: str) -> Completion:
    spec = ModelSpec(name="m", provider=provider, model="x", base_url="http://127.0.0.1:9")  # type: ignore[arg-type]
    return wire_for(spec.provider).read(spec, status, headers, body, key)


SHOWN = (
    *("error_message", "error_code", "error_param", "model_reported", "finish_detail", "response_id"),
    *("system_fingerprint", "service_tier"),
)


def assert_sound(completion: Completion) -> None:
    failed = completion.status is Status.FAILED
    assert failed == (completion.error_kind is not None) == (completion.error_message is not None)
    assert isinstance(completion.text, str)
    for name in SHOWN:
        shown = getattr(completion, name)
        assert shown is None or (len(shown) <= 300 and shown.isprintable())
    assert completion.reasoning_text is None or completion.reasoning_text
    assert all(count is None or 0 <= count < 2**63 for count in dataclasses.astuple(completion.usage))
    for token in completion.logprobs:
        assert all(math.isfinite(number) for number in (token.logprob, *(value for _, value in token.top)))


@pytest.mark.parametrize("provider", PROVIDERS)
@given(status=STATUSES, data=st.data())
@settings(max_examples=100, deadline=None)
def test_any_bytes_any_json_and_any_answer_with_a_field_spoiled_are_read(provider, status, data):
    whole = st.sampled_from([ANSWERS[provider], ERRORS[provider]])
    bodies = st.binary(max_size=200) | (values | whole.flatmap(spoiled)).map(lambda v: json.dumps(v).encode())
    assert_sound(sent(provider, status, data.draw(bodies), "k"))


@every("provider", PROVIDERS)
@every(
    "body",
    [
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'{"usage":{"prompt_tokens":' + b"9" * 5000 + b"}}",
        b'{"error":NaN}',
        b"\xef\xbb\xbf{}",
        "{}".encode("utf-16"),
        b'{"choices":[{"message":{"content":"\\ud800"},"finish_reason":"stop"}]}',
    ],
)
def test_pathological_bodies_are_read(provider, body):
    for status in (200, 400):
        assert_sound(sent(provider, status, body))


@every("provider", PROVIDERS)
@every(
    ("pattern", "instead", "shown"),
    [
        (rb'"(text|content)": "B"', b'"\\1": "B\xff\xfe"', "B\ufffd\ufffd"),
        (rb'^(.*)"(text|content)": "B"', b'\xef\xbb\xbf\\1"\\2": "B\x80"', "B\ufffd"),
        (rb'[tT]oken(s|Count)": \d+', rb"\g<0>" + b"0" * 5000, "B"),
    ],
)
def test_the_text_of_an_answer_is_kept_whatever_byte_or_number_stands_in_it(
    provider, pattern, instead, shown
):
    whole = json.dumps(SAMPLES[provider]).encode()
    body = re.sub(pattern, instead, whole)
    assert body != whole
    completion = sent(provider, 200, body)
    assert (completion.status, completion.text) == (Status.OK, shown)
    assert_sound(completion)


@pytest.mark.parametrize("provider", PROVIDERS)
@given(
    secret=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=300),
    status=STATUSES,
)
@settings(max_examples=40, deadline=None)
def test_a_key_that_a_server_echoes_anywhere_but_in_the_answer_is_struck_out(provider, secret, status):
    echo = json.loads(json.dumps(ERRORS[provider]).replace('"m"', json.dumps(f"no {secret}")))
    plain = sent(provider, status, json.dumps(ERRORS[provider]).encode())
    completion = sent(provider, status, json.dumps(echo).encode(), secret, location=secret)
    # Names of fields and of kinds of errors are ours, whatever the key is.
    assert secret not in repr(completion) or secret in repr(plain)


@every(
    ("said", "shown"),
    [
        ("no key here", "no key here"),
        (f"wrong key {SECRET}", "wrong key [key]"),
        (f"wrong key {SECRET[:9]}*****{SECRET[-8:]}", "wrong key [key]*****[key]"),
        (f"{SECRET}{SECRET}", "[key][key]"),
        (f"x{SECRET[2:13]}|{SECRET[8:19]}y", "x[key]|[key]y"),
        (f"only {SECRET[:7]}", f"only {SECRET[:7]}"),
        (f"at ?key={quote(SECRET, safe='')}", "at ?key=[key]"),
    ],
)
def test_a_key_and_its_longer_parts_are_struck_out_of_what_a_provider_says(said, shown):
    told = Completion(Status.FAILED, error_message=said, error_code=said, model_reported=said)
    found = struck_out(told, SECRET)
    assert [found.error_message, found.error_code, found.model_reported] == [shown] * 3


def test_an_answer_is_left_as_it_came_but_for_the_whole_key():
    text = f"A {SECRET[:10]} B {SECRET} C"
    tokens = (TokenLogprob("a", -1.0), TokenLogprob("b", -1.0))
    completion = struck_out(Completion(Status.OK, text=text, logprobs=tokens), SECRET)
    assert (completion.text, completion.logprobs) == (f"A {SECRET[:10]} B [key] C", tokens)
    assert struck_out(Completion(Status.OK, text="EMPTY"), "EMPTY").text == "EMPTY"
    # Spread over tokens, the key takes their probabilities with it.
    spread = tuple(TokenLogprob(c, -1.0) for c in f"x{SECRET}y")
    assert struck_out(Completion(Status.OK, logprobs=spread), SECRET).logprobs == ()
