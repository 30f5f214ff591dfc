"""One HTTP client per account, and one send with every limit explicit: an answer is whole or it is a failure."""

from __future__ import annotations

import asyncio
import functools
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import IO

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from metacog_pipeline.errors import one_line
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ErrorKind
from metacog_pipeline.llm.wire.events import HttpCall

# A server that takes longer is not there.
CONNECT_TIMEOUT_S = 10.0  # name, TCP and TLS
WRITE_TIMEOUT_S = 30.0
POOL_TIMEOUT_S = 30.0  # a free connection
# below the idle limits of usual gateways, so that no call meets a connection being closed
KEEPALIVE_S = 15.0
DNS_CACHE_S = 300
#: How many times timeout_s a model may keep silent. Providers think for minutes where much effort is asked for.
# Models think in silence: how long may pass until an answer begins, and between two pieces of it, grows
# with the effort. The limit for all of it ends a stream that never ends.
EFFORT_FACTORS: Mapping[str, float] = {
    **dict.fromkeys(("none", "minimal", "low"), 1.0),
    **{"medium": 3.0, "high": 5.0, "xhigh": 10.0, "max": 10.0},
}
# what providers take where none is asked for
DEFAULT_EFFORT = "medium"
# a whole stream may take so many times what it may keep silent
STREAM_TOTAL_FACTOR = 4.0
# what may follow the last event of a stream, where its connection stays open
FINISH_GRACE_S = 2.0
LAST_EVENTS = (b"[DONE]", b'"message_stop"')
# the ceiling of any model's concurrency: the limiter decides, not the pool
MAX_CONNECTIONS = 1000
# far above any answer with log-probabilities; 100 in flight still fit a machine
MAX_BODY_BYTES = 64 * 2**20

_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError, httpx.UnsupportedProtocol,
           httpx.LocalProtocolError, httpx.InvalidURL)  # fmt: skip
_UNSENT_CAUSES = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)
# Redirects, proxies, cookies and compression are no part of what a study asks.
_HEADERS = {"accept": "application/json", "accept-encoding": "identity", "user-agent": "metacog-pipeline"}
# The deadline of the attempt watches over everything after the connection.
_EXTENSIONS = {
    "timeout": {"connect": CONNECT_TIMEOUT_S, "pool": POOL_TIMEOUT_S, "write": WRITE_TIMEOUT_S, "read": None}
}


