"""How calls are worded: thinking and effort per provider, room to think, Azure's addresses, shared prefixes."""

import json
from typing import Any

import pytest

from metacog_pipeline.llm.capabilities import AMPLE_THINKING_TOKENS, Capabilities
from metacog_pipeline.llm.costs import output_token_bound
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, JsonObject, Message, OneOf, Sampling
from metacog_pipeline.llm.wire import HttpCall, UnsupportedConstraint, caching, wire_for
from tests.tables import every

LONG = "word " * 1200  # 1,500 tokens by the estimate
REQUEST = ChatRequest((Message("system", "Be brief."), Message("user", "Which?")), Sampling())


def build(
    provider: str, request: ChatRequest = REQUEST, known: dict[str, Any] | None = None, **row: Any
) -> HttpCall:
    spec = ModelSpec.model_validate({"name": "m", "provider": provider, "model": "x", **row})
    return wire_for(spec.provider).build(spec, request, "key", Capabilities(**(known or {})))


def sent(
    provider: str, request: ChatRequest = REQUEST, known: dict[str, Any] | None = None, **row: Any
) -> Any:
    return json.loads(build(provider, request, known, **row).body)


LIMITS = {
    "openai": lambda body: body.get("max_completion_tokens", body.get("max_output_tokens")),
    "anthropic": lambda body: body["max_tokens"],
    "gemini": lambda body: body["generationConfig"]["maxOutputTokens"],
}


@every("provider", LIMITS)
@every(
    ("row", "known", "limit"),
    [
        ({"thinking_tokens": 2000}, {}, 2064),
        ({"thinking_tokens": 0}, {"reasons": True}, 64),
        ({}, {"reasons": False}, 64),
        ({}, {"refused": frozenset({"thinking_room"})}, 64),
        ({}, {"reasons": True, "reasoning_tokens": 6000}, 24_064),
        ({}, {}, 64 + AMPLE_THINKING_TOKENS),
    ],
)
def test_a_call_asks_for_the_answer_and_room_to_think_and_is_bounded_by_both(provider, row, known, limit):
    assert LIMITS[provider](sent(provider, known=known, **row)) == limit
    spec = ModelSpec.model_validate({"name": "m", "provider": provider, "model": "x", **row})
    assert output_token_bound(spec, REQUEST, Capabilities(**known)) == limit


def test_the_limit_goes_by_the_name_the_model_was_found_to_take():
    local = {"base_url": "http://h/v1", "thinking_tokens": 0}
    assert sent("openai", **local)["max_tokens"] == 64
    body = sent("openai", known={"limit_field": "max_completion_tokens"}, **local)
    assert (body["max_completion_tokens"], "max_tokens" in body) == (64, False)
    body = sent("openai", known={"limit_field": "max_tokens"}, thinking_tokens=0)
    assert (body["max_tokens"], "max_completion_tokens" in body) == (64, False)


def test_options_a_model_refuses_are_not_sent():
    request = ChatRequest(REQUEST.messages, Sampling(0.5, 64, 7, 3, ("x",)))
    refused = {"refused": frozenset({"temperature", "seed", "top_logprobs", "stop", "stream_options"})}
    assert set(sent("openai", request, refused)) == {"model", "messages", "max_completion_tokens", "stream"}
    assert set(sent("gemini", request, refused)["generationConfig"]) == {"maxOutputTokens"}
    assert set(sent("anthropic", request, refused)) == {"model", "messages", "max_tokens", "stream", "system"}


def test_effort_and_verbosity_go_under_each_interfaces_names():
    chat = sent("openai", effort="high", verbosity="low")
    assert (chat["reasoning_effort"], chat["verbosity"]) == ("high", "low")
    response = sent("openai", effort="high", verbosity="low", api="responses")
    assert (response["reasoning"], response["text"]) == (
        {"effort": "high", "summary": "auto"},
        {"verbosity": "low"},
    )
    assert sent("openai", effort="none", api="responses")["reasoning"] == {"effort": "none"}
    assert sent("gemini", effort="low")["generationConfig"]["thinkingConfig"] == {
        "thinkingLevel": "LOW",
        "includeThoughts": True,
    }
    claude = sent("anthropic", effort="max")
    assert claude["output_config"] == {"effort": "max"}
    assert claude["thinking"] == {"type": "adaptive", "display": "summarized"}
    shaped = ChatRequest(REQUEST.messages, Sampling(), JsonObject("a", '{"type":"object"}'))
    assert set(sent("anthropic", shaped, effort="max")["output_config"]) == {"effort", "format"}


