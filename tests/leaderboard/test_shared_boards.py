"""A board is published whole, every build as a version of its own, and any host reads the one that stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from metacog_pipeline.errors import StoreError
from metacog_pipeline.leaderboard import shared
from metacog_pipeline.leaderboard.database import LEADERBOARD
from metacog_pipeline.leaderboard.shared import catch_up, publish
from metacog_pipeline.leaderboard.status import BOARD_NOTE, board_current, note_board
from metacog_pipeline.storage.attached import store_of
from metacog_pipeline.study import Study, load_study


@pytest.fixture
def hosts(tmp_path: Path) -> tuple[Study, Study]:
    found = []
    for name in ("a", "b"):
        path = tmp_path / f"{name}.toml"
        path.write_text(
            f'[study]\nname = "t"\nhome = "{name}"\n[[models]]\nname = "m"\nprovider = "simulated"\n'
            f'[benchmarks.metamedqa]\ndataset = "sample"\n[deploy]\nstore = "{tmp_path}/store"\n'
        )
        study = load_study(path)
        study.home.prepare()
        found.append(study)
    return found[0], found[1]


def test_another_host_reads_the_board_that_stands(hosts: tuple[Study, Study]) -> None:
    a, b = hosts
    catch_up(b)
    assert not b.home.leaderboard.exists()
    note_board(a)
    for build in range(5):
        a.home.leaderboard.write_bytes(f"board {build}".encode())
        publish(a.home.path)
    publish(a.home.path)
    catch_up(b)
    assert b.home.leaderboard.read_bytes() == b"board 4" and board_current(b)
    store = store_of(a.home.path)
    assert store is not None
    versions = [one.key for one in store.listed(shared.FOLDER) if one.key != shared.POINTER]
    assert len(versions) == 2 * shared.KEPT
    b.home.leaderboard.write_bytes(b"built here")  # and not published: it is not newer elsewhere
    catch_up(b)
    assert b.home.leaderboard.read_bytes() == b"built here"
    b.home.leaderboard.unlink()
    catch_up(b)
    assert b.home.leaderboard.read_bytes() == b"board 4"


def test_a_damaged_board_is_named_and_replaces_nothing(hosts: tuple[Study, Study]) -> None:
    a, b = hosts
    a.home.leaderboard.write_bytes(b"board")
    publish(a.home.path)
    store = store_of(a.home.path)
    assert store is not None
    assert not (b.home.status / BOARD_NOTE).exists()
    key = next(one.key for one in store.listed(shared.FOLDER) if one.key.endswith(LEADERBOARD))
    store.put(key, b"bored")
    with pytest.raises(StoreError, match=rf"{key}: is damaged; run metacog run"):
        catch_up(b)
    assert not b.home.leaderboard.exists()
    a.home.leaderboard.write_bytes(b"board 2")
    publish(a.home.path)
    catch_up(b)
    assert b.home.leaderboard.read_bytes() == b"board 2"


@pytest.mark.parametrize("pointer", [b"", b"[]", b'{"a": 1}', b"{", b"\xff"])
def test_a_damaged_pointer_is_written_anew(hosts: tuple[Study, Study], pointer: bytes) -> None:
    a, b = hosts
    store = store_of(a.home.path)
    assert store is not None
    store.put(shared.POINTER, pointer)
    catch_up(b)
    a.home.leaderboard.write_bytes(b"board")
    publish(a.home.path)
    catch_up(b)
    assert b.home.leaderboard.read_bytes() == b"board"


def test_two_hosts_that_publish_at_one_moment_leave_a_whole_board(
    hosts: tuple[Study, Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = hosts
    a.home.leaderboard.write_bytes(b"of a")
    b.home.leaderboard.write_bytes(b"of b")
    before = shared._pointer

    def meanwhile(*given: object) -> object:
        found = before(*given)  # type: ignore[arg-type]
        monkeypatch.setattr(shared, "_pointer", before)
        publish(b.home.path)
        return found

    monkeypatch.setattr(shared, "_pointer", meanwhile)
    publish(a.home.path)
    catch_up(b)
    assert b.home.leaderboard.read_bytes() == b"of a"
