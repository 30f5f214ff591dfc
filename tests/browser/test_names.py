"""The UI answers to its own names only, and ends with the command that started it, however that ends."""

import asyncio
import signal
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.browser.conftest import served
from tests.tables import every

STUDY = """
[study]
name = "names"
home = "home"
[benchmarks.metamedqa]
dataset = "sample"
limit = 2
[[models]]
name = "only"
provider = "simulated"
"""


def _status(address: str, **headers: str) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.slow
def test_a_killed_ui_leaves_nothing_behind_and_a_foreign_name_is_refused(tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    with served(study, ended_by=signal.SIGKILL) as address:
        own = address.removeprefix("http://")
        info = f"{address}/server_info"
        assert _status(info) == 200
        assert _status(info, Host=own.replace("127.0.0.1", "localhost")) == 200
        assert _status(info, Host="evil.example") == 403
        assert _status(f"{address}/graphql", Host=own, Origin="http://evil.example") == 403
        assert _status(info, Host=own, Origin=address) == 200


def _guard(host: str, more: str) -> Any:
    """Return what stands before the pages of Dagster; they are imported here, as every worker collects this file."""
    from metacog_assets.webserver import OwnNamesOnly, names_of

    return OwnNamesOnly(None, *names_of(host, more))  # type: ignore[arg-type]


def _answers(guard: Any, kind: str, headers: list[tuple[bytes, bytes]]) -> bool:
    """Whether a request reaches what the guard stands before."""
    reached: list[bool] = []

    async def request() -> None:
        await guard({"type": kind, "headers": headers}, None, lambda message: asyncio.sleep(0))

    async def inner(*_: Any) -> None:
        reached.append(True)

    guard._inner = inner
    asyncio.run(request())
    return bool(reached)


@every(
    ("host", "asked", "own"),
    [
        ("127.0.0.1", "127.0.0.1:3000", True),
        ("127.0.0.1", "LOCALHOST:3000", True),
        ("127.0.0.1", "[::1]:3000", True),
        ("127.0.0.1", "localhost.", True),
        ("127.0.0.1", "lab.example:3000", True),
        ("127.0.0.1", "10.0.0.7:3000", False),
        ("127.0.0.1", "localhost.evil.example", False),
        ("127.0.0.1", "127.0.0.1.evil.example", False),
        ("127.0.0.1", "evil.example@localhost@evil.example", False),
        ("127.0.0.1", "", False),
        ("127.0.0.1", "[::1", False),
        ("127.0.0.1", "null", False),
        ("0.0.0.0", "10.0.0.7:3000", True),
        ("0.0.0.0", "[fd00::7]:3000", True),
        ("0.0.0.0", "evil.example", False),
        ("gpu.lab", "gpu.lab:3000", True),
    ],
)
@every("kind", ["http", "websocket"])
def test_only_own_names_are_answered(host, asked, own, kind):
    guard = _guard(host, "lab.example")
    assert _answers(guard, kind, [(b"host", asked.encode())]) is own
    assert _answers(guard, kind, [(b"host", b"localhost"), (b"origin", f"http://{asked}".encode())]) is own


def test_a_request_without_a_name_or_with_two_is_refused():
    guard = _guard("127.0.0.1", "")
    assert not _answers(guard, "http", [])
    assert not _answers(guard, "http", [(b"host", b"localhost"), (b"host", b"localhost")])
    assert _answers(guard, "lifespan", []), "what is no request passes"
