"""A benchmark nobody here knows: its files alone put it on every shared table, and its own tables into the file."""

import polars as pl
import pytest

from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import run_query
from tests.homes import write
from tests.leaderboard.conftest import write_study

NAME = "stranger"


@pytest.fixture
def home(make_home):
    made = make_home()
    write_study(made, dict.fromkeys(("alpha", "beta"), "measured"), ("metamedqa", NAME))
    key = {"benchmark": NAME, "dataset": "own", "condition": "plain", "model": "alpha", "source": "measured"}
    number = {**key, "measure": "wit", "estimate": 0.25, "coverage": 1.0, "status": "ok"}
    item = {"item_id": "i", "dataset": "own", "position": 0, "question": "?", "riddle": "?"}
    test = {**key, "family": "f", "measure": "wit", "value": 0.5}
    curve = {**key, "curve": "roc", "position": 0, "x": 0.0, "y": 1.0}
    answer = {
        **key,
        "run": 1,
        "item_id": "i",
        "cluster": "i",
        "correct": 1.0,
        "confidence": 0.5,
        "reading": "ok",
    }
    write(made, f"items/{NAME}.parquet", [item])
    covered = {**number, "measure": "coverage", "estimate": 1.0}
    write(made, f"estimates/{NAME}/models/alpha.parquet", [number, covered])
    write(made, f"estimates/{NAME}/runs/model=alpha/run=1.parquet", [{**number, "run": 1}])
    write(made, f"estimates/{NAME}/comparisons/comparisons.parquet", [test])
    write(made, f"estimates/{NAME}/curves/curves.parquet", [curve])
    write(made, f"harmonised/{NAME}/model=alpha/run=1.parquet", [answer])
    for path, row in {
        f"scored/{NAME}/model=alpha/run=1.parquet": {**key, "run": 1, "item_id": "i", "laughed": True},
        f"estimates/{NAME}/jokes/jokes.parquet": {"joke": "why", "told": 3},
    }.items():
        (made / path).parent.mkdir(parents=True, exist_ok=True)
        pl.DataFrame([row]).write_parquet(made / path)
    return made


TABLES = "leaderboard estimates run_estimates comparisons curves answers items measures"


def test_it_stands_on_the_shared_tables_and_has_its_own(home):
    assert build(home).failures == {}
    for table in TABLES.split():
        assert run_query(home, f"select count(*) from {table} where benchmark = '{NAME}'").rows[0][0], table
    assert run_query(home, f"select laughed from detail.{NAME}_responses").rows == ((True,),)
    assert run_query(home, f"from 'estimates/{NAME}/jokes/*.parquet'").rows == (("why", 3),)
    missing = f"select model, estimate from leaderboard where benchmark = '{NAME}' and model = 'beta'"
    assert run_query(home, missing).rows == (("beta", 0.0),)


def test_its_columns_are_described_too_or_said_not_to_be(home):
    build(home)
    of_file = "from duckdb_columns() where database_name = 'leaderboard'"
    assert run_query(home, f"select table_name, column_name {of_file} and comment is null").rows == ()
    said = run_query(home, f"select comment {of_file} and column_name = 'laughed'").rows
    assert said == ((f"{NAME} does not say what it means",),)


def test_files_that_do_not_fit_keep_it_off_and_leave_the_others(home):
    row = {"benchmark": NAME, "model": "alpha", "estimate": "a lot", "dataset": "own", "measure": "wit"}
    pl.DataFrame([row]).write_parquet(home / f"estimates/{NAME}/models/alpha.parquet")
    [(left_out, why)] = build(home).failures.items()
    assert left_out == NAME and "correct what the benchmark returns" in why and "'a lot'" in why
    assert run_query(home, "select count(*) from estimates where benchmark = 'metamedqa'").rows == ((6,),)
    for table in ("estimates", "leaderboard", "items", "answers"):
        assert run_query(home, f"from {table} where benchmark = '{NAME}'").rows == (), table