def test_a_budget_of_thinking_is_sent_where_there_is_one():
    enabled = {"type": "enabled", "budget_tokens": 2048, "display": "summarized"}
    assert sent("anthropic", thinking_tokens=2048)["thinking"] == enabled
    assert sent("anthropic", thinking_tokens=0)["thinking"] == {"type": "disabled"}
    config = sent("gemini", thinking_tokens=2048)["generationConfig"]["thinkingConfig"]
    assert config == {"thinkingBudget": 2048, "includeThoughts": True}
    assert sent("gemini", thinking_tokens=0)["generationConfig"]["thinkingConfig"] == {"thinkingBudget": 0}


def test_a_model_that_refuses_a_budget_thinks_as_it_sees_fit_within_the_same_limit():
    body = sent("anthropic", known={"refused": frozenset({"thinking_budget"})}, thinking_tokens=2048)
    assert (body["thinking"]["type"], body["max_tokens"]) == ("adaptive", 2112)
    both = frozenset({"thinking_budget", "adaptive_thinking", "reasoning_summary"})
    assert "thinking" not in sent("anthropic", known={"refused": both}, thinking_tokens=2048)
    assert "thinking" not in sent("anthropic", known={"refused": both}, effort="low")


def test_anthropic_gets_no_temperature_with_thinking():
    assert sent("anthropic", thinking_tokens=0)["temperature"] == 0
    call = build("anthropic", thinking_tokens=2048)
    assert "temperature" not in json.loads(call.body)
    assert call.headers["anthropic-version"] == "2026-10-21"


def test_a_model_seen_to_think_unasked_is_asked_to_show_it_and_nothing_else_changes():
    bare = ChatRequest(REQUEST.messages, Sampling(temperature=None))
    shown = sent("anthropic", bare, {"reasons": True})
    assert shown["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert "thinking" not in sent(
        "anthropic", REQUEST, {"reasons": True}
    )  # it would take the temperature away
    assert "thinking" not in sent("anthropic", bare, {"reasons": False})
    refused = {"reasons": True, "refused": frozenset({"adaptive_thinking"})}
    assert "thinking" not in sent("anthropic", bare, refused)


@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
def test_thoughts_are_asked_for_only_where_the_model_is_known_to_have_some(provider):
    assert "thinking" not in json.dumps(sent(provider)).lower()
    if provider == "gemini":
        thinks = sent(provider, known={"reasons": True})["generationConfig"]["thinkingConfig"]
        assert thinks == {"includeThoughts": True}


def test_responses_are_asked_for_where_the_study_or_what_was_learnt_says_so():
    url = "https://api.openai.com/v1"
    assert build("openai").url == f"{url}/chat/completions"
    assert build("openai", api="responses").url == f"{url}/responses"
    assert build("openai", known={"api": "responses"}).url == f"{url}/responses"
    assert build("openai", known={"api": "responses"}, api="chat").url == f"{url}/chat/completions"
    body = sent("openai", api="responses", thinking_tokens=0)
    assert (body["instructions"], body["input"]) == ("Be brief.", [{"role": "user", "content": "Which?"}])
    assert (body["store"], body["max_output_tokens"]) == (False, 64)
    tiny = ChatRequest(REQUEST.messages, Sampling(max_tokens=1))
    assert sent("openai", tiny, api="responses", thinking_tokens=0)["max_output_tokens"] == 16
    listed = sent("openai", ChatRequest(REQUEST.messages, Sampling(top_logprobs=5)), api="responses")
    assert (listed["include"], listed["top_logprobs"]) == (["message.output_text.logprobs"], 5)
    with pytest.raises(UnsupportedConstraint):
        sent("openai", ChatRequest(REQUEST.messages, Sampling(), OneOf(("A",))), api="responses")


AZURE = "https://r.openai.azure.com"


