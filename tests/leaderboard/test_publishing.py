"""A board is published with what was scored and printed, and any host reads the one that stands."""

import pytest

from metacog_pipeline.errors import StoreError
from metacog_pipeline.leaderboard import publishing
from metacog_pipeline.leaderboard.publishing import catch_up
from metacog_pipeline.leaderboard.read import run_query
from metacog_pipeline.leaderboard.status import write_status
from metacog_pipeline.scoring import printed
from metacog_pipeline.scoring.staleness import leaderboard_digest, leaderboard_stale, note_leaderboard
from metacog_pipeline.storage.attached import store_of
from metacog_pipeline.storage.derived import PREFIX, bring, send
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts.store import PartitionFolder, write_manifest
from tests.homes import few_tables
from tests.studies import metamedqa, write_study


@pytest.fixture
def hosts(tmp_path):
    found = []
    for name in ("a", "b"):
        path = write_study(tmp_path / name, {"name": "m", "provider": "simulated"})
        with path.open("a") as file:
            file.write(f'[deploy]\nstore = "{tmp_path}/store"\n')
        study = load_study(path)
        study.prepare()
        found.append(study)
    return found[0], found[1]


def test_another_host_reads_the_board_that_stands(hosts):
    a, b = hosts
    catch_up(b)
    assert not b.home.leaderboard.exists()
    for build in range(5):
        a.home.leaderboard.write_bytes(f"board {build}".encode())
        note_leaderboard(a, leaderboard_digest(a))
        send(a.home)
    send(a.home)
    catch_up(b)
    assert b.home.leaderboard.read_bytes() == b"board 4" and not leaderboard_stale(b)
    b.home.leaderboard.write_bytes(b"built here")  # and not published: it is not newer elsewhere
    catch_up(b)
    assert b.home.leaderboard.read_bytes() == b"built here"


def test_what_changes_while_a_board_is_built_makes_it_stale(hosts):
    study, _ = hosts
    study.home.leaderboard.write_bytes(b"board")
    told = leaderboard_digest(study)
    write_status(study)
    note_leaderboard(study, told)
    assert not leaderboard_stale(study)
    partition = PartitionFolder(study.home, "metamedqa", "m", 1)
    write_manifest(partition, {"state": "failed", "message": "stopped"})
    note_leaderboard(study, told)
    assert leaderboard_stale(study)


def test_a_board_of_one_build_with_the_note_of_another_is_stale(hosts):
    a, b = hosts
    a.home.leaderboard.write_bytes(b"board")
    note_leaderboard(a, leaderboard_digest(a))
    send(a.home)
    catch_up(b)
    assert not leaderboard_stale(b)
    store = store_of(a.home)
    assert store is not None
    store.put(f"{PREFIX}/leaderboard.duckdb", b"bored")
    catch_up(b)
    assert b.home.leaderboard.read_bytes() == b"bored" and leaderboard_stale(b)


def test_a_board_that_did_not_change_is_not_read_again(hosts, monkeypatch):
    a, b = hosts
    a.home.leaderboard.write_bytes(b"board")
    send(a.home)
    catch_up(b)
    read: list[str] = []
    monkeypatch.setattr(type(store_of(b.home)), "read", lambda self, key: read.append(key))
    for home in (a.home, b.home):
        bring(home)
    assert not read


def test_what_a_paper_prints_stands_on_the_board_and_keeps_none_back_without(tmp_path, monkeypatch):
    few_tables(monkeypatch, "comparisons")
    sets = {**metamedqa(limit=4), "signaldetection": {"dataset": "sample", "trials": 10}}
    study = load_study(write_study(tmp_path, {"name": "theirs", "provider": "replay"}, benchmarks=sets))
    study.prepare()

    def fails(benchmark):
        raise ValueError("a table is torn")

    with monkeypatch.context() as patch:
        patch.setattr(printed, "write", fails)
        with pytest.raises(StoreError, match=r"metamedqa_published: .*a table is torn"):
            publishing.publish(study)
    assert study.home.leaderboard.exists()
    publishing.publish(study)
    sources = {row[0] for row in run_query(study.home, "select source from comparisons").rows}
    assert "published" in sources and not leaderboard_stale(study)
