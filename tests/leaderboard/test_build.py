"""Building: one file that stands alone, made again where something changed, never worse than the one before."""

import os
import shutil
from pathlib import Path

import duckdb
import polars as pl
import pytest

from metacog_pipeline import registry
from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import shipped
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.database import one_instance
from metacog_pipeline.leaderboard.models import load_project
from metacog_pipeline.leaderboard.official import publish_official
from metacog_pipeline.leaderboard.plan import plan_of
from metacog_pipeline.leaderboard.read import one_connection, run_query
from metacog_pipeline.leaderboard.texts import grow_texts
from tests.homes import write
from tests.leaderboard.conftest import new_home, write_model, write_study


def content(home: Home) -> dict[str, list[tuple[object, ...]]]:
    """Return every table but those about the build, rows in order; sums of dollars differ by their order of adding."""
    with one_connection(home):
        return {
            model.name: sorted(
                (
                    tuple(round(cell, 12) if isinstance(cell, float) else cell for cell in row)
                    for row in run_query(home, f"from {model.schema}.{model.name}").rows
                ),
                key=str,
            )
            for model in load_project().models
        }


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
    publish_official(home)
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
    publish_official(home)
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


SIX = tuple(f"m{n}" for n in range(6))
# Calls to judges stand in the folder of the model they judge.
JUDGED = "transcripts/benchmark=medley_judgements/model=m0/run=1/transcripts.parquet"
JUDGEMENTS = tuple(
    {"benchmark": "medley_judgements", "model": f"judge-{k}", "run": 1, "answer_id": f"j{k}", "status": "ok"}
    for k in range(2)
)
# A model answers more than one benchmark, of which one alone may change.
OTHER = "transcripts/benchmark=selfknowledge/model=m3/run=1/transcripts.parquet"
MORE = {**JUDGEMENTS[0], "benchmark": "selfknowledge", "model": "m3", "cost_usd": 0.5}


@pytest.fixture(scope="module")
def six_built(tmp_path_factory):
    """The home of six models and a judge with its board, before anything changes."""
    home = new_home(
        Home(tmp_path_factory.mktemp("six") / "home"), dict.fromkeys(SIX, "measured"), "sample", (), 2
    )
    write(home, JUDGED, JUDGEMENTS[:1])
    write(home, OTHER, [MORE])
    build(home)
    return home


