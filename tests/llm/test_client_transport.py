"""The client over real sockets: what the transport makes of a misbehaving server."""

import asyncio
import contextlib
import functools
import gzip
import logging
import resource
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.llm.budget import Budget
from metacog_pipeline.llm.costs import worst_case_cost
from metacog_pipeline.llm.open import Clients, open_model
from metacog_pipeline.llm.retry import RetryPolicy
from metacog_pipeline.llm.server import Fault, FaultPlan
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.timeouts import CONNECT_TIMEOUT_S, WRITE_TIMEOUT_S
from metacog_pipeline.llm.transport import NO_CONNECTION, POOL_TIMEOUT_S, open_http
from metacog_pipeline.llm.types import ChatRequest, Completion, ErrorKind, Message, Sampling, Status
from tests.simulated_server import ServerThread
from tests.tables import every

QUICK = RetryPolicy(backoff_base_s=0.02, transient_attempts=3)
ONCE = RetryPolicy(transient_attempts=1)
KEY = "sk-canary-0123456789abcdef"
REQUEST = ChatRequest((Message("user", "a question"),), Sampling())
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def spec(url: str, **fields: Any) -> ModelSpec:
    given = {"name": "m", "provider": "openai", "model": "x", "base_url": url, "api_key_env": "KEY"}
    return ModelSpec.model_validate(given | {"price_in": 1, "price_out": 1, "timeout_s": 5} | fields)


async def ask(model: ModelSpec, count: int = 1, retries: RetryPolicy = ONCE, **more: Any) -> list[Completion]:
    async with Clients(environment={"KEY": KEY}, retries=retries, **more) as shared:
        opened = open_model(model, shared=shared)
        return list(await asyncio.gather(*(opened.complete(REQUEST) for _ in range(count))))


