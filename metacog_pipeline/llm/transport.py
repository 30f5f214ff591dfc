"""Sending one HTTP call and reading its whole answer, or saying why there is none.

The connections are aiohttp's behind httpx's interface: httpx's own pool spends time on every request in proportion
to the connections it holds, and collapses above some twenty of them.

Decisions held here. Redirects are never followed, because a followed POST may reach another host with the key.
Proxies, netrc and cookies are never taken from the environment or kept between calls; certificate locations
(``SSL_CERT_FILE``, ``SSL_CERT_DIR``) are. An answer is whole or it is a failure, never a silent part.

::

    SendFailure            the call brought no answer
        maybe_billed       False when nothing can have reached the provider
        kind               TRANSIENT, or FATAL / UNSUPPORTED when trying again cannot help
"""

from __future__ import annotations

import asyncio
import functools
import ssl
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from metacog_pipeline.errors import one_line
from metacog_pipeline.llm.types import ErrorKind
from metacog_pipeline.llm.wire.types import HttpCall

CONNECT_TIMEOUT_S = 10.0  # name, TCP and TLS: a server that takes longer is not there
POOL_TIMEOUT_S = 30.0  # a free connection, and a new one where none is free
WRITE_TIMEOUT_S = 30.0
KEEPALIVE_S = 15.0  # below the idle limits of usual gateways, so that no call meets a connection being closed
DNS_CACHE_S = 300
NO_CONNECTION = "no_connection"  # the code of a failure before anything could be sent
MAX_CONNECTIONS = 1000  # the ceiling of any model's concurrency: the limiter decides, not the pool
MAX_BODY_BYTES = (
    64 * 2**20
)  # far above any answer with log-probabilities; 100 such in flight still fit a machine
ENCODINGS = frozenset({"gzip", "deflate"})  # as offered; others, or nested ones, could unpack without end

_UNSENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.LocalProtocolError,
)
_UNSENT_CAUSES = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)

_HEADERS = {
    "accept": "application/json",
    "accept-encoding": "gzip, deflate",
    "user-agent": "metacog-pipeline",
}


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer. ``headers`` are looked up in lower case; ``body`` is decompressed."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class SendFailure(Exception):
    """No whole answer came back. The message is one line without headers or key."""

    def __init__(
        self, message: str, *, maybe_billed: bool = True, kind: ErrorKind = ErrorKind.TRANSIENT
    ) -> None:
        super().__init__(one_line(message, 300))
        self.maybe_billed = maybe_billed
        self.kind = kind


