"""Reading: one statement that reads, through a connection that cannot write."""

import subprocess
import sys

import duckdb
import pytest

from metacog_pipeline.errors import StoreError, StudyError
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard import read
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import board, connect, run_query
from tests.tables import every


@pytest.fixture
def home(built_home):
    return built_home


@every(
    "sql",
    [
        "-- x\n/* y */ explain analyze copy (select 1) to 'transcripts/out.csv'",
        "set threads = 1",
        "pragma database_list",
        "",
        "-- only a comment",
        "select from where",
        "select * from bored",
        "select 1/'a'",
        "select \ud800",
        "select '\x00",
        "from read_text('../secret')",
        "select error('two\nlines')",
    ],
)
def test_what_is_no_query_is_refused_on_one_line_and_changes_nothing(home, sql):
    before = {path: path.stat().st_mtime_ns for path in home.path.rglob("*") if path.is_file()}
    (home.path.parent / "secret").write_text("keep out")
    with pytest.raises(StudyError) as caught:
        run_query(home, sql)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    assert {path: path.stat().st_mtime_ns for path in home.path.rglob("*") if path.is_file()} == before


def test_no_leaderboard_says_how_to_get_one(tmp_path):
    with pytest.raises(StoreError, match=r"no leaderboard there yet; build it with metacog run"):
        run_query(Home(tmp_path), "select 1")


@pytest.mark.parametrize("content", [b"", b"not a database", b"\x00" * 5000])
def test_a_broken_leaderboard_is_one_line(tmp_path, content):
    (tmp_path / "leaderboard.duckdb").write_bytes(content)
    with pytest.raises(StoreError, match="move it away"):
        run_query(Home(tmp_path), "select 1")


_HOLD = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"


def test_a_file_that_another_process_writes_is_not_taken_for_a_damaged_one(built_home):
    file = "leaderboard.duckdb"
    command = [sys.executable, "-c", _HOLD, str(built_home / file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(StoreError, match=rf"{file}: process {holder.pid} \(python.*wait") as caught:
            run_query(built_home, "from leaderboard")
        assert "move it away" not in str(caught.value)
        assert build(built_home).failures == {}, "a build replaces the file and needs no lock of it"
        assert run_query(built_home, "select 1").rows == ((1,),)
        holder.communicate()


def test_a_board_of_an_unknown_benchmark_lists_those_there_are(home):
    assert board(home, "metamedqa").rows
    for name in ("medley", "x' or 'a' = 'a", ""):
        with pytest.raises(StudyError, match="metamedqa"):
            board(home, name)


def test_queries_of_one_block_share_a_connection_that_is_closed_after_it(home, monkeypatch):
    opened: list[duckdb.DuckDBPyConnection] = []
    monkeypatch.setattr(read, "connect", lambda of: opened.append(connect(of)) or opened[-1])
    with read.one_connection(home):
        for _ in range(2):
            # A test of the warehouse, made a view.
            assert run_query(home, "from measures_disagree").rows == ()
            with pytest.raises(StudyError):
                run_query(home, "from nothing_of_the_kind")
        assert len(opened) == 1
    with pytest.raises(duckdb.ConnectionException):
        opened[0].execute("select 1")
    assert run_query(home, "select 1").rows == ((1,),) and len(opened) == 2
    with pytest.raises(StoreError), read.one_connection(Home(home.path.parent / "nowhere")):
        raise AssertionError("there is no board to read")
