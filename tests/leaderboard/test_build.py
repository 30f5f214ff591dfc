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
from tests.homes import write
from tests.leaderboard.conftest import write_model, write_study


def test_the_file_stands_alone_wherever_it_is_copied(built_home, tmp_path):
    home = built_home
    copied = shutil.copy(home / "leaderboard.duckdb", tmp_path / "copy.duckdb")
    shutil.rmtree(home.path)
    os.chdir(tmp_path)
    with duckdb.connect(str(copied), read_only=True) as connection:
        assert connection.execute(
            "select count(*) from leaderboard where source = 'measured'"
        ).fetchall() == [(4,)]
        assert connection.execute("select count(*) from detail.metamedqa_responses").fetchall() == [(24,)]
        kinds = connection.execute("select count(*) from duckdb_views() where not internal").fetchall()
        assert kinds == [(0,)]


def test_every_table_and_column_says_what_it_is(built_home):
    home = built_home
    of_file = "database_name = 'leaderboard' and comment is null"
    assert run_query(home, f"select schema_name, table_name from duckdb_tables() where {of_file}").rows == ()
    assert run_query(home, f"select table_name, column_name from duckdb_columns() where {of_file}").rows == ()


@pytest.mark.parametrize("asked", [*[(name,) for name in registry.names()], registry.names()], ids="-".join)
def test_at_most_thirty_five_tables_whatever_benchmarks_are_asked(tmp_path, asked):
    home = Home(tmp_path / "home")
    write_study(home, {"alpha": "measured"}, asked)
    for name in {*asked} - {
        model.benchmark for model in load_project().models
    }:  # its responses are a table more
        target = home / f"scored/{name}/model=alpha/run=1.parquet"
        target.parent.mkdir(parents=True)
        told = {
            "benchmark": name,
            "dataset": "own",
            "condition": "c",
            "model": "alpha",
            "run": 1,
            "item_id": "i",
        }
        pl.DataFrame([{**told, "status": "ok", "source": "measured"}]).write_parquet(target)
    assert not build(home).failures
    found = run_query(
        home,
        "select schema_name, count(*) from duckdb_tables() where database_name = 'leaderboard' group by 1",
    ).rows
    assert dict(found)["main"] == 12 and sum(count for _, count in found) <= 35


def test_the_same_inputs_have_the_same_snapshot(make_home):
    home = make_home()
    first = build(home)
    assert len(first.snapshot) == 12 and run_query(home, "select id from detail.snapshot").rows == (
        (first.snapshot,),
    )
    assert build(home).snapshot == first.snapshot
    (home / "leaderboard.duckdb").unlink()
    assert build(home).snapshot == first.snapshot
    write_model(home, "beta", "measured", "sample", 0.9)
    assert build(home).snapshot != first.snapshot


def test_what_a_build_says_of_a_table_is_what_the_file_holds(built_home):
    result = build(built_home)
    assert (result.path, result.failures) == (built_home.leaderboard, {}) and result.tests > 50
    assert [table.name for table in result.tables] == [model.name for model in load_project().models]
    with one_connection(built_home):
        for table in result.tables:
            assert run_query(built_home, f"select count(*) from {table.schema}.{table.name}").rows == (
                (table.rows,),
            )
            described = run_query(built_home, f"describe {table.name}").rows
            assert [(each.name, each.type) for each in table.columns] == [row[:2] for row in described]
            assert all(each.description for each in table.columns), table.name


@pytest.mark.parametrize(
    ("table", "reads"),
    [
        ("estimates", ("stg_estimates",)),  # not published_values, though a column of it has the same name
        ("calls", ("stg_calls",)),
        ("items", ("responses", "stg_items")),
        ("metamedqa_kinds", ("metamedqa_responses",)),
        ("models", ("costs", "leaderboard", "stg_partitions")),
    ],
)
def test_the_lineage_of_a_table_is_what_its_sql_reads(built_home, table, reads):
    [found] = [each for each in build(built_home).tables if each.name == table]
    assert found.reads == reads


def test_the_lineage_of_a_shared_table_goes_through_the_rows_benchmarks_add_to_it(built_home):
    [curves] = [each for each in build(built_home).tables if each.name == "curves"]
    assert {"stg_curves", "metamedqa_responses", "stg_metacogbench_reliability"} <= {*curves.reads}


def test_a_model_added_or_gone_is_on_the_board_or_not(built_home):
    write_study(built_home, dict.fromkeys(("beta", "new"), "measured"))
    write_model(built_home, "new", "measured", "sample", 0.1)
    build(built_home)
    for table in ("leaderboard", "estimates", "responses", "metamedqa_kinds"):
        found = run_query(built_home, f"select distinct model from {table} order by all").rows
        assert found == (("beta",), ("new",)), table


def test_a_failed_test_leaves_the_old_board(built_home):
    home = built_home
    before = (home / "leaderboard.duckdb").read_bytes()
    twice = {"model": "alpha", "provider": "openai", "source": "measured", "listed": True, "runs": 1}
    write(home, "study/models.parquet", [twice, twice])
    with pytest.raises(StoreError, match="the board was left as it was"):
        build(home)
    assert (home / "leaderboard.duckdb").read_bytes() == before


def test_a_torn_file_is_named_and_leaves_the_old_board(built_home):
    home = built_home
    before = (home / "leaderboard.duckdb").read_bytes()
    torn = home / "scored/metamedqa/model=alpha/run=1.parquet"
    torn.write_bytes(torn.read_bytes()[:-30])
    with pytest.raises(StoreError, match="move it away") as caught:
        build(home)
    assert str(torn) in str(caught.value) and (home / "leaderboard.duckdb").read_bytes() == before


def test_a_table_of_one_benchmark_that_fails_is_empty_and_says_why(make_home, sql_folder):
    home = make_home()
    shutil.copytree(Path(__file__).parents[2] / "dbt_like_sql", folder := sql_folder({}), dirs_exist_ok=True)
    (folder / "benchmarks/metamedqa/metamedqa_kinds.sql").write_text(
        "-- One row: one.\n-- Key: dataset.\n-- Source: none.\nselect error('no such thing') as dataset\n"
    )
    report = build(home, folder=folder)
    assert (
        report.failures.keys() == {"metamedqa_kinds"}
        and "no such thing" in report.failures["metamedqa_kinds"]
    )
    assert run_query(home, "from metamedqa_kinds").rows == ()
    assert run_query(home, "select count(*) from leaderboard where source = 'measured'").rows == ((4,),)
    told = run_query(
        home,
        "select one.name, one.reason from (select unnest(tables) as one from detail.snapshot) "
        "where one.reason is not null",
    ).rows
    assert len(told) == 1 and told[0][0] == "metamedqa_kinds"
    assert build(home).failures == {} and run_query(home, "from metamedqa_kinds").rows


def test_an_unreadable_board_is_replaced(built_home):
    home = built_home
    home.leaderboard.write_bytes(b"not a database")
    home.texts.write_bytes(b"")
    build(home)
    assert run_query(home, "select count(*) from leaderboard, texts.prompts").rows != ((0,),)


def test_a_reader_keeps_the_board_it_opened(built_home):
    home = built_home
    with duckdb.connect(str(home / "leaderboard.duckdb"), read_only=True) as reader:
        write_model(home, "beta", "measured", "sample", 0.9)
        build(home)
        assert reader.execute(
            "select max(estimate) from estimates where measure = 'accuracy'"
        ).fetchall() == [(0.6,)]
    assert run_query(home, "select max(estimate) from estimates where measure = 'accuracy'").rows == ((0.9,),)


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