def open_http(
    timeout_s: float,
    *,
    verify: ssl.SSLContext | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> httpx.AsyncClient:
    """Return the one kind of HTTP client used here, for one event loop; close it with ``aclose``."""
    if transport is None:
        context = verify or httpx.create_ssl_context()
        transport = AiohttpTransport(verify=context, client=lambda: _session(context))
    return httpx.AsyncClient(
        transport=transport, timeout=timeouts(timeout_s), follow_redirects=False, trust_env=False
    )


def timeouts(timeout_s: float) -> httpx.Timeout:
    """Return the four timeouts of a call whose answer may keep silent for ``timeout_s`` seconds."""
    return httpx.Timeout(
        connect=CONNECT_TIMEOUT_S, read=timeout_s, write=WRITE_TIMEOUT_S, pool=POOL_TIMEOUT_S
    )


def _session(context: ssl.SSLContext) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(
        ssl=context, limit=MAX_CONNECTIONS, keepalive_timeout=KEEPALIVE_S, ttl_dns_cache=DNS_CACHE_S
    )
    return aiohttp.ClientSession(
        connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False, trust_env=False
    )


async def send(http: httpx.AsyncClient, call: HttpCall, limits: httpx.Timeout, *, max_body: int) -> Reply:
    """Send ``call`` and return its whole answer. Raises `SendFailure` and nothing else but cancellation.

    The attempt as a whole may take the connect, write and read timeouts together: aiohttp has no timer for a stuck
    write, and a provider that drips one byte a minute would satisfy a read timeout for ever.
    """
    extensions = {"timeout": limits.as_dict()}
    try:
        request = httpx.Request(
            call.method,
            _parsed(call.url),
            headers=_HEADERS | dict(call.headers),
            content=call.body,
            extensions=extensions,
        )
    except (httpx.InvalidURL, ValueError, TypeError) as error:
        # Not chained: the message of a rejected header shows its value, which may be the key.
        raise SendFailure(
            f"the call cannot be written as HTTP ({type(error).__name__}): check base_url and the key variable",
            maybe_billed=False,
            kind=ErrorKind.FATAL,
        ) from None
    if request.url.scheme not in ("http", "https") or not request.url.host:
        raise SendFailure(
            f"{call.url} cannot be called: base_url must start with http:// or https:// and name a host",
            maybe_billed=False,
            kind=ErrorKind.FATAL,
        )
    try:
        async with asyncio.timeout(whole_s(limits)):
            response = await http.send(request, stream=True, auth=None, follow_redirects=False)
            try:
                body = await _whole_body(response, max_body)
            finally:
                await response.aclose()
    except SendFailure:
        raise
    except Exception as error:
        raise _failure(error, request.url.host, limits) from None
    return Reply(response.status_code, response.headers, body)


@functools.lru_cache(maxsize=64)
def _parsed(url: str) -> httpx.URL:
    """Return ``url`` parsed; a study asks the same few addresses thousands of times."""
    return httpx.URL(url)


def whole_s(limits: httpx.Timeout) -> float | None:
    """Return the seconds an attempt as a whole may take, ``None`` when one of its parts is unlimited."""
    parts = (limits.connect, limits.write, limits.read)
    return None if None in parts else sum(part for part in parts if part is not None)


async def _whole_body(response: httpx.Response, max_body: int) -> bytes:
    _check_encoding(response)
    announced = response.headers.get("content-length", "")
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.aiter_bytes():
        chunks.append(chunk)
        size += len(chunk)
        if size > max_body:
            raise SendFailure(
                f"the answer is longer than {max_body:,} bytes, the most that is kept: nothing of it was kept; "
                "lower max_tokens or check what answers at base_url",
                kind=ErrorKind.UNSUPPORTED,
            )
    # Of a compressed answer the length on the line is announced, not that of the text.
    came = response.num_bytes_downloaded or None if "content-encoding" in response.headers else size
    if response.is_success and announced.isdecimal() and came not in (int(announced), None):
        raise SendFailure(f"the answer was cut: {came:,} of {int(announced):,} bytes came")
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _check_encoding(response: httpx.Response) -> None:
    """Raise `SendFailure` for an answer packed in another way than offered, before any of it is unpacked."""
    named = [name.strip().lower() for name in response.headers.get("content-encoding", "").split(",")]
    packed = [name for name in named if name not in ("", "identity")]
    if packed and (len(packed) > 1 or packed[0] not in ENCODINGS):
        raise SendFailure(
            f"the answer is encoded as {', '.join(packed)[:80]!r}, and only gzip or deflate were offered: check what "
            "answers at base_url",
            kind=ErrorKind.FATAL,
        )


def _failure(error: Exception, host: str, limits: httpx.Timeout) -> SendFailure:
    """Return what ``error`` means; its own text is quoted only where it can hold nothing but an address."""
    cause = error.__cause__ if isinstance(error.__cause__, aiohttp.ClientError | OSError) else error
    if isinstance(cause, aiohttp.ClientConnectorCertificateError | ssl.SSLCertVerificationError):
        return SendFailure(
            f"the certificate of {host} is not trusted: check base_url, or name a bundle in SSL_CERT_FILE",
            maybe_billed=False,
            kind=ErrorKind.FATAL,
        )
    if _never_sent(error, cause):
        return SendFailure(
            f"no connection to {host} ({type(cause).__name__}): check base_url, the network, and that the server is up",
            maybe_billed=False,
        )
    if isinstance(cause, TimeoutError | httpx.TimeoutException):
        return SendFailure(f"no whole answer from {host} within {limits.read:g} s ({type(cause).__name__})")
    return SendFailure(
        f"the connection to {host} broke before the whole answer came ({type(cause).__name__})"
    )


def _never_sent(error: Exception, cause: BaseException) -> bool:
    """Whether nothing can have reached the provider.

    The transport gives a server that hangs up the httpx name of a connect timeout, so aiohttp's own exception, kept
    as the cause, decides where there is one.
    """
    if isinstance(cause, aiohttp.ClientError):
        return isinstance(cause, _UNSENT_CAUSES)
    return isinstance(error, _UNSENT)
