"""The client over real sockets: what the transport makes of a misbehaving server."""

import asyncio
import contextlib
import gzip
import logging
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.llm.budget import Budget
from metacog_pipeline.llm.costs import worst_case_cost
from metacog_pipeline.llm.open import Clients, open_model
from metacog_pipeline.llm.retry import RetryPolicy
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import (
    NO_CONNECTION,
    ChatRequest,
    Completion,
    ErrorKind,
    Message,
    Sampling,
    Status,
)
from tests.provider import FaultPlan
from tests.simulated_server import ServerThread
from tests.tables import every

ONCE = RetryPolicy(transient_attempts=1)
KEY = "sk-canary-0123456789abcdef"
REQUEST = ChatRequest((Message("user", "a question"),), Sampling())
BODY = b'{"choices":[{"message":{"content":"C"},"finish_reason":"stop"}]}'
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def spec(url: str, **fields: Any) -> ModelSpec:
    given = {"name": "m", "provider": "openai", "model": "x", "base_url": url, "api_key_env": "KEY"}
    return ModelSpec.model_validate(given | {"price_in": 1, "price_out": 1, "timeout_s": 5} | fields)


async def ask(model: ModelSpec, count: int = 1, retries: RetryPolicy = ONCE, **more: Any) -> list[Completion]:
    async with Clients(environment={"KEY": KEY}, retries=retries, **more) as shared:
        opened = open_model(model, shared=shared)
        return list(await asyncio.gather(*(opened.complete(REQUEST) for _ in range(count))))


async def request_of(reader: asyncio.StreamReader) -> bytes:
    """Read one request; return its head."""
    head = await reader.readuntil(b"\r\n\r\n")
    lengths = (line[15:] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    await reader.readexactly(int(next(lengths)))
    return head


def answered(
    handler: Handler, host: str = "127.0.0.1", times: int = 1, **fields: Any
) -> tuple[Completion, float | None]:
    """Ask a server that hands every connection to ``handler``; return the last completion and its worst case."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ended = contextlib.suppress(ConnectionError, asyncio.IncompleteReadError)
        with contextlib.closing(writer), ended:
            await handler(reader, writer)

    async def main() -> tuple[Completion, float | None]:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            model = spec(f"http://{host}:{server.sockets[0].getsockname()[1]}", **fields)
            async with Clients(environment={"KEY": KEY}, retries=ONCE) as shared:
                opened = open_model(model, shared=shared)
                completions = [await opened.complete(REQUEST) for _ in range(times)]
            return completions[-1], worst_case_cost(model, REQUEST)

    return asyncio.run(main())


def saying(answer: bytes) -> Handler:
    """Return what answers one request with these bytes."""

    async def said(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(answer)
        await writer.drain()

    return said


def test_a_port_nobody_listens_on_is_told_apart_and_costs_nothing():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        (completion,) = asyncio.run(ask(spec(f"http://127.0.0.1:{unused.getsockname()[1]}/v1")))
    assert (completion.error_kind, completion.error_code) == (ErrorKind.TRANSIENT, NO_CONNECTION)
    assert "no connection" in (completion.error_message or "")
    assert completion.cost_usd == 0


def test_silence_ends_with_the_read_timeout_and_may_have_been_billed():
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        await reader.read()

    start = time.monotonic()
    completion, worst = answered(silent, timeout_s=0.1)
    assert time.monotonic() - start < 3
    assert (completion.error_kind, completion.cost_usd) == (ErrorKind.TRANSIENT, worst)
    assert "no whole answer" in (completion.error_message or "")


@every(
    "answer",
    [
        b"",  # it hangs up
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 999999 OK\r\n\r\n",
        b"\x00" * 5000,
    ],
)
def test_a_broken_answer_is_a_transient_failure_charged_at_its_worst(answer):
    completion, worst = answered(saying(answer))
    assert (completion.status, completion.error_kind) == (Status.FAILED, ErrorKind.TRANSIENT)
    assert completion.cost_usd == worst


def test_proxies_and_netrc_of_the_environment_are_not_used(monkeypatch, tmp_path):
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login someone password secret")
    heads: list[bytes] = []

    async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await request_of(reader))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY)
        await writer.drain()

    completion, _ = answered(note)
    assert completion.text == "C"
    assert f"Authorization: Bearer {KEY}".lower().encode() in heads[0].lower()
    assert b"Basic" not in heads[0]


def test_connections_are_reused_and_cookies_are_not_sent_back():
    cookies: list[list[bool]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        cookies.append([])
        while True:
            cookies[-1].append(b"cookie:" in (await request_of(reader)).lower())
            head = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: %d\r\n\r\n" % len(BODY)
            writer.write(head + BODY)

    # By name: for a bare address no client would keep cookies anyway.
    completion, _ = answered(serve, host="localhost", times=5)
    assert completion.status is Status.OK
    assert cookies == [[False] * 5]


def test_under_many_faults_every_call_ends_and_the_ledger_agrees(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    rates = {"reset": 0.05, "cut": 0.05, "invalid_json": 0.05, "server_error": 0.1, "empty": 0.05}
    budget = Budget(Home(tmp_path), 10.0)
    with ServerThread(lambda m, r: "B", FaultPlan(seed=3, rates=rates, latency_s=0.005)) as server:
        patient = RetryPolicy(backoff_base_s=0.01, transient_attempts=8)
        completions = asyncio.run(ask(spec(f"{server.url}/v1"), 300, patient, budget=budget))
        received = server.stats["received"]
    budget.close()
    # Only what may have been billed twice is given up.
    assert {c.attempts_billed for c in completions if c.status is not Status.OK} <= {2}
    assert sum(completion.status is Status.OK for completion in completions) >= 250
    assert sum(completion.attempts for completion in completions) == received
    assert sum(c.cost_usd or 0.0 for c in completions) == pytest.approx(budget.figures().spent)
    assert budget.figures().reserved == 0
    assert KEY not in caplog.text


@every("encoding", ["gzip", "br", "gzip, identity"])
def test_a_compressed_answer_is_refused_in_one_line_as_no_encoding_was_offered(encoding):
    heads: list[bytes] = []

    async def packed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await request_of(reader))
        head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\n\r\n".encode()
        writer.write(head + gzip.compress(BODY))
        await writer.drain()

    completion, _ = answered(packed)
    assert (completion.status, completion.error_kind) == (Status.FAILED, ErrorKind.FATAL)
    assert "no encoding was offered" in (completion.error_message or "")
    assert b"accept-encoding: identity" in heads[0].lower()


@every("encoding", ["identity", ""])
def test_an_answer_that_says_it_is_not_compressed_is_read(encoding):
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length: {len(BODY)}\r\n\r\n"
    completion, _ = answered(saying(head.encode() + BODY))
    assert completion.text == "C"
