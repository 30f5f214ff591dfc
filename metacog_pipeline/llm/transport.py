"""Sending one HTTP call and reading its whole answer, or saying why there is none.

The connections are aiohttp's behind httpx's interface: httpx's own pool spends time on every request in proportion
to the connections it holds, and collapses above some twenty of them. Calls go to the transport itself: what httpx's
client does around one (redirects, cookies, credentials, hooks) is never used, and takes a tenth of its time.

Decisions held here. Redirects are never followed, because a followed POST may reach another host with the key.
Proxies, netrc and cookies are never taken from the environment or kept between calls; certificate locations
(``SSL_CERT_FILE``, ``SSL_CERT_DIR``) are. An answer is whole or it is a failure, never a silent part.
"""

from __future__ import annotations

import functools
import ssl

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from metacog_pipeline.llm.incoming import Incoming, Reply, SendFailure
from metacog_pipeline.llm.timeouts import CONNECT_TIMEOUT_S, WRITE_TIMEOUT_S, Deadline, Timeouts
from metacog_pipeline.llm.types import ErrorKind
from metacog_pipeline.llm.wire.types import Assembler, HttpCall

POOL_TIMEOUT_S = 30.0  # a free connection, and a new one where none is free
KEEPALIVE_S = 15.0  # below the idle limits of usual gateways, so that no call meets a connection being closed
DNS_CACHE_S = 300
MAX_CONNECTIONS = 1000  # the ceiling of any model's concurrency: the limiter decides, not the pool
MAX_BODY_BYTES = (
    64 * 2**20
)  # far above any answer with log-probabilities; 100 such in flight still fit a machine

_UNSENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.LocalProtocolError,
    httpx.InvalidURL,
)
_UNSENT_CAUSES = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)

_HEADERS = {
    "accept": "application/json",
    "accept-encoding": "gzip, deflate",
    "user-agent": "metacog-pipeline",
}
# The deadline of the attempt watches over everything after the connection; see `timeouts`.
_EXTENSIONS = {
    "timeout": {"connect": CONNECT_TIMEOUT_S, "pool": POOL_TIMEOUT_S, "write": WRITE_TIMEOUT_S, "read": None}
}


class Http(httpx.AsyncClient):
    """The one kind of HTTP client used here; ``bare`` is its transport, for calls that need nothing around it."""

    def __init__(self, bare: httpx.AsyncBaseTransport, timeout: httpx.Timeout) -> None:
        super().__init__(transport=bare, timeout=timeout, follow_redirects=False, trust_env=False)
        self.bare = bare


def open_http(
    timeout_s: float,
    *,
    verify: ssl.SSLContext | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> Http:
    """Return a client for one event loop; close it with ``aclose``."""
    if transport is None:
        context = verify or httpx.create_ssl_context()
        transport = AiohttpTransport(verify=context, client=lambda: _session(context))
    timeout = httpx.Timeout(CONNECT_TIMEOUT_S, read=timeout_s, write=WRITE_TIMEOUT_S, pool=POOL_TIMEOUT_S)
    return Http(transport, timeout)


def _session(context: ssl.SSLContext) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(
        ssl=context, limit=MAX_CONNECTIONS, keepalive_timeout=KEEPALIVE_S, ttl_dns_cache=DNS_CACHE_S
    )
    return aiohttp.ClientSession(
        connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False, trust_env=False
    )


async def send(
    http: Http,
    call: HttpCall,
    limits: Timeouts,
    *,
    max_body: int,
    assembler: Assembler | None = None,
) -> Reply:
    """Send ``call`` and return its whole answer. Raises `SendFailure` and nothing else but cancellation.

    With an ``assembler``, an answer that comes as a stream of events is put together by it. A stream that breaks after
    the provider said that it is whole is whole.
    """
    request = _request(call)
    incoming = Incoming(assembler, max_body)
    deadline = Deadline(limits, incoming.begun)
    try:
        async with deadline:
            response = await http.bare.handle_async_request(request)
            try:
                await incoming.read(response, deadline)
            finally:
                await response.aclose()
    except Exception as error:
        if not incoming.whole:
            raise _failure(error, request.url.host, deadline, incoming) from None
    reply = incoming.reply()
    assert reply is not None, "a call that did not fail has an answer"
    return reply


def _request(call: HttpCall) -> httpx.Request:
    try:
        request = httpx.Request(
            call.method,
            _parsed(call.url),
            headers=_headers(tuple(call.headers.items())),
            content=call.body,
            extensions=_EXTENSIONS,
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
    return request


@functools.lru_cache(maxsize=64)
def _parsed(url: str) -> httpx.URL:
    """Return ``url`` parsed; a study asks the same few addresses thousands of times."""
    return httpx.URL(url)


@functools.lru_cache(maxsize=64)
def _headers(given: tuple[tuple[str, str], ...]) -> httpx.Headers:
    """Return the headers of a call, which httpx copies in no time; those of a model are the same in all its calls."""
    return httpx.Headers(_HEADERS | dict(given))


def _failure(error: Exception, host: str, deadline: Deadline, incoming: Incoming) -> SendFailure:
    """Return what ``error`` means, with what had come; its own text is quoted only where it is ours."""
    failure = error if isinstance(error, SendFailure) else _named(error, host, deadline)
    failure.partial = incoming.partial()
    return failure


def _named(error: Exception, host: str, deadline: Deadline) -> SendFailure:
    cause = cause_of(error)
    if isinstance(cause, aiohttp.ClientConnectorCertificateError | ssl.SSLCertVerificationError):
        return SendFailure(
            f"the certificate of {host} is not trusted: check base_url, or name a bundle in SSL_CERT_FILE",
            maybe_billed=False,
            kind=ErrorKind.FATAL,
        )
    if never_sent(error):
        within = f" within {CONNECT_TIMEOUT_S:g} s" if isinstance(cause, TimeoutError) else ""
        return SendFailure(
            f"no connection to {host}{within} ({type(cause).__name__}): check base_url, the network, and that the "
            "server is up",
            maybe_billed=False,
        )
    if deadline.expired:
        return SendFailure(f"no whole answer from {host}: {deadline.missed()}")
    return SendFailure(
        f"the connection to {host} broke before the whole answer came ({type(cause).__name__})"
    )


def cause_of(error: Exception) -> BaseException:
    """Return what went wrong below httpx, where that is known."""
    return error.__cause__ if isinstance(error.__cause__, aiohttp.ClientError | OSError) else error


def never_sent(error: Exception) -> bool:
    """Whether nothing can have reached the provider.

    The transport gives a server that hangs up the httpx name of a connect timeout, so aiohttp's own exception, kept
    as the cause, decides where there is one.
    """
    cause = cause_of(error)
    if isinstance(cause, aiohttp.ClientError):
        return isinstance(cause, _UNSENT_CAUSES)
    return isinstance(error, _UNSENT)