@every(
    ("row", "url"),
    [
        ({"base_url": AZURE, "api_version": "2026-01-01"},
         f"{AZURE}/openai/deployments/x/chat/completions?api-version=2026-01-01"),
        ({"base_url": f"{AZURE}/openai/", "api_version": "v"},
         f"{AZURE}/openai/deployments/x/chat/completions?api-version=v"),
        ({"base_url": f"{AZURE}/openai/deployments/d", "api_version": "v"},
         f"{AZURE}/openai/deployments/d/chat/completions?api-version=v"),
        ({"base_url": AZURE}, f"{AZURE}/openai/v1/chat/completions"),
        ({"base_url": f"{AZURE}/openai/v1"}, f"{AZURE}/openai/v1/chat/completions"),
        ({"base_url": AZURE, "api": "responses", "api_version": "v"}, f"{AZURE}/openai/responses?api-version=v"),
        ({"base_url": "https://gateway.test", "api_version": "v", "model": "a/b?"},
         "https://gateway.test/openai/deployments/a%2Fb%3F/chat/completions?api-version=v"),
    ],
)  # fmt: skip
def test_an_azure_address_names_the_deployment_and_the_version(row, url):
    call = build("openai", **row)
    assert call.url == url
    assert call.headers["api-key"] == "key"
    assert "authorization" not in call.headers
    assert "max_tokens" not in json.loads(call.body)


def test_an_address_that_is_none_builds_a_call_that_the_transport_refuses():
    assert build("openai", base_url="http://[").url.startswith("http://[")


def conversation(*said: str, system: str = "") -> ChatRequest:
    roles = ("user", "assistant")
    turns = tuple(Message(roles[place % 2], text) for place, text in enumerate(said))  # type: ignore[arg-type]
    return ChatRequest((*([Message("system", system)] if system else []), *turns), Sampling())


@every(
    ("request_", "system", "turn"),
    [
        (conversation("q", system="Be brief."), False, None),
        (conversation(LONG), False, None),  # nobody knows yet that it goes on
        (conversation("q", system=LONG), True, None),
        (conversation("q", "a", "q"), False, None),
        (conversation(LONG, "a", "q"), False, None),  # most conversations have two steps
        (conversation(LONG, "a", "q", "b", "q"), False, 3),
        (conversation(LONG, "a", "q", " ", "q", "b", "q"), False, 5),
        (conversation(LONG, "a", "q", "b", "q", " ", "q"), False, 3),  # an empty turn cannot be marked
        (conversation("q", "a", "q", "b", "q", system=LONG), True, 3),
    ],
)
def test_what_later_calls_share_is_told_from_the_request(request_, system, turn):
    assert caching.shared_prefix(request_) == caching.SharedPrefix(system, turn)
    body = sent("anthropic", request_)
    marked = [
        place
        for place, message in enumerate(body["messages"])
        if isinstance(message["content"], list)
        and message["content"][0]["cache_control"] == {"type": "ephemeral"}
    ]
    assert marked == ([] if turn is None else [turn])
    assert isinstance(body.get("system"), list) == system
    plain = sent("anthropic", request_, {"refused": frozenset({"cache_control"})})
    assert "cache_control" not in json.dumps(plain)


def test_what_is_marked_says_the_same_words():
    body = sent("anthropic", conversation(LONG, "a", "q", "b", "q", system=LONG))
    assert body["system"][0]["text"] == LONG
    assert [m["content"] if isinstance(m["content"], str) else m["content"][0]["text"] for m in body["messages"]] == [
        LONG, "a", "q", "b", "q"]  # fmt: skip


def test_steps_of_one_long_conversation_have_one_key_at_openai_and_others_have_others():
    first, second = conversation(LONG), conversation(LONG, "a", "q")
    key = sent("openai", first)["prompt_cache_key"]
    assert sent("openai", second)["prompt_cache_key"] == key
    assert sent("openai", conversation(LONG + "!"))["prompt_cache_key"] != key
    assert "prompt_cache_key" not in sent("openai", conversation("q"))
    assert "prompt_cache_key" not in sent("openai", conversation("q", system=LONG))
    assert "prompt_cache_key" not in sent("openai", first, base_url="http://h/v1")
    assert "prompt_cache_key" not in sent("openai", first, {"refused": frozenset({"prompt_cache_key"})})


@pytest.mark.parametrize("provider", ["openai", "gemini"])
def test_the_next_step_begins_with_the_bytes_of_the_step_before(provider):
    name = "messages" if provider == "openai" else "contents"
    first, second = (sent(provider, conversation(*said)) for said in [(LONG,), (LONG, "a", "q")])
    assert second[name][: len(first[name])] == first[name]


def test_a_long_system_prompt_and_the_turns_up_to_the_last_answer_are_worth_keeping():
    kept = caching.shared_prefix(conversation(LONG, "a", "q", "b", "q", system=LONG))
    later = caching.shared_prefix(conversation(LONG, "a", "q", "b", "q", "c", "q", system=LONG))
    assert kept == caching.SharedPrefix(system=True, turn=3) and later.system and later.turn == 5
    assert caching.shared_prefix(conversation(LONG)) == caching.SharedPrefix()
