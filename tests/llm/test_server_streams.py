"""Streams and thinking of the local provider, read by the official clients, and the faults only a stream can have."""

import json
import re
import time

import httpx
import pytest

from metacog_pipeline.llm.server import FAULT_HEADER, Fault, FaultPlan
from metacog_pipeline.llm.types import Completion, Status, TokenLogprob, Usage
from tests.llm.clients import anthropic, genai, openai
from tests.simulated_server import ServerThread

TEXT = "The answer is B – naïvely \N{MATHEMATICAL BOLD CAPITAL A}."
ASKED = [{"role": "user", "content": "hi"}]
PATHS = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/m:streamGenerateContent?alt=sse",
}
BODIES = {
    "chat": {"model": "m", "messages": ASKED, "stream": True, "stream_options": {"include_usage": True}},
    "responses": {"model": "m", "input": "hi", "stream": True, "reasoning": {"summary": "auto"}},
    "anthropic": {"model": "m", "messages": ASKED, "max_tokens": 99_999, "stream": True},
    "gemini": {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "generationConfig": {"thinkingConfig": {"includeThoughts": True}},
    },
}
ALL = pytest.mark.parametrize("interface", PATHS)


@pytest.fixture(scope="module")
def server():
    with ServerThread(lambda model, request: TEXT, FaultPlan(thinking_tokens=50, slow_s=0.2)) as running:
        yield running


@pytest.fixture(scope="module")
def chat(server):
    return openai.OpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0)


@pytest.fixture(scope="module")
def messages(server):
    return anthropic.Anthropic(api_key="k", base_url=server.url, max_retries=0)


@pytest.fixture(scope="module")
def gemini(server):
    return genai.Client(api_key="k", http_options={"base_url": server.url})


def raw(server, interface, fault=None, timeout=5.0):
    headers = {FAULT_HEADER: fault} if fault else {}
    url = server.url + PATHS[interface]
    with httpx.stream("POST", url, json=BODIES[interface], headers=headers, timeout=timeout) as got:
        return b"".join(got.iter_raw())


def test_a_streamed_chat_says_thinking_text_finish_usage_and_done(server, chat):
    plain = chat.chat.completions.create(model="m", messages=ASKED)
    chunks = list(
        chat.chat.completions.create(
            model="m", messages=ASKED, stream=True, stream_options={"include_usage": True}
        )
    )
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == plain.choices[0].message.content == TEXT
    thought = "".join(getattr(delta, "reasoning_content", "") for delta in deltas)
    assert thought == plain.choices[0].message.reasoning_content != ""
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].choices == []
    assert chunks[-1].usage == plain.usage
    assert all(chunk.usage is None for chunk in chunks[:-1])
    assert plain.usage.completion_tokens_details.reasoning_tokens >= 25
    assert raw(server, "chat").endswith(b"data: [DONE]\n\n")


def test_a_stream_of_a_chat_without_include_usage_has_none(chat):
    chunks = list(chat.chat.completions.create(model="m", messages=ASKED, stream=True))
    assert all(chunk.usage is None and chunk.choices for chunk in chunks)


def test_log_probabilities_of_a_streamed_chat_add_up_to_the_whole(server, chat):
    tokens = tuple(TokenLogprob(text, -0.5, ((text, -0.5),)) for text in TEXT.split())
    with ServerThread(lambda model, request: Completion(Status.OK, TEXT, logprobs=tokens)) as running:
        client = chat.with_options(base_url=f"{running.url}/v1")
        chunks = list(
            client.chat.completions.create(
                model="m", messages=ASKED, stream=True, logprobs=True, top_logprobs=1
            )
        )
    found = [t.token for c in chunks if c.choices[0].logprobs for t in c.choices[0].logprobs.content]
    assert found == TEXT.split()


def test_responses_are_the_same_plain_and_streamed(chat):
    plain = chat.responses.create(model="m", input="hi", reasoning={"summary": "auto"})
    with chat.responses.stream(model="m", input="hi", reasoning={"summary": "auto"}) as stream:
        kinds = [event.type for event in stream]
        whole = stream.get_final_response()
    assert plain.output_text == whole.output_text == TEXT
    assert plain.output[0].summary[0].text == whole.output[0].summary[0].text != ""
    assert plain.usage == whole.usage
    assert plain.usage.output_tokens_details.reasoning_tokens >= 25
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.completed"
    assert {"response.reasoning_summary_text.delta", "response.output_text.delta"} < set(kinds)


def test_responses_hide_their_reasoning_unless_a_summary_or_its_sealed_form_is_asked_for(chat):
    hidden = chat.responses.create(model="m", input="hi", include=["reasoning.encrypted_content"])
    assert hidden.output[0].summary == []
    assert hidden.output[0].encrypted_content


