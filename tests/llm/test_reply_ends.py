"""A reply ends where its provider says so with a word; text behind that word takes it back, and no text is ever lost."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from metacog_pipeline.llm.retry import RetryPolicy
from metacog_pipeline.llm.transport import FINISH_GRACE_S
from metacog_pipeline.llm.types import Completion, ErrorKind, Status
from tests.llm.replies import CHAT, GENERATED, changed, chunk, read, whole
from tests.llm.test_client_stream import Stream
from tests.tables import every

TEXT = '{"answer": "A", "confidence": 1}'
NOTHING: list[Any] = [None, "", " ", "null", "NULL", "None", "undefined", False, 0]
UNSPECIFIED = [*NOTHING, "FINISH_REASON_UNSPECIFIED"]
DONE = b"[DONE]"
LONG = FINISH_GRACE_S + 0.6


def chat(text: str | None, end: Any = None) -> bytes:
    return json.dumps(chunk("openai", text, end)).encode()


def part(text: str | None, end: Any = None, **more: Any) -> bytes:
    return json.dumps(chunk("gemini", text, end, 5, **more)).encode()


USAGE = json.dumps({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 5}}).encode()
PIECE = {"openai": chat, "gemini": part}


def pieces(provider: str, end: Any) -> list[bytes]:
    """Return ``TEXT`` in pieces, each with ``end``."""
    return [PIECE[provider](TEXT[at : at + 5], end) for at in range(0, len(TEXT), 5)]


def cases() -> Iterator[tuple[str, Any]]:
    yield from (("openai", nothing) for nothing in UNSPECIFIED)
    yield from (("gemini", nothing) for nothing in UNSPECIFIED)


@every(("provider", "nothing"), list(cases()))
def test_a_word_for_nothing_ends_no_reply(provider, nothing):
    events = pieces(provider, nothing)
    for count in range(len(events) + 1):
        assert not whole(provider, events[:count])
        completion = read(provider, events[:count])
        assert (completion.error_kind, completion.error_code) == (ErrorKind.TRANSIENT, "stream_cut")
    last = PIECE[provider](None, "STOP" if provider == "gemini" else "stop")
    ended = [*events, last, PIECE[provider](None, nothing)]
    assert whole(provider, ended)
    completion = read(provider, ended)
    assert (completion.status, completion.text) == (Status.OK, TEXT)
    assert (completion.finish_reason or "").lower() == "stop"


@every("nothing", NOTHING)
def test_a_reply_in_one_piece_may_name_no_end(nothing):
    completion = read("openai", changed(CHAT, "choices", 0, "finish_reason", to=nothing))
    assert (completion.status, completion.text, completion.finish_reason) == (Status.OK, "B", None)


@every(
    ("provider", "events", "text"),
    [
        ("openai", [*pieces("openai", "stop"), DONE], TEXT),
        ("openai", [*pieces("openai", "length")[:-1], chat(TEXT[-2:], "stop"), USAGE, DONE], TEXT),
        ("openai", [chat("", "stop"), *pieces("openai", "stop")], TEXT),
        ("openai", [chat("a"), chat("b", "stop"), chat("c"), USAGE, DONE], "abc"),
        ("openai", [chat("a"), chat(None, "stop"), chat("b"), chat(None, "stop")], "ab"),
        ("openai", [chat("ab", "stop")], "ab"),
        ("openai", [chat("ab", "stop"), USAGE], "ab"),
        ("gemini", pieces("gemini", "STOP"), TEXT),
        ("gemini", [part("hm", thought=True), *pieces("gemini", "STOP")], TEXT),
        ("gemini", [part("a"), part("b", "STOP"), part("c", "STOP")], "abc"),
        ("gemini", [part("ab", "STOP")], "ab"),
        ("gemini", [part("ab"), part(None, "STOP")], "ab"),
        ("gemini", [part("ab"), part("", "STOP")], "ab"),
    ],
)
def test_text_behind_an_end_is_taken_and_the_closed_stream_is_whole(provider, events, text):
    completion = read(provider, events)
    assert (completion.status, completion.text) == (Status.OK, text)
    assert (completion.finish_reason or "stop").lower() == "stop"


def test_a_stream_ended_in_form_without_a_reason_is_truncated_and_one_without_a_text_is_cut():
    completion = read("openai", [chat("ab"), USAGE, DONE])
    assert (completion.status, completion.text) == (Status.TRUNCATED, "ab")
    assert completion.usage.output_tokens == 5
    completion = read("openai", [chat(None), DONE])
    assert (completion.status, completion.error_code) == (Status.FAILED, "stream_cut")


@every(
    ("provider", "events"),
    [
        ("openai", [chat("a"), chat(None, "stop"), chat("b")]),
        ("gemini", [part("a", "STOP"), part("b")]),
        ("gemini", [part("a"), part(None, "STOP"), part("b", "")]),
    ],
)
def test_a_stream_whose_last_text_has_no_end_is_cut(provider, events):
    completion = read(provider, events)
    assert (completion.status, completion.error_code) == (Status.FAILED, "stream_cut")


@every("word", ["abort", "aborted", "error", "server_error", "ERROR", "cancelled", "canceled", "failed", "timeout",
                "time_out", "network_error", "insufficient_system_resource", "request_cancelled"])  # fmt: skip
def test_a_reply_that_its_server_gave_up_is_asked_for_again(word):
    for body in (
        changed(CHAT, "choices", 0, "finish_reason", to=word),
        [chat("half"), chat(None, word), DONE],
    ):
        completion = read("openai", body)
        assert (completion.status, completion.error_kind) == (Status.FAILED, ErrorKind.TRANSIENT)


@every(
    ("word", "status"),
    [
        *((word, Status.OK) for word in ("stop", "STOP", "eos", "end_turn", "COMPLETE", "tool_calls", "stop_sequence")),
        *((word, Status.TRUNCATED) for word in ("length", "LENGTH", "MAX_TOKENS", "model_length")),
        ("model_context_window_exceeded", Status.TRUNCATED),
        *((word, Status.REFUSED) for word in ("content_filter", "SAFETY", "sensitive")),
        ("content_filter: PROHIBITED_CONTENT", Status.REFUSED),
    ],
)  # fmt: skip
def test_every_spelling_of_an_end_is_understood(word, status):
    assert read("openai", changed(CHAT, "choices", 0, "finish_reason", to=word)).status is status


def test_an_unspecified_reason_blocks_nothing():
    answer = GENERATED | {"promptFeedback": {"blockReason": "BLOCK_REASON_UNSPECIFIED"}}
    assert read("gemini", answer).status is Status.OK
    first = json.dumps({"promptFeedback": {"blockReason": ""}}).encode()
    assert not whole("gemini", [first])


def stream(*parts: bytes | float | Exception) -> httpx.Response:
    framed = [b"data: " + each + b"\n\n" if isinstance(each, bytes) else each for each in parts]
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Stream(framed))


def ask(virtual: Any, bench: Any, provider: str, *replies: httpx.Response) -> Completion:
    spec = bench.spec(provider=provider, stream=True)
    policy = RetryPolicy(backoff_base_s=0.01)
    model = bench.model(bench.provider(list(replies)), spec=spec, retries=policy)
    completion: Completion = virtual(model.complete(bench.request()))
    return completion


@every(
    ("provider", "parts"),
    [
        *(
            (
                "openai",
                (chat(TEXT[:4], end), LONG, chat(TEXT[4:], end), LONG, chat(None, "stop"), USAGE, DONE),
            )
            for end in ("", "null", "stop")
        ),
        ("openai", (chat("", "stop"), LONG, chat(TEXT[:4], "stop"), LONG, chat(TEXT[4:], "stop"), DONE)),
        ("gemini", (part(TEXT[:4], "STOP"), LONG, part(TEXT[4:9], "STOP"), LONG, part(TEXT[9:], "STOP"))),
        ("gemini", (part("hm", thought=True), part(TEXT[:4], "STOP"), LONG, part(TEXT[4:], "STOP"))),
        ("gemini", (part(TEXT[:4], ""), LONG, part(TEXT[4:], "STOP"), 0.5)),
    ],
)
def test_a_pause_behind_a_doubtful_end_loses_no_text(virtual, bench, provider, parts):
    completion = ask(virtual, bench, provider, stream(*parts))
    assert (completion.status, completion.text, completion.attempts) == (Status.OK, TEXT, 1)


@every(
    ("provider", "parts"),
    [
        *(("openai", (chat("half", end), chat(" an", end))) for end in ("", "null", "stop")),
        ("openai", (chat("half"), chat(None, "stop"), chat(" an"))),
        ("gemini", (part("half", ""), part(" an", "FINISH_REASON_UNSPECIFIED"))),
        ("gemini", (part("half", "STOP"), part(" an", "STOP"))),
    ],
)
def test_a_break_before_an_end_that_can_be_believed_is_asked_once_more(virtual, bench, provider, parts):
    broken = (*parts, httpx.ReadError("reset"))
    good = (PIECE[provider]("whole"), PIECE[provider](None, "STOP"))
    completion = ask(virtual, bench, provider, stream(*broken), stream(*good))
    assert (completion.status, completion.text, completion.attempts_billed) == (Status.OK, "whole", 2)
    completion = ask(virtual, bench, provider, stream(*broken), stream(*broken))
    assert (completion.status, completion.text) == (Status.FAILED, "half an")


@pytest.mark.parametrize("rest", [httpx.ReadError("reset"), 100_000.0])
@pytest.mark.parametrize(
    ("provider", "parts"),
    [
        ("openai", (chat("a"), chat("b", "stop"))),
        ("openai", (chat("ab", "stop"), DONE)),
        ("gemini", (part("a"), part("b", "STOP"))),
    ],
)
def test_nothing_is_lost_behind_an_end_that_can_be_believed(virtual, bench, provider, parts, rest):
    completion = ask(virtual, bench, provider, stream(*parts, rest))
    assert (completion.status, completion.text, completion.attempts) == (Status.OK, "ab", 1)
    if DONE in parts:
        assert completion.latency_s <= 0.2 + FINISH_GRACE_S, "nothing more is waited for"
