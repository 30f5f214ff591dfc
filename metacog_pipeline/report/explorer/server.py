"""The explorer of a study of any size: a small server on this machine that makes each file when it is asked for.

It answers on the loopback address only, reads only, and only to who names it as such: a page of another site, whose name
was made to point here, is refused.
"""

from __future__ import annotations

import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from metacog_pipeline.errors import MetacogError, one_line
from metacog_pipeline.report.explorer import data, pages

HOST, PORT = "127.0.0.1", 3100
_FILE = re.compile(r"/(questions|grid|items)-(\d{1,4})(?:-(\d{1,6}))?\.js")
_KINDS = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8"}


class Explorer(ThreadingHTTPServer):
    """Serves the explorer of one home."""

    daemon_threads = True

    def __init__(self, home: Path, name: str, port: int) -> None:
        super().__init__((HOST, port), _Handler)
        self.home, self.name = home, name

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.server_port}/"

    def content(self, path: str) -> str | None:
        """Return what stands at ``path``; None where nothing does."""
        if path in ("/", f"/{pages.PAGE}"):
            return pages.page(self.name, data.contents(self.home))
        if path == f"/{pages.SCRIPT}":
            return pages.script()
        asked = _FILE.fullmatch(path)
        if asked is None:
            return None
        kind, number = asked[1], int(asked[2])
        found = data.contents(self.home)
        if number >= len(found) or (kind == "questions") != (asked[3] is None):
            return None
        benchmark = found[number]
        if kind == "questions":
            return data.questions(self.home, number, benchmark)
        place = int(asked[3])
        if kind == "grid":
            return (
                data.grid(self.home, number, place, benchmark) if place < len(benchmark.conditions) else None
            )
        last = -(-benchmark.n_items // data.ITEMS_A_SLICE)
        return data.slices(self.home, number, benchmark, [place])[0] if place < last else None


class _Handler(BaseHTTPRequestHandler):
    server: Explorer
    server_version, sys_version = "metacog", ""

    def do_GET(self) -> None:
        host = (self.headers.get("Host") or "").rpartition(":")[0]
        if host not in (HOST, "localhost"):
            return self._send(403, "this server answers to 127.0.0.1 and localhost only\n", "text/plain")
        path = self.path.partition("?")[0]
        try:
            found = self.server.content(path)
        except MetacogError as error:
            return self._send(500, f"{error}\n", "text/plain")
        if found is None:
            return self._send(404, f"nothing at {one_line(path, 80)}\n", "text/plain")
        return self._send(200, found, _KINDS.get(Path(path).suffix, _KINDS[".html"]))

    def _send(self, status: int, body: str, kind: str) -> None:
        sent = body.encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(sent)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing per request."""
