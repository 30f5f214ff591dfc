"""Building: one file that stands alone, made whole, never worse than the one before."""

import os
import shutil
from pathlib import Path

import duckdb
import polars as pl
import pytest

from metacog_pipeline import registry
from metacog_pipeline.errors import StoreError
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import one_connection, run_query
from metacog_pipeline.leaderboard.sql_folder import load_project
from tests.homes import few_tables, write
from tests.leaderboard.conftest import write_model, write_study


def test_the_file_stands_alone_wherever_it_is_copied(built_home, tmp_path):
    copied = shutil.copy(built_home / "leaderboard.duckdb", tmp_path / "copy.duckdb")
    shutil.rmtree(built_home.path)
    os.chdir(tmp_path)
    with duckdb.connect(str(copied), read_only=True) as connection:
        measured = connection.execute("select count(*) from leaderboard where source = 'measured'")
        assert measured.fetchall() == [(6,)]
        assert connection.execute("select count(*) from detail.metamedqa_responses").fetchall() == [(24,)]
        kinds = connection.execute("select count(*) from duckdb_views() where not internal").fetchall()
        assert kinds == [(0,)]


def test_at_most_thirty_eight_tables_when_all_benchmarks_are_asked(tmp_path):
    home = Home(tmp_path / "home")
    write_study(home, {"alpha": "measured"}, registry.names())
    known = {"dataset": "own", "condition": "c", "model": "alpha", "run": 1, "item_id": "i", "status": "ok"}
    for name in {*registry.names()} - {model.benchmark for model in load_project().models}:
        target = home / f"scored/{name}/model=alpha/run=1.parquet"
        target.parent.mkdir(parents=True)
        pl.DataFrame([{**known, "benchmark": name, "source": "measured"}]).write_parquet(target)
    assert not build(home).failures
    of_file = "from duckdb_tables() where database_name = 'leaderboard' group by 1"
    found = run_query(home, f"select schema_name, count(*) {of_file}").rows
    assert dict(found)["main"] == 16 and sum(count for _, count in found) <= 38


def test_the_same_inputs_have_the_same_snapshot(built_home):
    [(first,)] = run_query(built_home, "select id from detail.snapshot").rows
    built_home.leaderboard.unlink()
    assert build(built_home).snapshot == first and len(str(first)) == 12
    write_model(built_home, "beta", "measured", "sample", 0.9)
    assert build(built_home).snapshot != first


def test_what_a_build_says_of_a_table_is_what_the_file_holds(built_home):
    result = build(built_home)
    assert (result.path, result.failures) == (built_home.leaderboard, {}) and result.tests > 50
    assert [table.name for table in result.tables] == [model.name for model in load_project().models]
    with one_connection(built_home):
        for table in result.tables:
            count = run_query(built_home, f"select count(*) from {table.schema}.{table.name}").rows
            assert count == ((table.rows,),)


LINEAGE = {
    "estimates": {"stg_estimates"},  # not published_values, though a column of it has the same name
    "model_drift": {"stg_calls"},
    "items": {"answers", "stg_items"},
    "metamedqa_kinds": {"metamedqa_responses"},
    "models": {"costs", "leaderboard", "stg_partitions"},
}


def test_the_lineage_of_a_table_is_what_its_sql_and_the_rows_benchmarks_add_to_it_read(built_home):
    found = {each.name: {*each.reads} for each in build(built_home).tables}
    assert {name: found[name] for name in LINEAGE} == LINEAGE
    assert {"stg_curves", "metamedqa_responses", "metacogbench_responses"} <= found["curves"]


def test_a_model_added_or_gone_is_on_the_board_or_not(built_home, monkeypatch):
    few_tables(monkeypatch, "leaderboard", "answers", "metamedqa_kinds", tested=True)
    write_study(built_home, dict.fromkeys(("beta", "new"), "measured"))
    write_model(built_home, "new", "measured", "sample", 0.1)
    build(built_home)
    for table in ("leaderboard", "estimates", "answers", "metamedqa_kinds"):
        found = run_query(built_home, f"select distinct model from {table} order by all").rows
        assert found == (("beta",), ("new",)), table


def test_a_failed_test_and_a_torn_file_which_is_named_leave_the_old_board(built_home, monkeypatch):
    few_tables(monkeypatch, "leaderboard", "models", "metamedqa_responses", tested=True)
    home = built_home
    before = home.leaderboard.read_bytes()
    torn = home / "scored/metamedqa/model=alpha/run=1.parquet"
    whole = torn.read_bytes()
    torn.write_bytes(whole[:-30])
    with pytest.raises(StoreError, match="move it away") as caught:
        build(home)
    assert str(torn) in str(caught.value) and home.leaderboard.read_bytes() == before
    torn.write_bytes(whole)
    twice = {"model": "alpha", "provider": "openai", "source": "measured", "listed": True, "runs": 1}
    write(home, "study/models.parquet", [twice, twice])
    with pytest.raises(StoreError, match="the board was left as it was"):
        build(home)
    assert home.leaderboard.read_bytes() == before


def test_a_table_of_one_benchmark_that_fails_is_empty_and_says_why(make_home, sql_folder, monkeypatch):
    few_tables(monkeypatch, "leaderboard", "metamedqa_kinds", tested=True)
    home = make_home()
    shutil.copytree(Path(__file__).parents[2] / "dbt_like_sql", folder := sql_folder({}), dirs_exist_ok=True)
    (folder / "benchmarks/metamedqa/metamedqa_kinds.sql").write_text(
        "-- One row: one.\n-- Key: dataset.\n-- Source: none.\nselect error('no such thing') as dataset\n"
    )
    [(table, why)] = build(home, folder=folder).failures.items()
    assert table == "metamedqa_kinds" and "no such thing" in why
    assert run_query(home, "from metamedqa_kinds").rows == ()
    assert run_query(home, "select count(*) from leaderboard where source = 'measured'").rows == ((6,),)
    each = "select unnest(tables) as one from snapshot"
    empty = run_query(home, f"select one.name, one.reason from ({each}) where one.reason is not null").rows
    assert empty == ((table, why),)
    assert build(home).failures == {} and run_query(home, "from metamedqa_kinds").rows


BEST = "select max(estimate) from estimates where measure = 'accuracy'"


def test_a_reader_keeps_the_board_it_opened(built_home, monkeypatch):
    few_tables(monkeypatch, "estimates")
    home = built_home
    with duckdb.connect(str(home / "leaderboard.duckdb"), read_only=True) as reader:
        write_model(home, "beta", "measured", "sample", 0.9)
        build(home)
        assert reader.execute(BEST).fetchall() == [(0.6,)]
    assert run_query(home, BEST).rows == ((0.9,),)


def test_an_empty_home_has_an_empty_board_and_new_columns_of_files_are_kept(tmp_path):
    home = Home(tmp_path / "home")
    home.path.mkdir()
    build(home)
    assert run_query(home, "from leaderboard").rows == ()
    write_study(home, {"alpha": "measured"})
    write(home, "items/metamedqa.parquet", [{"item_id": "i", "dataset": "sample", "position": 0}])
    build(home)
    row = {"benchmark": "metamedqa", "dataset": "sample", "condition": "baseline", "model": "alpha", "run": 1,
           "item_id": "i", "kind": "Original", "target": "A", "status": "ok", "never_seen_before": 1}  # fmt: skip
    write(home, "scored/metamedqa/model=alpha/run=1.parquet", [row])
    build(home)
    assert run_query(home, "select never_seen_before from metamedqa_responses").rows == ((1,),)
