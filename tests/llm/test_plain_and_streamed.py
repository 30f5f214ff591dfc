"""A reply is read alike in one piece and as a stream, however its body is cut into events and its events into bytes."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.llm.replies import CHAT, GENERATED, LOGPROB, MESSAGE, read, whole

QUICK = (Phase.explicit, Phase.reuse, Phase.generate)  # a failure is whole without minutes of shrinking
Draw = Callable[[st.SearchStrategy[Any]], Any]
Body = dict[str, Any]
words = st.text(st.characters(blacklist_categories=["Cs"]), max_size=12)
texts = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=12)
counts = st.integers(60, 4000)  # at least a token for so few characters


def pieces(draw: Draw, text: str) -> list[str]:
    """Cut ``text`` anywhere; empty pieces are sent too."""
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def rising(draw: Draw, total: int, n: int) -> list[int]:
    """Counts so far after each of ``n`` pieces, the last of them the whole."""
    return [max(1, total * (place + 1) // n) for place in range(n - 1)] + [total]


def chat(draw: Draw) -> tuple[Body, list[Body]]:
    top = {name: CHAT[name] for name in ("id", "created", "model", "system_fingerprint")}
    usage = {"prompt_tokens": draw(counts), "completion_tokens": draw(counts)}
    choices, events = [], []
    for index in draw(st.permutations(range(draw(st.integers(1, 3))))):
        said = {"content": draw(texts)}
        if draw(st.booleans()):
            said["reasoning_content"] = draw(texts)
        tokens = [LOGPROB] * draw(st.integers(0, 3))
        end = draw(st.sampled_from(["stop", "length", "content_filter"]))
        message = {"role": "assistant", **said}
        choices.append(
            {"index": index, "finish_reason": end, "message": message, "logprobs": {"content": tokens}}
        )
        for name in reversed(said):
            for piece in pieces(draw, said[name]):
                some, tokens = (tokens[:1], tokens[1:]) if name == "content" else ([], tokens)
                delta = {"index": index, "delta": {name: piece}, "logprobs": {"content": some}}
                events.append({**top, "object": "chat.completion.chunk", "choices": [delta]})
        last = {"index": index, "delta": {}, "finish_reason": end, "logprobs": {"content": tokens}}
        events.append({**top, "choices": [last]})
    if draw(st.booleans()):  # a server that counts with every chunk
        for event, count in zip(events, rising(draw, usage["completion_tokens"], len(events)), strict=True):
            event["usage"] = usage | {"completion_tokens": count}
    events.append({**top, "choices": [], "usage": usage})
    return {**top, "object": "chat.completion", "choices": choices, "usage": usage}, events


def message(draw: Draw) -> tuple[Body, list[Body]]:
    blocks = [{"type": "text", "text": draw(words)} for _ in range(draw(st.integers(1, 2)))]
    thoughts = [{"type": "thinking", "thinking": draw(texts)} for _ in range(draw(st.integers(0, 2)))]
    end = draw(st.sampled_from(["end_turn", "max_tokens", "refusal"]))
    got = draw(counts)
    body = {
        **MESSAGE,
        "content": thoughts + blocks,
        "stop_reason": end,
        "usage": {**MESSAGE["usage"], "output_tokens": got},
    }
    begun = {**body, "content": [], "stop_reason": None, "usage": body["usage"] | {"output_tokens": 1}}
    events: list[Body] = [{"type": "message_start", "message": begun}, {"type": "ping"}]
    for index, block in enumerate(body["content"]):
        name = block["type"]
        events.append(
            {"type": "content_block_start", "index": index, "content_block": {"type": name, name: ""}}
        )
        for piece in pieces(draw, block[name]):
            delta = {"type": f"{name}_delta", name: piece}
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    counted = {"output_tokens": got} if draw(st.booleans()) else body["usage"]
    events.append({"type": "message_delta", "delta": {"stop_reason": end}, "usage": counted})
    return body, [*events, {"type": "message_stop"}]


def generated(draw: Draw) -> tuple[Body, list[Body]]:
    top = {name: GENERATED[name] for name in ("modelVersion", "responseId")}
    got = draw(counts)
    usage = {"promptTokenCount": draw(counts), "candidatesTokenCount": got}
    candidates, events = [], []
    for index in draw(st.permutations(range(draw(st.integers(1, 2))))):
        said = [{"text": draw(texts), "thought": True}] if draw(st.booleans()) else []
        said.append({"text": draw(texts)})
        end = draw(st.sampled_from(["STOP", "MAX_TOKENS", "SAFETY"]))
        candidates.append({"index": index, "finishReason": end, "content": {"role": "model", "parts": said}})
        for part in said:
            for piece in pieces(draw, part["text"]):
                content = {"role": "model", "parts": [{**part, "text": piece}]}
                events.append({**top, "candidates": [{"index": index, "content": content}]})
        events[-1]["candidates"][0]["finishReason"] = end
    for event, count in zip(events, rising(draw, got, len(events)), strict=True):
        event["usageMetadata"] = usage | {"candidatesTokenCount": count}
    return {**top, "candidates": candidates, "usageMetadata": usage}, events


def framed(draw: Draw, event: Body) -> bytes:
    """Write one event down as the standard allows: line ends, comments, names, data over several lines."""
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    text = json.dumps(event, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 1])))
    lines = [f"data:{draw(st.sampled_from(['', ' ']))}{line}" for line in text.split("\n")]
    before = draw(st.sampled_from([[], [": keep-alive", ""], ["event: x"], ["id: 1", "retry: 5"]]))
    return (end.join([*before, *lines, "", ""])).encode()


FORMATS = {"openai": chat, "anthropic": message, "gemini": generated}


@pytest.mark.parametrize("provider", FORMATS)
@given(data=st.data())
@settings(max_examples=30, deadline=None, phases=QUICK)
def test_a_body_cut_into_events_in_any_way_is_read_as_the_body(provider, data):
    body, events = FORMATS[provider](data.draw)
    stream = b"".join(framed(data.draw, event) for event in events)
    assert read(provider, stream + (b"data: [DONE]" if provider == "openai" else b"")) == read(provider, body)


@pytest.mark.parametrize("provider", FORMATS)
@given(data=st.data())
@settings(max_examples=15, deadline=None, phases=QUICK)
def test_what_follows_the_end_of_a_reply_takes_nothing_from_it(provider, data):
    body, events = FORMATS[provider](data.draw)
    late = [
        {"type": "error", "error": {"type": "api_error", "message": "late"}},
        {"error": {"message": "late", "code": 500}},
        "{ no json",
    ]
    events += ["[DONE]"] if provider == "openai" else []  # type: ignore[list-item]
    if whole(provider, events):
        assert read(provider, [*events, *late]) == read(provider, body)


def test_text_behind_the_mark_of_the_end_is_no_part_of_the_reply():
    events = [
        {"choices": [{"index": 0, "delta": {"content": "A"}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        "[DONE]",
        {"choices": [{"index": 0, "delta": {"content": " B"}}]},
        {"error": {"message": "late"}},
    ]
    assert read("openai", events).text == "A"


def test_the_choice_with_the_lowest_index_is_read_wherever_it_stands():
    def choices(*said: tuple[int | None, str]) -> bytes:
        listed = [{"index": i, "finish_reason": "stop", "message": {"content": text}} for i, text in said]
        return json.dumps({"choices": listed}).encode()

    assert read("openai", choices((1, "B"), (0, "A"))).text == "A"
    assert read("openai", choices((2, "C"), (1, "B"))).text == "B"
    assert read("openai", choices((None, "A"), (1, "B"))).text == "A"
