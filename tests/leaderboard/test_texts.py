"""Prompts and replies beside the leaderboard: the table ``transcripts``, read from the Parquet copies."""

import duckdb

from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import query_table, run_query
from metacog_pipeline.transcripts.schema import ARROW_SCHEMA
from tests.homes import write
from tests.leaderboard.conftest import WHEN

PATH = "transcripts/benchmark=metamedqa/model=alpha/run=2/transcripts.parquet"


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


def test_every_call_of_the_board_has_its_texts(built_home):
    found = run_query(
        built_home, "select model, count(*), count(text) from transcripts group by 1 order by 1"
    )
    assert found.rows == (("alpha", 12, 12), ("beta", 12, 12))
    assert run_query(built_home, "select count(distinct request_json) from transcripts").rows == ((12,),)


def test_a_study_without_answers_has_the_columns_and_no_rows(make_home):
    home = make_home({})
    build(home)
    assert query_table(home, "from transcripts").schema.names == ARROW_SCHEMA.names
    assert run_query(home, "from transcripts").rows == ()


def test_what_was_kept_of_a_failed_call_stands_beside_the_answer(make_home):
    home = make_home({})
    failed = _call("half an ans", status="failed", reasoning_text="Let me")
    write(home, PATH, [failed, _call("B")])
    build(home)
    found = run_query(home, "select text, reasoning_text, status, prices_json from transcripts order by text")
    assert found.rows == (("B", None, "ok", None), ("half an ans", "Let me", "failed", None))


def test_thoughts_are_in_the_texts_and_not_in_the_leaderboard(make_home):
    home = make_home({"alpha": "measured"})
    write(home, PATH, [_call("B", reasoning_text="CANARY of thought", raw_zstd="CANARY of bytes")])
    build(home)
    with duckdb.connect(str(home / "leaderboard.duckdb"), read_only=True) as connection:
        tables = connection.execute("select schema_name || '.' || table_name from duckdb_tables()").fetchall()
        assert len(tables) > 20
        for (table,) in tables:
            rows = connection.execute(f"select * from {table}").fetchall()
            assert "CANARY" not in str(rows), table
    said = "select text, reasoning_text from transcripts where run = 1 and item_id = 'i'"
    assert run_query(home, said).rows == (("B", "CANARY of thought"),)
