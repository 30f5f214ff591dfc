"""Texts beside the leaderboard: one row an answer, a prompt once, grown by what is new."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb

from metacog_pipeline.leaderboard import build, run_query
from metacog_pipeline.leaderboard.texts import grow_texts
from tests.leaderboard.conftest import MakeHome, write_model


def test_texts_grow_by_what_is_new_and_join_the_calls(make_home: MakeHome, tmp_path: Path) -> None:
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


def test_an_unreadable_file_is_made_anew(make_home: MakeHome) -> None:
    home = make_home({"alpha": "measured"})
    (home / "transcripts.duckdb").write_bytes(b"not a database")
    assert grow_texts(home) == 12