def test_a_streamed_message_says_thinking_signature_text_and_usage(server, messages):
    plain = messages.messages.create(model="m", max_tokens=999, messages=ASKED)
    with messages.messages.stream(model="m", max_tokens=999, messages=ASKED) as stream:
        kinds = [event.type for event in stream]
        whole = stream.get_final_message()
    assert [block.type for block in whole.content] == ["thinking", "text"]
    assert whole.content[1].text == plain.content[1].text == TEXT
    assert whole.content[0].thinking == plain.content[0].thinking != ""
    assert whole.content[0].signature
    assert whole.usage.output_tokens == plain.usage.output_tokens
    assert (whole.stop_reason, kinds[0], kinds[-1]) == ("end_turn", "message_start", "message_stop")
    assert b"event: ping\n" in raw(server, "anthropic")


def test_thinking_that_is_not_to_be_shown_comes_as_a_signature_only(messages):
    thinking = {"type": "adaptive", "display": "omitted"}
    got = messages.messages.create(model="m", max_tokens=999, messages=ASKED, thinking=thinking)
    assert (got.content[0].thinking, got.content[1].text) == ("", TEXT)
    off = {"type": "disabled"}
    got = messages.messages.create(model="m", max_tokens=999, messages=ASKED, thinking=off)
    assert [block.type for block in got.content] == ["text"]


def test_a_streamed_generation_says_thoughts_text_and_usage(gemini):
    config = {"thinking_config": {"include_thoughts": True}}
    plain = gemini.models.generate_content(model="m", contents="hi", config=config)
    chunks = list(gemini.models.generate_content_stream(model="m", contents="hi", config=config))
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts]
    assert "".join(part.text for part in parts if not part.thought) == plain.text == TEXT
    assert "".join(part.text for part in parts if part.thought)
    assert chunks[-1].usage_metadata == plain.usage_metadata
    assert plain.usage_metadata.thoughts_token_count >= 25
    assert chunks[-1].candidates[0].finish_reason == "STOP"
    none = {"thinking_config": {"thinking_budget": 0}}
    got = gemini.models.generate_content(model="m", contents="hi", config=none)
    assert got.usage_metadata.thoughts_token_count is None


def test_a_limit_below_the_thinking_leaves_an_empty_answer_that_is_billed(chat, messages, gemini):
    got = chat.chat.completions.create(model="m", messages=ASKED, max_completion_tokens=20)
    assert (got.choices[0].message.content, got.choices[0].finish_reason) == ("", "length")
    assert got.usage.completion_tokens == got.usage.completion_tokens_details.reasoning_tokens == 20
    got = chat.responses.create(model="m", input="hi", max_output_tokens=20)
    assert (got.output_text, got.status, got.incomplete_details.reason) == (
        "",
        "incomplete",
        "max_output_tokens",
    )
    got = messages.messages.create(model="m", messages=ASKED, max_tokens=20)
    assert ([block.type for block in got.content], got.stop_reason) == (["thinking"], "max_tokens")
    got = gemini.models.generate_content(model="m", contents="hi", config={"max_output_tokens": 20})
    assert (got.text, got.candidates[0].finish_reason) == (None, "MAX_TOKENS")
    assert (got.usage_metadata.thoughts_token_count, got.usage_metadata.candidates_token_count) == (20, 0)


def test_a_limit_that_leaves_a_little_room_cuts_the_answer(chat):
    whole = chat.chat.completions.create(model="m", messages=ASKED)
    limit = whole.usage.completion_tokens_details.reasoning_tokens + 2
    # The thinking of a request depends on the request, so the limit itself is tried from one above on.
    got = [
        chat.chat.completions.create(model="m", messages=ASKED, max_completion_tokens=limit + more)
        for more in range(0, 60, 4)
    ]
    cut = [each.choices[0].message.content for each in got if each.choices[0].finish_reason == "length"]
    assert any(0 < len(text) < len(TEXT) for text in cut)
    assert all(TEXT.startswith(text) for text in cut)


def test_what_the_respondent_says_of_its_thinking_and_its_bill_stands(chat):
    said = Completion(Status.OK, "B", reasoning_text="hm", usage=Usage(7, 100, 90, 3))
    with ServerThread(lambda model, request: said) as running:
        client = chat.with_options(base_url=f"{running.url}/v1")
        got = client.chat.completions.create(model="m", messages=ASKED)
    assert got.choices[0].message.reasoning_content == "hm"
    assert (got.usage.prompt_tokens, got.usage.completion_tokens) == (7, 100)
    assert got.usage.completion_tokens_details.reasoning_tokens == 90
    assert got.usage.prompt_tokens_details.cached_tokens == 3


