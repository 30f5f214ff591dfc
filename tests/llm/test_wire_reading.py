"""What is read of a reply beside its text; every reply here is one that the provider's own client reads too."""

import json

import pytest

from metacog_pipeline.llm.types import Completion, Status, Usage
from tests.llm.replies import CHAT, GENERATED, MESSAGE, changed, read
from tests.tables import every

THOUGHT = "First.\n\nThen."
THINKING = changed(CHAT, "choices", 0, "message", "reasoning_content", to=THOUGHT)


@pytest.mark.parametrize("client", ["openai", "anthropic", "google.genai"])
def test_the_samples_are_replies_of_the_official_types(client):
    types = pytest.importorskip(f"{client}.types")
    if client == "openai":
        types.chat.ChatCompletion.model_validate(CHAT, strict=True)
    elif client == "anthropic":
        types.Message.model_validate(MESSAGE, strict=True)
    else:
        types.GenerateContentResponse.model_validate_json(json.dumps(GENERATED))


@every(
    ("provider", "body", "ids"),
    [
        ("openai", THINKING, ("chatcmpl-1", "default", "fp_1")),
        ("anthropic", MESSAGE, ("msg_1", "standard", None)),
        ("gemini", GENERATED, ("r_1", "ON_DEMAND", None)),
    ],
)  # fmt: skip
def test_details_are_read_and_parts_of_the_input_are_added(provider, body, ids):
    got = read(provider, body)
    assert got.usage == Usage(2000, 50, 40, 1024, None if provider == "gemini" else 512)
    assert (got.status, got.text, got.reasoning_text, got.finish_detail) == (Status.OK, "B", THOUGHT, None)
    assert (got.response_id, got.service_tier, got.system_fingerprint) == ids
    assert got.finish_reason in ("stop", "end_turn", "STOP")


@every(
    ("message", "shown"),
    [
        ({"reasoning": "hm"}, "hm"),
        ({"reasoning_content": "hm"}, "hm"),
        ({"reasoning": "", "reasoning_details": [{"type": "reasoning.text", "text": "h"}, {"summary": "m"}]}, "hm"),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"text": "B"}]}, "hm"),
        ({"content": "<think>\nhm\n</think>\n\nB"}, "hm"),
        ({"content": "hm</think>B"}, "hm"),
        ({"content": "<think>hm and no end"}, "hm and no end"),
        ({"content": "B, as <think>hm</think> shows"}, None),
        ({"content": "<think></think>B"}, None),
        ({"content": "a < b"}, None),
        ({"reasoning": 5, "reasoning_content": ["x"], "reasoning_details": {}}, None),
    ],
)  # fmt: skip
def test_every_servers_field_of_thinking_is_read_and_the_text_stays_what_came(message, shown):
    whole = changed(CHAT, "choices", 0, "message", to={"role": "assistant", "content": "B", **message})
    got = read("openai", whole)
    assert got.reasoning_text == shown
    content = message.get("content", "B")
    assert got.text == ("B" if isinstance(content, list) else content)


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
def test_a_thought_of_10_mb_is_kept_whole(provider):
    long = "thought " * (10 * 2**20 // 8)
    body = {
        "openai": lambda: changed(CHAT, "choices", 0, "message", "reasoning", to=long),
        "anthropic": lambda: changed(MESSAGE, "content", to=[{"type": "thinking", "thinking": long}]),
        "gemini": lambda: changed(GENERATED, "candidates", 0, "content", "parts", 0, "text", to=long),
    }[provider]()
    assert read(provider, body).reasoning_text == long


def test_details_of_an_ending_are_read():
    filtered = {"hate": {"filtered": True}, "sexual": {"filtered": False}}
    azure = changed(CHAT, "choices", 0, "content_filter_results", to=filtered)
    assert read("openai", azure).finish_detail == "filtered: hate"
    proxied = changed(CHAT, "choices", 0, "native_finish_reason", to="MAX_TOKENS")
    assert read("openai", proxied).finish_detail == "MAX_TOKENS"
    details = {"type": "refusal", "category": "bio", "explanation": "Not\nthis."}
    refused = MESSAGE | {"stop_reason": "refusal", "stop_details": details}
    assert read("anthropic", refused).finish_detail == "bio: Not this."
    blocked = {"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "No."}}
    assert read("gemini", blocked).finish_detail == "No."


def listed(message: dict[str, object], said: list[str]) -> Completion:
    """Return a reply whose server lists the tokens ``said``."""
    tokens = [{"token": word, "logprob": -1, "top_logprobs": []} for word in said]
    choice = {"message": message, "finish_reason": "stop", "logprobs": {"content": tokens}}
    return read("openai", {"choices": [choice]})


@every(
    ("said", "text", "kept"),
    [
        (["A", " is", "</think>", "\n\n", "A", "<|end|>"], "A", ["A", "<|end|>"]),
        (["B", "</think>", " A", "<|IM_END|>"], "A", [" A", "<|IM_END|>"]),
        (["No", "<|channel|>", "final", "N", "o"], "No", ["N", "o"]),
        (["A", "<|end|>"], "A", ["A", "<|end|>"]),
        (["x", "</think>", "�", "�", "!"], "é!", ["�", "�", "!"]),
        (["x", "�", "�", "!"], "é!", []),
        (["A", " B"], "", []),
        (["B"], "The B", ["B"]),
        ([], "A", []),
    ],
)
def test_where_the_answer_begins_is_told_by_its_text_or_by_the_end_of_the_thought(said, text, kept):
    completion = listed({"content": text, "reasoning": "a thought"}, said)
    assert [token.token for token in completion.logprobs] == kept
    assert (completion.text, completion.reasoning_text) == (text, "a thought")


@pytest.mark.parametrize("message", [{"content": "A"}, {"content": "<think>B</think>A"}, {"content": None}])
def test_without_a_field_of_its_own_for_the_thinking_every_token_is_kept(message):
    said = ["<think>", "B", "</think>", "A", "<|end|>"]
    assert [token.token for token in listed(message, said).logprobs] == said