@contextlib.asynccontextmanager
async def raw_server(handler: Handler) -> AsyncIterator[str]:
    """Serve single connections with ``handler``, which gets them once the request has arrived."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                int(x.split(b":")[1]) for x in head.split(b"\r\n") if x.lower().startswith(b"content-length")
            )
            await reader.readexactly(length)
            await handler(reader, writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def test_all_four_timeouts_are_explicit():
    http = open_http(77.0, transport=httpx.MockTransport(lambda _: httpx.Response(200)))
    limits = http.timeout
    assert (limits.connect, limits.read, limits.write, limits.pool) == (
        CONNECT_TIMEOUT_S,
        77.0,
        WRITE_TIMEOUT_S,
        POOL_TIMEOUT_S,
    )
    assert not http.follow_redirects
    assert not http.trust_env


@every(
    ("fault", "times"),
    [
        (Fault.RESET, 1),
        (Fault.CUT, 1),
        (Fault.INVALID_JSON, 1),
        (Fault.SERVER_ERROR, 2),
        (Fault.UNAVAILABLE, 2),
        (Fault.RATE_LIMIT, 2),
    ],
)
def test_every_fault_that_may_pass_is_survived_once_where_it_may_have_been_billed(fault, times):
    with ServerThread(lambda m, r: "B", FaultPlan(script=(fault,) * times, retry_after_s=0.1)) as server:
        (completion,) = asyncio.run(ask(spec(f"{server.url}/v1"), retries=QUICK))
    assert (completion.status, completion.text, completion.attempts) == (Status.OK, "B", 1 + times)


@pytest.mark.parametrize("fault", [Fault.QUOTA, Fault.UNAUTHORIZED, Fault.MODEL_NOT_FOUND])
def test_faults_that_cannot_pass_are_fatal_at_once(fault):
    with ServerThread(lambda m, r: "B", FaultPlan(script=(fault,))) as server:
        (completion,) = asyncio.run(ask(spec(f"{server.url}/v1"), retries=QUICK))
        assert server.stats["received"] == 1
    assert (completion.status, completion.error_kind) == (Status.FAILED, ErrorKind.FATAL)


def test_a_server_that_hangs_up_after_the_request_may_have_billed_it():
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        return

    async def main() -> None:
        async with raw_server(hang_up) as url:
            (completion,) = await ask(spec(url))
            assert completion.error_kind is ErrorKind.TRANSIENT
            assert completion.cost_usd == worst_case_cost(spec(url), REQUEST)

    asyncio.run(main())


def test_a_port_nobody_listens_on_costs_nothing():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        (completion,) = asyncio.run(ask(spec(url)))
    assert completion.error_kind is ErrorKind.TRANSIENT
    assert "no connection" in (completion.error_message or "")
    assert completion.cost_usd == 0


def test_silence_ends_with_the_read_timeout():
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def main() -> None:
        async with raw_server(silent) as url:
            start = time.monotonic()
            (completion,) = await ask(spec(url, timeout_s=0.3))
            assert time.monotonic() - start < 3
            assert completion.error_kind is ErrorKind.TRANSIENT
            assert "no whole answer" in (completion.error_message or "")
            assert completion.cost_usd == worst_case_cost(spec(url), REQUEST)

    asyncio.run(main())


@every(
    "answer",
    [
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 999999 OK\r\n\r\n",
        b"\x00" * 5000,
    ],
)
def test_a_broken_answer_is_a_transient_failure_charged_at_its_worst(answer):
    async def broken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()

    async def main() -> None:
        async with raw_server(broken) as url:
            (completion,) = await ask(spec(url))
            assert (completion.status, completion.error_kind) == (Status.FAILED, ErrorKind.TRANSIENT)
            assert completion.cost_usd == worst_case_cost(spec(url), REQUEST)

    asyncio.run(main())


def test_a_large_answer_comes_whole_over_the_wire():
    text = "0123456789" * 1_000_000
    with ServerThread(lambda m, r: text) as server:
        (completion,) = asyncio.run(ask(spec(f"{server.url}/v1", timeout_s=30)))
    assert completion.text == text


def test_proxies_and_netrc_of_the_environment_are_not_used(monkeypatch, tmp_path):
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login someone password secret")
    heads: list[bytes] = []

    async def main() -> Completion:
        async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            body = b'{"choices":[{"message":{"content":"C"}}]}'
            heads.append(head.pop())
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()

        head: list[bytes] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head.append(await reader.readuntil(b"\r\n\r\n"))
            await note(reader, writer)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            (completion,) = await ask(spec(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"))
        return completion

    completion = asyncio.run(main())
    assert completion.text == "C"
    assert f"bearer {KEY}".encode() in heads[0].replace(b"Bearer", b"bearer")
    assert b"Basic" not in heads[0]


def test_connections_are_reused_and_cookies_are_not_sent_back():
    connections, cookies = 0, []

    async def main() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal connections
            connections += 1
            body = b'{"choices":[{"message":{"content":"C"}}]}'
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                while True:
                    head = await reader.readuntil(b"\r\n\r\n")
                    cookies.append(b"cookie:" in head.lower())
                    lines = head.lower().split(b"\r\n")
                    await reader.readexactly(
                        next(int(x[15:]) for x in lines if x.startswith(b"content-length:"))
                    )
                    writer.write(
                        b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: %d\r\n\r\n" % len(body) + body
                    )
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            # By name: for a bare address no client would keep cookies anyway.
            url = f"http://localhost:{server.sockets[0].getsockname()[1]}"
            async with Clients(environment={"KEY": KEY}) as shared:
                model = open_model(spec(url), shared=shared)
                for _ in range(5):
                    assert (await model.complete(REQUEST)).status is Status.OK

    asyncio.run(main())
    assert connections == 1
    assert cookies == [False] * 5


def test_under_many_faults_every_call_ends_and_the_ledger_agrees(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    rates = {"reset": 0.05, "cut": 0.05, "invalid_json": 0.05, "server_error": 0.1, "empty": 0.05}
    budget = Budget.open(Home(tmp_path), 10.0)
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


@functools.cache
def nested_bomb() -> bytes:
    """Return what unpacks 10^5-fold."""
    return gzip.compress(gzip.compress(bytes(200 * 2**20), 9), 9)


@every("encoding", ["gzip, gzip", "br", "zstd", "gzip, identity, deflate", "compress"])
def test_an_answer_packed_in_a_way_that_was_not_offered_is_refused_before_it_is_unpacked(encoding):
    async def bomb(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\n\r\n".encode() + nested_bomb())
        await writer.drain()

    async def main() -> Completion:
        async with raw_server(bomb) as url:
            (completion,) = await ask(spec(f"{url}/v1"))
        return completion

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    completion = asyncio.run(main())
    assert (completion.status, completion.error_kind) == (Status.FAILED, ErrorKind.FATAL)
    assert "gzip or deflate" in (completion.error_message or "")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024  # KiB


@every("encoding", ["gzip", "GZIP", "identity", "", "identity, gzip"])
def test_an_answer_packed_as_offered_is_read(encoding):
    body = b'{"choices":[{"message":{"content":"B"},"finish_reason":"stop"}]}'
    packed = gzip.compress(body) if "gzip" in encoding.lower() else body

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\n".encode())
        writer.write(f"Content-Length: {len(packed)}\r\n\r\n".encode() + packed)
        await writer.drain()

    async def main() -> Completion:
        async with raw_server(answer) as url:
            (completion,) = await ask(spec(f"{url}/v1"))
        return completion

    assert asyncio.run(main()).text == "B"


def test_a_port_nobody_listens_on_is_told_apart_from_a_broken_answer():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        (completion,) = asyncio.run(ask(spec(f"http://127.0.0.1:{taken.getsockname()[1]}/v1")))
    assert (completion.error_kind, completion.error_code) == (ErrorKind.TRANSIENT, NO_CONNECTION)
    assert completion.cost_usd == 0
