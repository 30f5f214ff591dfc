"""Texts beside the leaderboard: one row an answer, a prompt once."""

import shutil
from pathlib import Path

import duckdb

from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import run_query
from tests.homes import write
from tests.leaderboard.conftest import WHEN


def test_texts_stand_beside_the_board_and_join_its_calls(built_home, tmp_path):
    found = run_query(
        built_home,
        "select model, count(*), count(text) from calls inner join texts.answers using (answer_id) group by 1 order by 1",
    )
    assert found.rows == (("alpha", 12, 12), ("beta", 12, 12))
    assert run_query(built_home, "select count(*) from texts.prompts").rows == ((12,),)
    copied = shutil.copy(built_home.texts, tmp_path / "copy.duckdb")
    with duckdb.connect(str(copied), read_only=True) as connection:
        assert connection.execute("select count(*) from answers").fetchall() == [(24,)]


def _call(text: str, **columns: object) -> dict[str, object]:
    at = {
        "answer_id": "a",
        "benchmark": "metamedqa",
        "model": "alpha",
        "run": 1,
        "item_id": "i",
        "condition": "c",
    }
    made = {"status": "ok", "step": "answer", "provider": "openai", "source": "measured", "superseded": False}
    request = '{"messages": [["user", "Why?"]]}'
    return {**at, **made, "started_at": WHEN, "text": text, "request_json": request, **columns}


def _texts(home: Path) -> list[tuple[object, ...]]:
    with duckdb.connect(str(home / "transcripts.duckdb"), read_only=True) as connection:
        return connection.execute("select text, reasoning, status from answers order by text").fetchall()


def test_what_stands_takes_the_place_of_what_failed_and_of_what_was_asked_again(make_home):
    home = make_home({})
    path = "transcripts/benchmark=metamedqa/model=alpha/run=1/transcripts.parquet"
    failed = _call("half an ans", status="failed", reasoning_text="Let me")
    blank = _call("", status="truncated", reasoning_text="Let me see")
    replaced = {**blank, "superseded": True}
    worse = _call("", reask=2, superseded=True)
    cases = [
        ([failed], ("half an ans", "Let me", "failed")),
        ([failed, blank], ("", "Let me see", "truncated")),
        ([failed, replaced, _call("B", reask=1)], ("B", None, "ok")),
        ([failed, replaced, _call("C", reask=1), worse], ("C", None, "ok")),
    ]
    write(
        home, path, [{**call, "answer_id": f"a{n}"} for n, (calls, _) in enumerate(cases) for call in calls]
    )
    build(home)
    assert _texts(home) == sorted(kept for _, kept in cases)


def test_thoughts_are_in_the_texts_and_not_in_the_leaderboard(make_home):
    home = make_home({"alpha": "measured"})
    path = "transcripts/benchmark=metamedqa/model=alpha/run=2/transcripts.parquet"
    write(home, path, [_call("B", reasoning_text="CANARY of thought", raw_zstd="CANARY of bytes")])
    build(home)
    with duckdb.connect(str(home / "leaderboard.duckdb"), read_only=True) as connection:
        tables = connection.execute("select schema_name || '.' || table_name from duckdb_tables()").fetchall()
        assert len(tables) > 20
        for (table,) in tables:
            rows = connection.execute(f"select * from {table}").fetchall()
            assert "CANARY" not in str(rows), table
    assert ("B", "CANARY of thought", "ok") in _texts(home)
