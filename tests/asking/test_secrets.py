"""A key reaches the provider and nothing else: not what is kept, built, logged or printed, whatever the provider echoes."""

import http.server
import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

import duckdb
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.cli import main
from metacog_pipeline.llm.types import ChatRequest, Completion, Sampling, Status, TokenLogprob
from tests.provider.dialects import DIALECTS, Answer, Asked, Style

KEYS = {
    "openai": "sk-cAnArY/9f3b71d2c04e+5a66",
    "anthropic": "sk-ant-CANARY_0b1d7e4f/a2c8+99==",
    "gemini": "AIzaCaNaRy-77e0_41/b3+d5f2c6",
}
PART = 10  # characters of a key that must not be found anywhere
WHERE_A_KEY_STANDS = ("authorization", "x-api-key", "x-goog-api-key")


class Echo(http.server.BaseHTTPRequestHandler):
    """Answers that quote the key in every field a provider fills, well and badly."""

    protocol_version = "HTTP/1.1"
    seen: ClassVar[Counter[str]] = Counter()
    keys_received: ClassVar[set[str]] = set()
    lock = threading.Lock()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        said = next(self.headers[name] for name in WHERE_A_KEY_STANDS if name in self.headers)
        key = said.removeprefix("Bearer ")
        dialect = "openai" if "chat" in self.path else "gemini" if "generate" in self.path else "anthropic"
        with self.lock:
            self.keys_received.add(key)
            number = self.seen[dialect]
            self.seen[dialect] += 1
        self._say(
            number, dialect, key, f"your headers were {dict(self.headers)!r} and {quote(said, safe='')}"
        )

    def _say(self, number: int, dialect: str, key: str, echo: str) -> None:
        error = {"code": key, "type": key, "status": key, "param": key, "message": echo}
        answer = _answer(dialect, key, f"Answer: B\nConfidence: 4\n{echo}")
        if number % 2 == 0:  # every call is answered at its second attempt or so
            if number % 4 == 0:
                escaped = "".join(f"\\u{ord(c):04x}" for c in key)
                answer = answer.replace(key, escaped).replace("/", "\\/")
            self._send(200, answer)
            return
        match number // 2 % 5:
            case 0:
                self._send(500, json.dumps({"error": error}))
            case 1:
                self._send(429, json.dumps({"error": error}), {"Retry-After": "0", "X-Echo": key})
            case 2:
                self._send(502, f"<html>{echo} {key[:14]}****{key[-12:]}</html>")
            case 3:
                self._send(200, json.dumps({"error": {**error, "code": 503}}))
            case _:
                self._send(200, answer[:-3])

    def _send(self, status: int, body: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status, "echo")
        raw = body.encode()
        for name, value in {"Content-Length": str(len(raw)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


def _answer(dialect: str, key: str, text: str) -> str:
    tokens = (TokenLogprob(key, -0.1, ((key, -0.1),)),)
    said = Completion(Status.OK, text, logprobs=tokens)
    asked = Asked(key, ChatRequest((), Sampling(top_logprobs=1)))
    body = DIALECTS[dialect].worded(Answer(key, asked, said, 1, Style()))
    return (
        json.dumps(body)
        .replace('"end_turn"', f'"{key}"')
        .replace('"stop"', f'"{key if len(text) % 2 else "stop"}"')
    )


@pytest.fixture
def echo():
    Echo.seen.clear()
    Echo.keys_received.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join(5)
    server.server_close()


def parts_of(key: str) -> list[bytes]:
    return [key[i : i + PART].encode() for i in range(len(key) - PART + 1)]


def contents(home: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every file as it is, and what compressed or paged formats hold, as text."""
    for path in sorted(p for p in home.rglob("*") if p.is_file()):
        yield str(path), path.read_bytes()
        if path.suffix == ".parquet":
            yield f"{path} (rows)", repr(pq.read_table(path).to_pylist()).encode()
        elif path.suffix == ".duckdb":
            with duckdb.connect(str(path), read_only=True) as base:
                tables = "select schema_name, table_name from duckdb_tables()"
                for schema, name in base.execute(tables).fetchall():
                    rows = base.execute(f'select * from "{schema}"."{name}"').fetchall()
                    yield f"{path} ({name})", repr(rows).encode()
        elif path.suffix == ".db":
            with sqlite3.connect(path) as log:
                yield f"{path} (dump)", "\n".join(log.iterdump()).encode()


def said(capfd, *arguments: str) -> tuple[bytes, bytes]:
    """Run ``metacog`` and return what it printed and complained of."""
    with pytest.raises(SystemExit):
        main(list(arguments))
    out, err = capfd.readouterr()
    return out.encode(), err.encode()


@pytest.fixture
def study_of(tmp_path, echo, monkeypatch):
    """Return what writes a study of {model: provider} that the echo answers, with further keys of each."""

    def write(models: dict[str, str], more: str = "") -> Path:
        rows = ""
        for name, provider in models.items():
            variable = f"CANARY_{provider.upper()}"
            monkeypatch.setenv(variable, KEYS[provider])
            root = echo + ("/v1" if provider == "openai" else "")
            rows += (
                f'[[models]]\nname = "{name}"\nprovider = "{provider}"\nmodel = "{name}"\nbase_url = "{root}"\n'
                f'api_key_env = "{variable}"\nprice_in = 1\nprice_out = 1\n{more}'
            )
        path: Path = tmp_path / "study.toml"
        path.write_text(
            f'[study]\nname = "t"\nhome = "home"\nbudget_usd = 5\n{rows}'
            '[benchmarks.metamedqa]\ndataset = "sample"\nlimit = 8\n'
        )
        return path

    return write


def leaks(places: list[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """Return each place in which a part of a key stands, with the part."""
    parts = [part for key in KEYS.values() for part in parts_of(key)]
    return [(name, part) for part in parts for name, content in places if part in content]


@pytest.mark.slow
@pytest.mark.usefixtures("few_resamples")
def test_a_key_that_is_echoed_everywhere_is_found_nowhere(tmp_path, study_of, capfd):
    study = study_of({provider: provider for provider in KEYS}, "max_concurrency = 2\n")
    out, err = said(capfd, "run", str(study))
    assert {*KEYS.values()} == Echo.keys_received, err
    assert min(Echo.seen.values()) >= 10
    places = [("stdout", out), ("stderr", err), *contents(tmp_path / "home")]
    assert any(b"[key]" in content for name, content in places if "journal" in name)
    assert leaks(places) == []


@pytest.mark.slow
def test_what_is_found_out_before_a_run_holds_no_key(tmp_path, study_of, capfd):
    # one of each provider is answered well, one badly
    study = study_of({f"{provider}{end}": provider for provider in KEYS for end in ("", "-again")})
    places = []
    for command in (("doctor",), ("doctor", "--json"), ("plan",)):
        out, err = said(capfd, command[0], str(study), *command[1:])
        assert b"Traceback" not in err, err
        places += [(" ".join(command), out), (" ".join(command), err)]
    assert {*KEYS.values()} == Echo.keys_received
    assert leaks([*places, *contents(tmp_path / "home")]) == []
