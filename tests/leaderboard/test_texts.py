"""Texts beside the leaderboard: one row an answer, a prompt once, grown by what is new."""

import shutil
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from metacog_pipeline.leaderboard import inputs
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import run_query
from metacog_pipeline.leaderboard.texts import grow_texts
from metacog_pipeline.transcripts.migrations import ADDED_IN_2
from tests.homes import write
from tests.leaderboard.conftest import WHEN, write_model


def test_texts_grow_by_what_is_new_and_join_the_calls(make_home, tmp_path):
    home = make_home({"alpha": "measured"})
    build(home)
    assert (grow_texts(home), grow_texts(home)) == (12, 0)
    write_model(home, "beta", "measured", "sample", 0.5)
    assert grow_texts(home) == 12
    found = run_query(
        home,
        "select count(*), count(text) from calls inner join texts.answers using (answer_id) where model = 'alpha'",
    )
    assert found.rows == ((12, 12),)
    assert run_query(home, "select count(*) from texts.prompts").rows == ((12,),)
    (home / "transcripts/benchmark=metamedqa/model=alpha/run=1/transcripts.parquet").unlink()
    assert grow_texts(home) == 0
    copied = shutil.copy(home / "transcripts.duckdb", tmp_path / "copy.duckdb")
    with duckdb.connect(str(copied), read_only=True) as connection:
        assert connection.execute("select count(*) from answers").fetchall() == [(24,)]


def test_files_of_which_the_board_tells_the_digest_are_not_read_again(make_home, monkeypatch):
    home = make_home({"alpha": "measured"})
    build(home)
    write_model(home, "beta", "measured", "sample", 0.5)
    read: list[str] = []
    digest = inputs._digest
    monkeypatch.setattr(inputs, "_digest", lambda path: (read.append(home.key(path)), digest(path))[1])
    assert grow_texts(home) == 24
    assert read == ["transcripts/benchmark=metamedqa/model=beta/run=1/transcripts.parquet"]


def test_an_unreadable_file_is_made_anew(make_home):
    home = make_home({"alpha": "measured"})
    (home / "transcripts.duckdb").write_bytes(b"not a database")
    assert grow_texts(home) == 12


def _call(text: str, **columns: object) -> dict[str, object]:
    shared = {
        "answer_id": "a",
        "benchmark": "metamedqa",
        "model": "alpha",
        "run": 1,
        "item_id": "i",
        "condition": "c",
    }
    made = {"status": "ok", "step": "answer", "provider": "openai", "source": "measured", "superseded": False}
    request = '{"messages": [["user", "Why?"]]}'
    return {**shared, **made, "started_at": WHEN, "text": text, "request_json": request, **columns}


def _texts(home: Path) -> list[tuple[object, ...]]:
    with duckdb.connect(str(home / "transcripts.duckdb"), read_only=True) as connection:
        return connection.execute("select text, reasoning, status from answers order by text").fetchall()


def test_what_stands_takes_the_place_of_what_failed_and_of_what_was_asked_again(make_home):
    home = make_home({})
    path = "transcripts/benchmark=metamedqa/model=alpha/run=1/transcripts.parquet"
    failed = _call("half an ans", status="failed", reasoning_text="Let me")
    write(home, path, [failed])
    assert grow_texts(home) == 1 and _texts(home) == [("half an ans", "Let me", "failed")]
    blank = _call("", status="truncated", reasoning_text="Let me see")
    write(home, path, [failed, blank])
    assert grow_texts(home) == 1 and _texts(home) == [("", "Let me see", "truncated")]
    write(home, path, [failed, {**blank, "superseded": True}, _call("B", reask=1)])
    assert grow_texts(home) == 1 and _texts(home) == [("B", None, "ok")]
    worse = _call("", reask=2, superseded=True)
    write(home, path, [failed, {**blank, "superseded": True}, _call("B", reask=1), worse])
    assert grow_texts(home) == 0 and _texts(home) == [("B", None, "ok")]
    write(home, path, [failed])
    assert grow_texts(home) == 0 and _texts(home) == [("B", None, "ok")]


def test_a_file_of_version_02_is_taken_over(make_home):
    home = make_home({"alpha": "measured"})
    with duckdb.connect(str(home / "transcripts.duckdb")) as connection:
        connection.execute(
            "create table answers (answer_id varchar, prompt varchar, text varchar, reasoning varchar, logprobs varchar);"
            "create table prompts (prompt varchar, request varchar); create table files (file varchar, digest varchar);"
            "insert into answers values ('of a model that is gone', 'p', 'kept', null, null);"
            "insert into files values ('transcripts/gone.parquet', 'd')"
        )
    assert grow_texts(home) == 12
    assert ("kept", None, None) in _texts(home)


def test_thoughts_are_in_the_texts_and_not_in_the_leaderboard(make_home):
    home = make_home({"alpha": "measured"})
    path = "transcripts/benchmark=metamedqa/model=alpha/run=2/transcripts.parquet"
    write(home, path, [_call("B", reasoning_text="CANARY of thought", raw_zstd="CANARY of bytes")])
    build(home)
    grow_texts(home)
    with duckdb.connect(str(home / "leaderboard.duckdb"), read_only=True) as connection:
        tables = connection.execute("select schema_name || '.' || table_name from duckdb_tables()").fetchall()
        assert len(tables) > 20
        for (table,) in tables:
            rows = connection.execute(f"select * from {table}").fetchall()
            assert "CANARY" not in str(rows), table
    assert ("B", "CANARY of thought", "ok") in _texts(home)


def test_files_of_both_versions_are_read_together(make_home):
    home = make_home({"alpha": "measured", "beta": "measured"})
    for model in ("alpha", "beta"):
        path = home / f"transcripts/benchmark=metamedqa/model={model}/run=1/transcripts.parquet"
        table = pq.read_table(path)
        if model == "alpha":
            added = [*ADDED_IN_2, "reask"]
            pq.write_table(table.drop_columns([name for name in added if name in table.column_names]), path)
    build(home)
    assert grow_texts(home) == 24
    found = run_query(
        home, "select model, count(*), count(reasoning_tokens), max(reask) from calls group by 1 order by 1"
    )
    assert found.rows == (("alpha", 12, 0, 0), ("beta", 12, 0, 0))
