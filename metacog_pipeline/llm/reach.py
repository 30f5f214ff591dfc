"""Whether a host can be reached at all: a connection is made and closed, and nothing is sent."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
import ssl
from urllib.parse import urlsplit

import httpx

from metacog_pipeline.llm.timeouts import CONNECT_TIMEOUT_S

PORTS = {"http": 80, "https": 443}


async def unreachable(url: str, timeout_s: float = CONNECT_TIMEOUT_S) -> str | None:
    """Return why no connection to the host of ``url`` can be made; ``None`` where one can."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or PORTS[parts.scheme]
    except (ValueError, KeyError):
        return "this is no http(s) address"
    context = _certificates() if parts.scheme == "https" else None
    try:
        async with asyncio.timeout(timeout_s):
            _, writer = await asyncio.open_connection(host, port, ssl=context)
    except ssl.SSLCertVerificationError:
        return (
            f"the certificate of {host} is not trusted: check the address, or name a bundle in SSL_CERT_FILE"
        )
    except ssl.SSLError:
        return f"{host} does not speak TLS on port {port}: check whether it is http"
    except socket.gaierror:
        return f"the name {host} is not known: check the address and the network"
    except TimeoutError:
        return f"no connection to {host} within {timeout_s:g} s: check the address and the network"
    except (
        OSError,
        ValueError,
    ) as error:  # ValueError: a host that is no name, such as one label of 100 letters
        return f"no connection to {host}, port {port} ({type(error).__name__}): check that the server is up"
    writer.close()
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(timeout_s):
            await writer.wait_closed()
    return None


@functools.cache
def _certificates() -> ssl.SSLContext:
    return httpx.create_ssl_context()
