"""The explorer of a study of any size: a small server on this machine that makes each file when it is asked for.

It answers on the loopback address only, reads only, and only to who names it as such: a page of another site, whose name
was made to point here, is refused.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from metacog_pipeline.errors import MetacogError, one_line
from metacog_pipeline.files import state_of
from metacog_pipeline.home import Home
from metacog_pipeline.ports import port_for
from metacog_pipeline.report.explorer import data, pages

HOST, PORT = "127.0.0.1", 3100
_FILE = re.compile(
    r"/(?:(?P<kind>questions|items|answers)-(?P<number>\d{1,4})(?:-(?P<slice>\d{1,6}))?|grid-(?P<grid>\d{1,4}))"
    r"(?:-(?P<model>[^/]+))?\.js"
)
_KINDS = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8"}


class Explorer(ThreadingHTTPServer):
    """Serves the explorer of one home."""

    daemon_threads = True

    def __init__(self, home: Home, name: str, port: int) -> None:
        super().__init__((HOST, port), _Handler)
        self.home, self.name = home, name
        self._lock = threading.Lock()
        self._read: tuple[tuple[int, int], list[data.Benchmark]] = ((0, 0), [])

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.server_port}/"

    def content(self, path: str) -> str | None:
        """Return what stands at ``path``; None where nothing does."""
        if path in ("/", f"/{pages.PAGE}"):
            return pages.page(self.name, self._contents())
        if path == f"/{pages.SCRIPT}":
            return pages.script()
        asked = _FILE.fullmatch(path)
        found = self._contents() if asked else []
        number = int(asked["number"] or asked["grid"]) if asked else 0
        if asked is None or number >= len(found):
            return None
        named, place = asked["model"], asked["slice"]
        benchmark = found[number]
        model = [each for each in benchmark.models if data.file_of(each) == named]
        wanted = [int(place)] if place and int(place) in benchmark.slices else []
        match asked["kind"], model, wanted:
            case "questions", [], [] if named is None and place is None:
                return data.questions(self.home, number, benchmark)
            case "items", [], [_] if named is None:
                return data.items(self.home, number, benchmark, wanted)[0]
            case None, [one], []:
                return data.grids(self.home, number, benchmark, model)[one]
            case "answers", [one], [slice_]:
                return data.answers(self.home, number, benchmark, model, wanted)[one, slice_]
        return None

    def _contents(self) -> list[data.Benchmark]:
        """What there is to show, read once for each version of the file: a page asks for many of its parts at once."""
        with self._lock:
            now = state_of(self.home.leaderboard)
            if now == (0, 0) or self._read[0] != now:  # without a file it stands in a store
                self._read = (now, data.contents(self.home))
            return self._read[1]


def serve(home: Home, name: str, port: int, announce: Callable[[str, str], None]) -> None:
    """Serve the explorer until Ctrl-C; 0 takes the next free port. Raises ``StoreError`` where there are no boards yet."""
    data.contents(home)
    server = Explorer(home, name, port_for(HOST, port, first=PORT))
    announce(f"Explorer of {name}: {server.address}", server.address)
    with server, contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()


class _Handler(BaseHTTPRequestHandler):
    server: Explorer
    server_version, sys_version = "metacog", ""

    def do_GET(self) -> None:
        host = re.sub(
            r":\d*$", "", self.headers.get("Host") or ""
        )  # clients leave the port out where it is 80
        if host.lower() not in (HOST, "localhost"):
            return self._send(403, "this server answers to 127.0.0.1 and localhost only\n", "text/plain")
        path = self.path.partition("?")[0]
        try:
            found = self.server.content(path)
        except MetacogError as error:
            return self._send(500, f"{error}\n", "text/plain")
        if found is None:
            return self._send(404, f"nothing at {one_line(path, 80)}\n", "text/plain")
        return self._send(200, found, _KINDS.get(Path(path).suffix, _KINDS[".html"]))

    do_HEAD = do_GET

    def _send(self, status: int, body: str, kind: str) -> None:
        sent = body.encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(sent)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        with contextlib.suppress(ConnectionError):  # the page was left before its file was there
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(sent)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing per request."""