@pytest.mark.parametrize(
    "change",
    ["one model", "one benchmark of it", "a model added", "a model gone", "retired", "items", "published",
     "a judge added", "a model added and judged"],
)  # fmt: skip
def test_what_is_made_again_equals_what_is_made_afresh(six_built, tmp_path, change, monkeypatch):
    plans = []
    monkeypatch.setattr(
        "metacog_pipeline.leaderboard.build.plan_of",
        lambda *given: plans.append(plan_of(*given)) or plans[-1],
    )
    home = Home(shutil.copytree(six_built.path, tmp_path / "home"))
    if change == "a judge added":
        write(home, JUDGED, JUDGEMENTS)
    elif change == "one benchmark of it":
        write(home, OTHER, [MORE] * 3)
        assert build(home).facts("calls")["rows"] == 6 * 2 * 12 + 1 + 3
        write(home, OTHER.replace("run=1", "run=2"), [{**MORE, "run": 1}])  # a file of another run's rows
    elif change == "one model":
        write_model(home, "m3", "measured", "sample", 0.95, runs=2)
    elif change.startswith("a model added"):
        write_study(home, dict.fromkeys([*SIX, "new"], "measured"), runs=2)
        write_model(home, "new", "measured", "sample", 0.1, runs=2)
        if change.endswith("judged"):
            write(home, JUDGED.replace("m0", "new"), JUDGEMENTS)
    elif change == "a model gone":
        for path in home.path.rglob("*m5*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    elif change == "retired":
        write_study(home, {**dict.fromkeys(SIX, "measured"), "m0": "retired"}, runs=1)
    elif change == "items":
        write(home, "items/metamedqa.parquet", [{"item_id": "item-0000", "dataset": "other", "position": 0}])
    else:
        write_model(home, "m0", "measured", "published", 0.3, runs=2)
    report = build(home)
    if change == "one model":
        assert {table.name for table in report.tables if table.seconds == 0.0} >= {
            "progress",
            "medley_gates",
            "judgements",
        }
    if (
        change == "a model added and judged"
    ):  # no path tells whose rows calls to judges are, but all of them are new
        assert "calls" in plans[0].growing
    changed = content(home)
    (home / "leaderboard.duckdb").unlink()
    build(home)
    assert content(home) == changed


def test_nothing_new_makes_nothing_again(built_home):
    home = built_home
    report = build(home)
    assert report.tests == 0 and all(table.seconds == 0.0 for table in report.tables)


def test_tables_made_anew_take_the_room_of_the_old(built_home, tmp_path):
    before = built_home.leaderboard.stat().st_size
    folder = Path(shutil.copytree(shipped("dbt_like_sql"), tmp_path / "sql"))
    for path in folder.rglob("*.sql"):
        path.write_text("-- Otherwise said.\n" + path.read_text("utf-8"), "utf-8")
    report = build(built_home, folder=folder)
    assert all(table.seconds for table in report.tables)
    assert built_home.leaderboard.stat().st_size < 1.2 * before


def test_databases_made_in_one_block_share_one_instance(built_home):
    with one_instance(built_home) as first:
        build(built_home)
        grow_texts(built_home)
        with one_instance(built_home) as second:
            assert second is first
        assert first.execute(
            "select database_name from duckdb_databases() where not internal"
        ).fetchall() == [("memory",)]


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
    assert [(table.name, "no such thing" in str(table.reason)) for table in report.failures] == [
        ("metamedqa_kinds", True)
    ]
    assert run_query(home, "from metamedqa_kinds").rows == ()
    assert run_query(home, "select count(*) from leaderboard where source = 'measured'").rows == ((4,),)
    told = run_query(
        home,
        "select one.name, one.reason from (select unnest(tables) as one from detail.snapshot) "
        "where one.reason is not null",
    ).rows
    assert len(told) == 1 and told[0][0] == "metamedqa_kinds"
    assert build(home).failures == () and run_query(home, "from metamedqa_kinds").rows


def test_an_official_board_is_carried_over(built_home):
    home = built_home
    assert publish_official(home) == 4
    write_model(home, "beta", "measured", "sample", 0.9)
    build(home)
    assert run_query(
        home, "select max(estimate) from leaderboard_official where measure = 'accuracy'"
    ).rows == ((0.6,),)
    with duckdb.connect(str(home / "leaderboard.duckdb")) as connection:
        connection.execute("update detail.snapshot set format = '1'")  # a file of another make is built anew
    build(home)
    assert run_query(
        home, "select max(estimate) from leaderboard_official where measure = 'accuracy'"
    ).rows == ((0.6,),)
    states = [{"benchmark": "metamedqa", "model": "alpha", "run": 1, "state": "incomplete"}]
    write(home, "study/partitions.parquet", states)
    build(home)
    with pytest.raises(StoreError, match="the official board waits"):
        publish_official(home)


@pytest.mark.parametrize("damage", [b"", b"not a database", b"\0" * 5000])
def test_an_unreadable_board_is_moved_aside(make_home, damage):
    home = make_home()
    (home / "leaderboard.duckdb").write_bytes(damage)
    report = build(home)
    assert "leaderboard.unreadable.duckdb" in report.notes[0]
    assert (home / "leaderboard.unreadable.duckdb").read_bytes() == damage


def test_a_reader_keeps_the_board_it_opened(built_home):
    home = built_home
    with duckdb.connect(str(home / "leaderboard.duckdb"), read_only=True) as reader:
        write_model(home, "beta", "measured", "sample", 0.9)
        build(home)
        assert reader.execute(
            "select max(estimate) from estimates where measure = 'accuracy'"
        ).fetchall() == [(0.6,)]
    assert run_query(home, "select max(estimate) from estimates where measure = 'accuracy'").rows == ((0.9,),)


def test_an_empty_home_has_an_empty_board_and_new_columns_make_a_table_anew(tmp_path):
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
