from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.errors import StoreError, StudyError
from metacog_pipeline.leaderboard import (
    build,
    connect,
    load_models,
    missing_partitions,
    publish_official,
    run_query,
)
from metacog_pipeline.leaderboard.datasets import shape_path
from metacog_pipeline.leaderboard.schemas import DATASETS

MakeHome = Callable[..., Path]
SqlFolder = Callable[[dict[str, str]], Path]


def value(home: Path, sql: str) -> object:
    return run_query(home, sql).rows[0][0]


def leftovers(home: Path) -> list[str]:
    return [path.name for path in home.iterdir() if path.suffix in (".tmp", ".wal")]


def test_an_empty_home_builds_every_shipped_file(tmp_path: Path) -> None:
    report = build(tmp_path)
    assert [model.name for model in report.models] == [model.name for model in load_models()]
    assert report.tests > 50
    assert value(tmp_path, "select count(*) from board where source <> 'published'") == 0
    assert leftovers(tmp_path) == []


def test_synthetic_answers_build_every_shipped_file_with_rows(make_home: MakeHome) -> None:
    home = make_home(conditions=("baseline", "role"))
    report = build(home)
    others = ("signaldetection", "medley", "metacogbench", "selfknowledge")
    empty = [
        model.name
        for model in report.models
        if model.rows == 0 and not any(name in model.name for name in others)
    ]
    # Drift, validity and confidence measured alike come from files of their own, which this home lacks.
    across = {"confidence_alike", "confidence_use", "convergent_validity", "drift"}
    assert set(empty) <= {"int_unanswered_models", "metamedqa_comparisons", *across}
    assert report.facts("board")["rows"] == value(home, "select count(*) from board")


def test_every_pattern_a_shipped_file_reads_has_a_schema_or_ships() -> None:
    for model in load_models():
        for pattern in model.datasets:
            assert pattern in DATASETS or pattern.startswith("published/"), (model.file, pattern)


def test_a_failed_assertion_leaves_the_old_board_and_names_itself(
    make_home: MakeHome, sql_folder: SqlFolder
) -> None:
    home = make_home()
    build(home)
    before = (home / "leaderboard.duckdb").read_bytes()
    folder = sql_folder(
        {"marts/doubled": "-- One row: x.\n-- #UNIQUE(a)\nselect unnest([1, 2, 2]) as a, 'me' as b"}
    )
    with pytest.raises(StoreError) as caught:
        build(home, folder=folder)
    message = str(caught.value)
    assert (
        "#UNIQUE(a)" in message and "marts/doubled.sql" in message and "1 row" in message and "a=2" in message
    )
    assert (home / "leaderboard.duckdb").read_bytes() == before
    assert leftovers(home) == []


@pytest.mark.parametrize(
    ("header", "select", "says"),
    [
        ("#NOT_NULL(a, b)", "select 1 as a, null as b", "b=null"),
        ("#SET{a: x|y}", "select unnest(['x', 'z']) as a", "a=z"),
        ("#UNIQUE(a)", "select unnest([null, null]) as a", "copies=2"),
        ("#UNIQUE(nowhere)", "select 1 as a", "cannot run: Binder Error"),
    ],
)
def test_each_assertion_can_fail(
    tmp_path: Path, sql_folder: SqlFolder, header: str, select: str, says: str
) -> None:
    folder = sql_folder({"marts/t": f"-- One row: x.\n-- {header}\n{select}"})
    with pytest.raises(StoreError) as caught:
        build(tmp_path, folder=folder)
    assert says in str(caught.value) and "marts/t.sql" in str(caught.value)
    assert header in str(caught.value) or "nowhere" in header
    assert not (tmp_path / "leaderboard.duckdb").exists()


@pytest.mark.parametrize(
    ("header", "select"),
    [
        ("#SET{a: x|y}", "select unnest(['x', null]) as a"),
        ("#UNIQUE(a, b)", "select unnest([1, 1]) as a, unnest([1, 2]) as b"),
        ("#SET{a: it's|1}", "select unnest(['it''s', '1']) as a"),
    ],
)
def test_assertions_that_hold_pass(tmp_path: Path, sql_folder: SqlFolder, header: str, select: str) -> None:
    folder = sql_folder({"marts/t": f"-- One row: x.\n-- {header}\n{select}"})
    assert build(tmp_path, folder=folder).tests == 1