@dataclass(slots=True)
class Reply:
    """What came back; ``headers`` are looked up in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    closed: bool = True  # the body is whole
    # on the event loop's clock
    first_byte_at: float | None = None


class SendFailure(Exception):
    """No whole answer came back. The message is one line without headers or key."""

    # what had come before it broke
    partial: Reply | None = None

    def __init__(
        self, message: str, *, maybe_billed: bool = True, kind: ErrorKind = ErrorKind.TRANSIENT
    ) -> None:
        super().__init__(one_line(message, 300))
        # false where nothing can have reached the provider
        self.maybe_billed = maybe_billed
        # FATAL or UNSUPPORTED where trying again cannot help
        self.kind = kind


# aiohttp carries the connections behind httpx's interface.
class Http(httpx.AsyncClient):
    """The one kind of HTTP client used here; ``bare`` is its transport, for calls that need nothing around it."""

    def __init__(self, bare: httpx.AsyncBaseTransport) -> None:
        timeout = httpx.Timeout(CONNECT_TIMEOUT_S, read=None, write=WRITE_TIMEOUT_S, pool=POOL_TIMEOUT_S)
        super().__init__(transport=bare, timeout=timeout, follow_redirects=False, trust_env=False)
        self.bare = bare


def open_http() -> Http:
    """Return a client for one event loop; close it with ``aclose``."""
    context = httpx.create_ssl_context()

    def session() -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            ssl=context, limit=MAX_CONNECTIONS, keepalive_timeout=KEEPALIVE_S, ttl_dns_cache=DNS_CACHE_S
        )
        jar = aiohttp.DummyCookieJar()
        return aiohttp.ClientSession(
            connector=connector, cookie_jar=jar, auto_decompress=False, trust_env=False
        )

    return Http(AiohttpTransport(verify=context, client=session))


def timeouts_of(
    spec: ModelSpec, known: Capabilities = NOTHING_KNOWN, *, streamed: bool = False
) -> tuple[float, float]:
    """Return how long a call to ``spec`` may keep silent, and how long all of it may take, in seconds."""
    usual = 1.0 if spec.effort is None and known.reasons is False else EFFORT_FACTORS[DEFAULT_EFFORT]
    silence = spec.timeout_s * EFFORT_FACTORS.get(spec.effort or "", usual)
    whole = silence * STREAM_TOTAL_FACTOR if streamed else CONNECT_TIMEOUT_S + WRITE_TIMEOUT_S + silence
    return silence, spec.total_timeout_s or whole


async def send(
    http: Http, call: HttpCall, silence: float, total: float, *, max_body: int, into: IO[bytes] | None = None
) -> Reply:
    """Send ``call`` and return its whole reply. Raises `SendFailure` and nothing else but cancellation."""
    request, loop = _request(call), asyncio.get_running_loop()
    end, timer, reply = loop.time() + total, asyncio.timeout(None), None

    def wait(seconds: float) -> None:
        timer.reschedule(min(loop.time() + seconds, end))

    try:
        async with timer:
            wait(silence)
            response = await http.bare.handle_async_request(request)
            # httpx's own headers go through all of them at every look.
            headers = {
                name.decode("latin-1").lower(): value.decode("latin-1")
                for name, value in response.headers.raw
            }
            reply = Reply(response.status_code, headers, b"", closed=False)
            try:
                # A success goes into the file where one is given, so that what is large need not fit the memory.
                async for last in _pieces(response, reply, max_body, into):
                    wait(FINISH_GRACE_S if last else silence)
            finally:
                await response.aclose()
        return reply
    except Exception as error:
        failure = error if isinstance(error, SendFailure) else _named(error, request.url.host)
        if timer.expired():
            over = loop.time() >= end
            missed = f"the total of {total:g} s is over: raise total_timeout_s"
            missed = missed if over else f"nothing came for {silence:g} s: raise timeout_s"
            failure = SendFailure(f"no whole answer from {request.url.host}: {missed}")
        failure.partial = reply
        raise failure from None


async def _pieces(
    response: httpx.Response, reply: Reply, most: int, into: IO[bytes] | None
) -> AsyncIterator[bool]:
    """Read the body into ``reply``, or a file; yield of each piece whether it may be the last of a stream."""
    if (packed := reply.headers.get("content-encoding", "").strip().lower()) not in ("", "identity"):
        said = f"the answer is encoded as {packed[:80]!r}, and no encoding was offered"
        raise SendFailure(f"{said}: check what answers at base_url", kind=ErrorKind.FATAL)
    stream, chunks, size = response.stream, list[bytes](), 0
    keep = into.write if into is not None and response.is_success else chunks.append
    assert isinstance(stream, httpx.AsyncByteStream), "the client is an asynchronous one"
    try:
        async for chunk in stream:
            size += len(chunk)
            if size > most:
                raise SendFailure(
                    f"the answer is longer than {most:,} bytes, the most that is kept: lower max_tokens or "
                    "thinking_tokens, or check what answers at base_url",
                    kind=ErrorKind.UNSUPPORTED,
                )
            # it only keeps a stream alive
            comment = chunk.startswith(b":") and b"data:" not in chunk
            if reply.first_byte_at is None and not comment:
                reply.first_byte_at = asyncio.get_running_loop().time()
            keep(chunk)
            yield any(each in chunk[-200:] for each in LAST_EVENTS)
    finally:
        reply.body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
    announced = reply.headers.get("content-length", "")
    if response.is_success and announced.isdecimal() and size != int(announced):
        raise SendFailure(f"the answer was cut: {size:,} of {int(announced):,} bytes came")
    reply.closed = True


def _request(call: HttpCall) -> httpx.Request:
    try:
        url, headers = _parsed(call.url), _headers(tuple(call.headers.items()))
        request = httpx.Request(call.method, url, headers=headers, content=call.body, extensions=_EXTENSIONS)
        problem = f"{call.url} cannot be called: base_url must start with http:// or https:// and name a host"
        if url.scheme in ("http", "https") and url.host:
            return request
    except (httpx.InvalidURL, ValueError, TypeError) as error:
        # The message of a rejected header shows its value, which may be the key.
        name = type(error).__name__
        problem = f"the call cannot be written as HTTP ({name}): check base_url and the key variable"
    raise SendFailure(problem, maybe_billed=False, kind=ErrorKind.FATAL)


@functools.lru_cache(maxsize=64)  # a study asks the same few addresses thousands of times
def _parsed(url: str) -> httpx.URL:
    return httpx.URL(url)


@functools.lru_cache(maxsize=64)  # httpx copies its own headers in no time
def _headers(given: tuple[tuple[str, str], ...]) -> httpx.Headers:
    return httpx.Headers(_HEADERS | dict(given))


def _named(error: Exception, host: str) -> SendFailure:
    """Return what ``error`` means; its own text is not quoted, as it may hold the key."""
    cause = error.__cause__ if isinstance(error.__cause__, aiohttp.ClientError | OSError) else error
    name = type(cause).__name__
    if isinstance(cause, aiohttp.ClientConnectorCertificateError | ssl.SSLCertVerificationError):
        said = f"the certificate of {host} is not trusted: check base_url, or name a bundle in SSL_CERT_FILE"
        return SendFailure(said, maybe_billed=False, kind=ErrorKind.FATAL)
    # The transport gives a server that hangs up the httpx name of a connect timeout: aiohttp's own exception decides.
    own = isinstance(cause, aiohttp.ClientError)
    if isinstance(cause, _UNSENT_CAUSES) if own else isinstance(error, _UNSENT):
        within = f" within {CONNECT_TIMEOUT_S:g} s" if isinstance(cause, TimeoutError) else ""
        what = "check base_url, the network, and that the server is up"
        return SendFailure(f"no connection to {host}{within} ({name}): {what}", maybe_billed=False)
    return SendFailure(f"the connection to {host} broke before the whole answer came ({name})")
