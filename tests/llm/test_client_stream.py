"""Streamed replies: put together, kept when they break, and never waited for without end."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import httpx
import pytest

from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.retry import RetryPolicy
from metacog_pipeline.llm.transport import EFFORT_FACTORS, STREAM_TOTAL_FACTOR, timeouts_of
from metacog_pipeline.llm.types import ErrorKind, Status
from tests.tables import every

Run = Callable[[Any], Any]
ONCE = RetryPolicy(transient_attempts=1)
EVENTS = {"content-type": "text/event-stream"}
USAGE = {"prompt_tokens": 100, "completion_tokens": 10}


class Stream(httpx.AsyncByteStream):
    """Sends pieces; a number is a wait in seconds, an exception breaks the connection."""

    def __init__(self, pieces: Sequence[bytes | float | Exception], for_ever: bool = False) -> None:
        self.pieces, self.for_ever = pieces, for_ever

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            for piece in self.pieces:
                if isinstance(piece, Exception):
                    raise piece
                if isinstance(piece, bytes):
                    yield piece
                else:
                    await asyncio.sleep(piece)
            if not self.for_ever:
                return


def event(text: str | None = None, thought: str | None = None, **fields: object) -> bytes:
    delta = {"content": text, "reasoning_content": thought}
    chunk = {"choices": [{"index": 0, "delta": delta}], **fields}
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


END = b"data: " + json.dumps({"choices": [{"delta": {}, "finish_reason": "stop"}]}).encode() + b"\n\n"
DONE = END + event(usage=USAGE) + b"data: [DONE]\n\n"


def streaming(bench: Any, *replies: httpx.Response, **more: Any) -> Any:
    """Return a model whose calls are answered with ``replies`` in turn."""
    provider = bench.provider(list(replies), latency=0.2)
    spec = bench.spec(stream=True, **more.pop("spec", {}))
    return bench.model(provider, spec=spec, **more)


def said(*pieces: bytes | float | Exception, for_ever: bool = False, **headers: str) -> httpx.Response:
    return httpx.Response(200, headers=EVENTS | headers, stream=Stream(pieces, for_ever))


def ask(virtual: Run, bench: Any, *replies: httpx.Response, **more: Any) -> Any:
    return virtual(streaming(bench, *replies, **more).complete(bench.request()))


def test_a_stream_is_read_as_the_answer_it_is(virtual, bench):
    pieces = (b": keep-alive\n\n", 3.0, event(thought="hm"), 1.0, event(text="B"), event(text="!"), DONE)
    completion = ask(virtual, bench, said(*pieces))
    assert (completion.status, completion.text, completion.attempts) == (Status.OK, "B!", 1)
    assert (completion.usage.input_tokens, completion.usage.output_tokens) == (100, 10)
    assert completion.latency_first_s == pytest.approx(3.2)
    assert completion.latency_s == pytest.approx(4.2)
    assert completion.attempts_billed == 1


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_stream_cut_anywhere_by_the_network_is_put_together(virtual, bench, end):
    whole = (event(text="Größe 10\u202f€ 🙂") + DONE).replace(b"\n", end)
    completion = ask(virtual, bench, said(*(whole[at : at + 1] for at in range(len(whole)))))
    assert completion.text == "Größe 10\u202f€ 🙂"


@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json", ""])
def test_a_plain_body_in_answer_to_a_request_for_a_stream_is_read_as_such(virtual, bench, content_type):
    body = bench.reply("B").content
    reply = httpx.Response(200, headers={"content-type": content_type}, content=body)
    completion = ask(virtual, bench, reply)
    assert (completion.text, completion.usage.output_tokens) == ("B", 10)
    assert completion.latency_first_s == pytest.approx(0.2)


def test_an_error_status_in_answer_to_a_request_for_a_stream_is_that_error(virtual, bench):
    completion = ask(virtual, bench, bench.error(400, "unsupported_parameter"))
    assert (completion.error_kind, completion.http_status) == (ErrorKind.UNSUPPORTED, 400)
    assert completion.attempts_billed == 0


@pytest.mark.parametrize(
    "end",
    [httpx.ReadError("reset"), b"", b'data: {"text": "\xf0\x9f', 10_000.0],
    ids=["reset", "end", "inside a character", "silence"],
)
def test_what_had_streamed_before_a_break_is_kept_and_asked_once_more(virtual, bench, end):
    broken = (event(thought="a thought"), event(text="half an an"), end)
    provider_gives = (said(*broken), said(*broken), said(event(text="B"), DONE))
    completion = ask(virtual, bench, *provider_gives)
    assert (completion.status, completion.error_kind) == (Status.FAILED, ErrorKind.TRANSIENT)
    assert (completion.text, completion.reasoning_text) == ("half an an", "a thought")
    assert (completion.attempts, completion.attempts_billed) == (2, 2)
    assert completion.usage.output_tokens is None


def test_text_of_a_broken_stream_outlives_a_second_try_that_brought_none(virtual, bench):
    broken = said(event(text="half"), httpx.ReadError("reset"))
    completion = ask(virtual, bench, broken, bench.error(504))
    assert (completion.status, completion.text, completion.http_status) == (Status.FAILED, "half", 504)


def test_an_error_inside_a_stream_is_that_error_with_the_text_so_far(virtual, bench):
    failing = event(error={"code": "invalid_api_key", "message": "revoked"})
    completion = ask(virtual, bench, said(event(text="half"), failing))
    assert (completion.error_kind, completion.error_code) == (ErrorKind.FATAL, "invalid_api_key")
    assert completion.text == "half"


@every(
    ("pieces", "fields", "after", "key"),
    [
        ([], {"timeout_s": 10.0}, 30.0, "nothing came for 30 s: raise timeout_s"),
        ([], {"timeout_s": 10.0, "effort": "high"}, 50.0, "nothing came for 50 s: raise timeout_s"),
        ([event(text="a")], {"timeout_s": 9.0}, 27.2, "nothing came for 27 s: raise timeout_s"),
        ([event(text="a")], {"total_timeout_s": 11.0}, 11.0, "the total of 11 s is over: raise total_timeout_s"),
    ],
)  # fmt: skip
def test_a_timeout_says_which_it_was_its_value_and_the_key_to_raise(
    virtual, bench, pieces, fields, after, key
):
    completion = ask(virtual, bench, said(*pieces, 10_000.0), spec=fields, retries=ONCE)
    assert key in (completion.error_message or "")
    assert completion.latency_s == pytest.approx(after)


@every("effort", [*EFFORT_FACTORS, "unheard", None])
def test_a_model_may_keep_silent_longer_the_more_effort_is_asked_for(bench, effort):
    spec = bench.spec(timeout_s=100.0).model_copy(update={"effort": effort})
    silence = 100.0 * EFFORT_FACTORS.get(effort or "medium", 3.0)
    assert timeouts_of(spec, streamed=True) == (silence, STREAM_TOTAL_FACTOR * silence)
    assert timeouts_of(spec.model_copy(update={"total_timeout_s": 11.0}), streamed=True) == (silence, 11.0)


def test_a_model_that_does_not_think_has_the_timeout_of_its_row(bench):
    known, spec = Capabilities(reasons=False), bench.spec(timeout_s=100.0)
    assert timeouts_of(spec, known) == (100.0, 140.0)


def test_keep_alive_comments_are_life_but_not_without_end(virtual, bench):
    alive = (b": keep-alive\n\n", 4.0)
    patient = said(*alive * 20, event(text="B"), DONE)
    assert ask(virtual, bench, patient, spec={"timeout_s": 5.0 / 3, "total_timeout_s": 200.0}).text == "B"
    completion = ask(
        virtual, bench, said(*alive, for_ever=True), spec={"total_timeout_s": 60.0}, retries=ONCE
    )
    assert "raise total_timeout_s" in (completion.error_message or "")
    assert completion.latency_s == pytest.approx(60.0)


def test_a_stream_that_never_ends_stops_at_the_total_or_the_largest_body_with_its_text(
    virtual, bench, monkeypatch
):
    endless = said(event(text="x"), 1.0, for_ever=True)
    completion = ask(virtual, bench, endless, spec={"total_timeout_s": 30.0}, retries=ONCE)
    assert (completion.status, completion.error_kind) == (Status.FAILED, ErrorKind.TRANSIENT)
    assert completion.text == "x" * 30
    monkeypatch.setattr("metacog_pipeline.llm.client.MAX_BODY_BYTES", 10_000)
    completion = ask(virtual, bench, said(event(text="x" * 100), for_ever=True))
    assert (completion.error_kind, completion.attempts) == (ErrorKind.UNSUPPORTED, 1)
    assert "longer than 10,000 bytes" in (completion.error_message or "") and completion.text.startswith(
        "xxx"
    )