def test_a_zero_row_query_with_a_row_stops_the_build(tmp_path: Path, sql_folder: SqlFolder) -> None:
    folder = sql_folder(
        {
            "marts/t": "-- One row: x.\nselect unnest([3, 1, 2]) as a",
            "tests/small": "-- a is small.\nselect a, 'text\x1b[31m' as b from t where a > 1; -- done",
        }
    )
    with pytest.raises(StoreError) as caught:
        build(tmp_path, folder=folder)
    assert (
        "tests/small.sql" in str(caught.value)
        and "2 rows" in str(caught.value)
        and "a=2" in str(caught.value)
    )
    assert "\x1b" not in str(caught.value)


def test_a_description_of_a_column_that_is_not_there_stops_the_build(
    tmp_path: Path, sql_folder: SqlFolder
) -> None:
    folder = sql_folder({"marts/t": "-- One row: x.\n-- columns:\n--   gone: was here\nselect 1 as a"})
    with pytest.raises(StoreError, match=r"marts/t\.sql: its header describes"):
        build(tmp_path, folder=folder)


def test_wrong_sql_names_the_file_on_one_line(tmp_path: Path, sql_folder: SqlFolder) -> None:
    folder = sql_folder({"marts/t": "-- One row: x.\nselect nothing from (select 1 as a)"})
    with pytest.raises(StoreError, match=r"marts/t\.sql:.*nothing") as caught:
        build(tmp_path, folder=folder)
    assert "\n" not in str(caught.value)


def test_a_dataset_nobody_described_is_an_error(tmp_path: Path, sql_folder: SqlFolder) -> None:
    folder = sql_folder({"marts/t": "-- One row: x.\nselect * from 'elsewhere/*.parquet'"})
    with pytest.raises(StoreError, match="elsewhere"):
        build(tmp_path, folder=folder)


def test_a_reader_keeps_the_old_board_while_a_new_one_takes_its_place(make_home: MakeHome) -> None:
    home = make_home({"alpha": "measured"})
    build(home)
    count = "select count(distinct model) from board_runs"
    with connect(home) as reader:
        assert reader.execute(count).fetchone() == (1,)
        make_home({"alpha": "measured", "gamma": "measured"}, home=home)
        build(home)
        assert reader.execute(count).fetchone() == (1,)
        assert value(home, count) == 2
        assert reader.execute(count).fetchone() == (1,)


def test_many_readers_and_builders_at_once_never_see_half_a_board(make_home: MakeHome) -> None:
    home = make_home()
    build(home)
    expected = value(home, "select count(*) from board")
    faults: list[object] = []

    def read() -> None:
        try:
            for _ in range(10):
                if (found := value(home, "select count(*) from board")) != expected:
                    faults.append(found)
        except Exception as error:
            faults.append(error)

    def rebuild() -> None:
        try:
            build(home)
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=target) for target in (read, rebuild, read, rebuild)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert faults == []


def test_only_builds_what_was_asked_and_keeps_the_rest(make_home: MakeHome) -> None:
    home = make_home()
    build(home)
    make_home({"alpha": "measured"}, home=home)  # beta is no longer listed
    report = build(home, only=["board_partitions"])
    assert [model.name for model in report.models] == ["board_partitions"]
    assert value(home, "select count(distinct model) from board_runs") == 2
    build(home, only=["int_listed_models", "board_partitions"])
    assert value(home, "select count(distinct model) from board_partitions") == 1


def test_only_on_a_fresh_home_builds_what_it_needs(make_home: MakeHome) -> None:
    home = make_home()
    report = build(home, only=["board_partitions"])
    assert {model.name for model in report.models} == {
        "board_partitions",
        "int_listed_models",
        "stg_study_helpers",
        "stg_study_models",
        "stg_study_partitions",
    }


def test_only_with_an_unknown_name_suggests_one(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"bord: no SQL file.*did you mean board\?"):
        build(tmp_path, only=["bord"])


def test_headers_become_comments_in_the_database(tmp_path: Path) -> None:
    build(tmp_path)
    comment = value(tmp_path, "select comment from duckdb_tables() where table_name = 'board'")
    assert isinstance(comment, str) and comment.startswith("One row: one measure of one model")
    column = "select comment from duckdb_columns() where table_name = 'board' and column_name = 'source'"
    assert "simulated" in str(value(tmp_path, column))


