"""The SQL folder: its size, its headers, and errors that name the file."""

from pathlib import Path

import pytest

from metacog_pipeline.errors import StoreError
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.glossary import meaning, terms
from metacog_pipeline.leaderboard.read import run_query
from metacog_pipeline.leaderboard.sql_folder import load_project

FOLDER = Path(__file__).parents[2] / "dbt_like_sql"
FILES = sorted(FOLDER.rglob("*.sql"))
HEAD = "-- One row: one.\n-- Key: x.\n-- Source: nothing.\n"


def test_the_folder_stays_small():
    assert len(FILES) <= 68
    assert sum(len(path.read_text("utf-8").splitlines()) for path in FILES) <= 2050


def test_no_file_names_a_benchmark_but_those_of_that_benchmark():
    names = {path.parent.name for path in (FOLDER / "benchmarks").glob("*/*.sql")}
    for path in FILES:
        parts = path.relative_to(FOLDER).parts
        own = parts[parts.index("benchmarks") + 1] if "benchmarks" in parts else None
        assert not [name for name in names - {own} if name in path.read_text("utf-8").lower()], path


def test_every_column_has_an_entry_and_every_entry_a_column(built_home):
    home = built_home
    seen: set[str] = set()
    for model in load_project().models:
        rows = run_query(home, f"from {model.name} limit 0")
        assert [name for name in rows.columns if meaning(model.columns, name) is None] == [], model.name
        seen |= set(rows.columns)
    assert terms().keys() <= seen


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"marts/a": HEAD + "select * from b", "detail/b": HEAD + "select * from a"}, "in a circle: "),
        ({"marts/a": HEAD + "select 1 as x", "detail/a": HEAD + "select 1 as x"}, "both make a"),
        ({"marts/a": HEAD + "select 1; select 2"}, "one SELECT"),
        ({"marts/a": HEAD + "create table x as select 1"}, "one SELECT"),
        ({"marts/a": "-- #UNIK(x)\n" + HEAD + "select 1 as x"}, "#UNIK"),
        ({"marts/a": "-- Reads: stg_x = a/*.parquet\n" + HEAD + "select 1 as x"}, "write Reads"),
        ({}, "is this the folder"),
    ],
)
def test_a_mistake_names_the_file(sql_folder, files, said):
    with pytest.raises(StoreError, match=said):
        load_project(sql_folder(files))


@pytest.mark.parametrize(
    ("header", "sql", "said"),
    [
        ("-- Key: x.", "select unnest([1, 1]) as x", r"#UNIQUE\(x\).*2"),
        ("-- #NOT_NULL(x)", "select null::int as x", "NOT_NULL"),
        ("-- #SET{x: 1|2}", "select 3 as x", "SET"),
        ("-- columns:\n--   y: nothing", "select 1 as x", "describes y"),
        ("-- #NOT_NULL(y)", "select 1 as x", "marts/a.sql: Binder Error"),
        ("-- Key: x.", "select * from listde", "marts/a.sql: .*listde does not exist"),
    ],
)
def test_a_promise_that_is_not_kept_stops_the_build(sql_folder, make_home, header, sql, said):
    with pytest.raises(StoreError, match=said):
        build(make_home(), folder=sql_folder({"marts/a": f"-- One row: one.\n{header}\n{sql}\n"}))
