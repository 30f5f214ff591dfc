"""A benchmark nobody here knows: its files alone put it on every shared table, and its own tables into the file."""

import polars as pl
import pytest

from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import run_query
from tests.homes import few_tables, write
from tests.leaderboard.conftest import write_study

NAME = "stranger"


@pytest.fixture
def home(make_home):
    made = make_home()
    write_study(made, dict.fromkeys(("alpha", "beta"), "measured"), ("metamedqa", NAME))
    key = {"benchmark": NAME, "dataset": "own", "condition": "plain", "model": "alpha", "source": "measured"}
    number = {**key, "measure": "wit", "estimate": 0.25, "coverage": 1.0, "status": "ok"}
    covered = {**number, "measure": "coverage", "estimate": 1.0}
    write(made, f"estimates/{NAME}/models/alpha.parquet", [number, covered])
    (made / f"scored/{NAME}/model=alpha").mkdir(parents=True)
    own = pl.DataFrame([{**key, "run": 1, "item_id": "i", "laughed": True}])
    own.write_parquet(made / f"scored/{NAME}/model=alpha/run=1.parquet")
    return made


def test_its_columns_are_described_too_or_said_not_to_be(home):
    build(home)
    of_file = "from duckdb_columns() where database_name = 'leaderboard'"
    assert run_query(home, f"select table_name, column_name {of_file} and comment is null").rows == ()
    said = run_query(home, f"select comment {of_file} and column_name = 'laughed'").rows
    assert said == ((f"{NAME} does not say what it means",),)


def test_files_that_do_not_fit_keep_it_off_and_leave_the_others(home, monkeypatch):
    few_tables(monkeypatch, "items", "leaderboard", tested=True)
    row = {"benchmark": NAME, "model": "alpha", "estimate": "a lot", "dataset": "own", "measure": "wit"}
    pl.DataFrame([row]).write_parquet(home / f"estimates/{NAME}/models/alpha.parquet")
    [(left_out, why)] = build(home).failures.items()
    assert left_out == NAME and "correct what the benchmark returns" in why and "'a lot'" in why
    assert run_query(home, "select count(*) from estimates where benchmark = 'metamedqa'").rows == ((6,),)
    for table in ("estimates", "leaderboard", "items", "answers"):
        assert run_query(home, f"from {table} where benchmark = '{NAME}'").rows == (), table