@pytest.mark.parametrize("damage", ["empty", "cut", "middle", "not parquet"])
def test_a_torn_parquet_file_is_named_and_the_old_board_stays(make_home: MakeHome, damage: str) -> None:
    home = make_home(count=600)
    build(home)
    before = (home / "leaderboard.duckdb").read_bytes()
    torn = home / "observations" / "metamedqa" / "model=beta" / "run=2.parquet"
    content = torn.read_bytes()
    middle = (
        content[:4] + bytes(b ^ 0x5A for b in content[4 : len(content) // 2]) + content[len(content) // 2 :]
    )
    torn.write_bytes(
        {"empty": b"", "cut": content[: len(content) // 2], "middle": middle, "not parquet": b"hello" * 50}[
            damage
        ]
    )
    with pytest.raises(StoreError, match="move it away") as caught:
        build(home)
    assert str(torn) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (home / "leaderboard.duckdb").read_bytes() == before
    torn.unlink()
    build(home)


def test_a_torn_transcript_is_said_to_come_back_from_its_journal(make_home: MakeHome) -> None:
    home = make_home()
    torn = home / "transcripts" / "benchmark=metamedqa" / "model=alpha" / "run=1" / "transcripts.parquet"
    torn.write_bytes(torn.read_bytes()[:-20])
    with pytest.raises(StoreError, match="journal"):
        build(home)


def test_a_file_written_before_a_column_existed_reads_as_null(make_home: MakeHome) -> None:
    home = make_home()
    for path in home.glob("observations/metamedqa/model=*/*.parquet"):
        pq.write_table(pq.ParquetFile(path).read().drop_columns(["off_menu_mass", "source_target"]), path)
    build(home)
    assert value(home, "select count(*) from stg_metamedqa_observations where off_menu_mass is null") == 96


def test_a_model_named_like_a_number_or_a_date_stays_text(make_home: MakeHome) -> None:
    home = make_home({"1": "measured", "2024-01-01": "measured"})
    build(home)
    found = run_query(home, "select distinct model from board_runs order by 1").rows
    assert found == (("1",), ("2024-01-01",))


def test_an_unreadable_old_board_is_moved_aside_and_said(make_home: MakeHome) -> None:
    home = make_home()
    (home / "leaderboard.duckdb").write_text("not a database")
    report = build(home)
    assert "leaderboard.unreadable.duckdb" in report.notes[0]
    assert (home / "leaderboard.unreadable.duckdb").read_text() == "not a database"
    assert value(home, "select count(*) > 0 from board") is True


def test_the_official_board_waits_for_every_partition_and_outlives_rebuilds(make_home: MakeHome) -> None:
    home = make_home(silent=["gamma"])
    build(home)
    with pytest.raises(StoreError, match=r"waits for 2 of.*gamma/run 1: missing"):
        publish_official(home)
    assert missing_partitions(home) == ["metamedqa/gamma/run 1: missing", "metamedqa/gamma/run 2: missing"]
    make_home(home=home)
    build(home)
    assert publish_official(home) == value(home, "select count(*) from board_official")
    before = run_query(home, "from board_official order by all")
    make_home(failing=["delta"], home=home)
    build(home)
    build(home, only=["board"])
    with pytest.raises(StoreError, match="delta/run 1: failed"):
        publish_official(home)
    assert run_query(home, "from board_official order by all") == before
    assert value(home, "select count(*) from board where model = 'delta'") != 0


def test_nothing_listed_is_not_complete(tmp_path: Path) -> None:
    build(tmp_path)
    with pytest.raises(StoreError, match="none is listed yet"):
        publish_official(tmp_path)


def test_publishing_without_a_board_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no leaderboard there yet"):
        publish_official(tmp_path)


@pytest.mark.parametrize(
    "name", ["plain", "with space", "q'uote", 'dou"ble', "ümlaut", "brackets[1]", "100%"]
)
def test_any_home_a_file_system_takes_can_be_used(make_home: MakeHome, tmp_path: Path, name: str) -> None:
    home = make_home(home=tmp_path / name)
    build(home)
    assert value(home, "select count(*) from 'observations/metamedqa/**/*.parquet'") == 96


@pytest.mark.parametrize("name", ["a,b", "star*"])
def test_a_home_duckdb_cannot_search_is_refused(make_home: MakeHome, tmp_path: Path, name: str) -> None:
    with pytest.raises(StudyError, match=r"study\.home"):
        build(make_home(home=tmp_path / name))


def test_a_home_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        build(tmp_path / "missing" / "home")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a/**/*.parquet", "a/_schema.parquet"),
        ("a/b/*.parquet", "a/b/_schema.parquet"),
        ("items/metamedqa*.parquet", "items/metamedqa_schema.parquet"),
        ("study/models.parquet", "study/models.parquet"),
    ],
)
def test_a_file_without_rows_is_found_by_its_own_pattern(tmp_path: Path, pattern: str, expected: str) -> None:
    assert str(shape_path(pattern)) == expected
    target = tmp_path / expected
    target.parent.mkdir(parents=True)
    pq.write_table(pa.table({"x": [1]}), target)
    with duckdb.connect(config={"file_search_path": str(tmp_path)}) as connection:
        assert connection.execute(f"select x from '{pattern}'").fetchall() == [(1,)]