@ALL
def test_a_torn_stream_holds_the_same_bytes_as_a_healthy_one(server, interface):
    def without_ids(data):
        return re.sub(r"(sim[-_]|c2lt)\d+", "", data.decode())

    assert without_ids(raw(server, interface, Fault.TORN)) == without_ids(raw(server, interface))


@ALL
def test_a_stream_that_is_cut_is_no_whole_reply(server, interface):
    for fault in (Fault.CUT, Fault.CUT_CHARACTER):
        with pytest.raises(httpx.RemoteProtocolError):
            raw(server, interface, fault)


@ALL
def test_a_stream_cut_inside_a_character_is_no_utf8(server, interface):
    got = b""
    with (
        httpx.stream(
            "POST",
            server.url + PATHS[interface],
            json=BODIES[interface],
            headers={FAULT_HEADER: Fault.CUT_CHARACTER},
        ) as reply,
        pytest.raises(httpx.RemoteProtocolError),
    ):
        for part in reply.iter_raw():
            got += part
    with pytest.raises(UnicodeDecodeError):
        got.decode()


@ALL
def test_a_stream_that_ends_early_ends_politely_and_says_no_finish(server, interface):
    got, whole = raw(server, interface, Fault.ENDS_EARLY), raw(server, interface)
    assert 0 < len(got) < len(whole)
    for finish in (b'"finish_reason":"stop"', b"response.completed", b"message_stop", b'"finishReason"'):
        assert finish not in got


@ALL
def test_a_stream_that_never_ends_goes_on_until_the_client_leaves(server, interface):
    parts = 0
    with httpx.stream(
        "POST", server.url + PATHS[interface], json=BODIES[interface], headers={FAULT_HEADER: Fault.ENDLESS}
    ) as got:
        for _ in got.iter_raw():
            parts += 1
            if parts > 60:
                break
    assert parts > 60
    assert raw(server, interface)


@ALL
def test_an_error_in_the_middle_of_a_stream_comes_in_the_words_of_the_format(server, interface):
    got = raw(server, interface, Fault.STREAM_ERROR).decode()
    last = json.loads(got.strip().split("data: ")[-1])
    assert "overloaded" in json.dumps(last)
    assert ("event: error" in got) is (interface in ("anthropic", "responses"))


@ALL
def test_usage_can_be_missing_negative_or_above_the_limit(server, interface):
    assert b'tokens":' not in raw(server, interface, Fault.NO_USAGE).lower().replace(
        b"max_output_tokens", b""
    )
    negative = raw(server, interface, Fault.NEGATIVE_USAGE).lower()
    assert b'tokens":-' in negative or b'tokencount":-' in negative
    above = raw(server, interface, Fault.USAGE_ABOVE_LIMIT)
    assert re.search(rb'[tT]okens"?(Count)?"?:\d{5}|Count":\d{5}', above)


@ALL
def test_a_thinking_block_of_ten_megabytes_comes_whole(server, interface):
    assert len(raw(server, interface, Fault.HUGE_THINKING, timeout=60)) > 10 * 2**20


@ALL
def test_faults_of_streams_spare_a_call_that_wants_no_stream(server, interface):
    body = {name: value for name, value in BODIES[interface].items() if not name.startswith("stream")}
    path = PATHS[interface].replace("streamG", "g").removesuffix("?alt=sse")
    got = httpx.post(server.url + path, json=body, headers={FAULT_HEADER: Fault.ENDLESS})
    assert got.status_code == 200
    assert got.json()


def test_keep_alive_comments_come_before_a_late_first_byte(chat):
    plan = FaultPlan(latency_s=0.3, keep_alive_s=0.05, gap_s=0.01)
    with ServerThread(lambda model, request: TEXT, plan) as running:
        got = raw(running, "chat")
        client = chat.with_options(base_url=f"{running.url}/v1")
        chunks = list(client.chat.completions.create(model="m", messages=ASKED, stream=True))
    assert got.startswith(b": keep-alive\n\n: keep-alive\n\n")
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == TEXT


def test_a_stalled_stream_pauses_half_way_and_goes_on(server):
    started = time.monotonic()
    assert raw(server, "chat", Fault.STALL).endswith(b"data: [DONE]\n\n")
    assert time.monotonic() - started >= 0.2
    with pytest.raises(httpx.ReadTimeout):
        raw(server, "chat", Fault.STALL, timeout=0.05)


def test_an_error_inside_a_reply_with_status_200_is_an_error_in_its_body(server):
    got = httpx.post(
        server.url + PATHS["chat"],
        json={"model": "m", "messages": ASKED},
        headers={FAULT_HEADER: Fault.PROVIDER_ERROR},
    )
    assert (got.status_code, "error" in got.json()) == (200, True)
