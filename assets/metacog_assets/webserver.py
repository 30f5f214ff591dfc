"""Dagster's web server, which answers only to names it goes by.

A page of another site can point its own name at this machine and would then be taken for the UI's own page, which may start
runs that spend money. Every request therefore has to name this server as people here do, and so has the page it comes from.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Collection, Iterable
from urllib.parse import urlsplit

from dagster_webserver import app, cli
from dagster_webserver.webserver import DagsterWebserver
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from metacog_pipeline.asking.variables import UI_NAMES
from metacog_pipeline.ports import LOOPBACK_NAMES, is_loopback


class OwnNamesOnly:
    """Refuses a request whose ``Host``, or whose ``Origin`` where one is given, is none of ``names``.

    With ``numbers`` every address in digits is one of them: a foreign site cannot claim it.
    """

    def __init__(self, inner: ASGIApp, names: Collection[str], numbers: bool) -> None:
        self._inner, self._names, self._numbers = inner, names, numbers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with status 403."""
        if scope["type"] in ("http", "websocket") and not self._own(scope["headers"]):
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            refusal = PlainTextResponse(
                "this server answers to its own names only; metacog ui --name NAME adds one\n", 403
            )
            await refusal(scope, receive, send)
            return
        await self._inner(scope, receive, send)

    def _own(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        given = [(name, value.decode("latin-1")) for name, value in headers if name in (b"host", b"origin")]
        hosts = [value for name, value in given if name == b"host"]
        origins = [value.partition("://")[2] for name, value in given if name == b"origin"]
        return len(hosts) == 1 and all(self._goes_by(each) for each in (*hosts, *origins))

    def _goes_by(self, authority: str) -> bool:
        try:
            name = (urlsplit(f"//{authority}").hostname or "").rstrip(".")
            if name in self._names:
                return True
            return self._numbers and bool(ipaddress.ip_address(name))
        except ValueError:
            return False


def names_of(host: str, more: str) -> tuple[set[str], bool]:
    """Return the names a server on ``host`` goes by, and whether any address in digits is one; ``more`` has spaces."""
    names = {*LOOPBACK_NAMES, host.lower(), *more.lower().split()}
    if is_loopback(host):
        return names, False
    return names | {socket.gethostname().lower(), socket.getfqdn().lower()}, True


class _Guarded(DagsterWebserver):
    def build_middleware(self) -> list[Middleware]:
        host, _, more = os.environ[UI_NAMES].partition(" ")
        names, numbers = names_of(host, more)
        return [Middleware(OwnNamesOnly, names=names, numbers=numbers), *super().build_middleware()]


if __name__ == "__main__":
    vars(app)["DagsterWebserver"] = _Guarded  # the command builds its application from this name
    cli.cli()
