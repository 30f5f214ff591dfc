from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from metacog_pipeline.errors import StoreError
from metacog_pipeline.leaderboard.header import parse_header
from metacog_pipeline.leaderboard.models import LAYERS, load_models, load_project

SqlFolder = Callable[[dict[str, str]], Path]


def test_models_come_after_what_they_read(sql_folder: SqlFolder) -> None:
    folder = sql_folder(
        {
            "marts/a": "select * from b",
            "intermediate/b": "select * from stg_z",
            "staging/stg_z": "select 1 as x",
        }
    )
    assert [model.name for model in load_models(folder)] == ["stg_z", "b", "a"]


def test_the_shipped_files_are_in_order_and_described() -> None:
    project = load_project()
    seen: set[str] = set()
    for model in project.models:
        assert set(model.depends_on) <= seen, model.file
        assert model.layer in LAYERS
        assert model.description.startswith("One row:"), model.file
        assert "Key:" in model.description and "Source:" in model.description, model.file
        if model.layer != "intermediate":
            # Marts travel with a copy of the file, so they may not read the home.
            assert model.materialized == ("view" if model.layer == "staging" else "table"), model.file
        assert bool(model.datasets) == (model.layer == "staging"), model.file
        seen.add(model.name)
    assert {"board", "board_runs", "board_partitions", "published_metamedqa", "cost"} <= seen
    assert all(test.description for test in project.tests)


def test_keywords_of_the_shipped_files_are_lower_case() -> None:
    for model in load_models():
        body = "\n".join(line for line in model.sql.splitlines() if not line.strip().startswith("--"))
        assert not {"SELECT", "FROM", "WHERE", "JOIN", "WITH"} & set(body.split()), model.file


def test_every_mart_promises_a_key() -> None:
    for model in load_models():
        if model.layer == "marts":
            assert any(assertion.kind == "UNIQUE" for assertion in model.assertions), model.file


def test_an_unknown_table_is_named_with_the_closest_known_one(sql_folder: SqlFolder) -> None:
    folder = sql_folder({"staging/stg_items": "select 1 as x", "marts/board": "select * from stg_item"})
    with pytest.raises(StoreError, match=r"marts/board\.sql reads stg_item,.*did you mean stg_items\?"):
        load_models(folder)


def test_a_test_that_reads_an_unknown_table_is_named(sql_folder: SqlFolder) -> None:
    folder = sql_folder({"marts/board": "select 1 as x", "tests/no_gap": "select * from bored"})
    with pytest.raises(StoreError, match=r"tests/no_gap\.sql reads bored.*did you mean board"):
        load_models(folder)


@pytest.mark.parametrize(
    ("files", "circle"),
    [
        (
            {"marts/a": "select * from b", "marts/b": "select * from c", "marts/c": "select * from a"},
            ("a", "b", "c"),
        ),
        ({"marts/a": "select * from a"}, ("a",)),
    ],
)
def test_a_circle_is_named(sql_folder: SqlFolder, files: dict[str, str], circle: tuple[str, ...]) -> None:
    with pytest.raises(StoreError, match="circle") as caught:
        load_models(sql_folder(files))
    path = str(caught.value).split("circle: ")[1].split(";")[0].split(" -> ")
    assert set(path) == set(circle) and path[0] == path[-1]
    for reader, read in itertools.pairwise(path):
        assert f"from {read}" in files[f"marts/{reader}"]


def test_one_name_in_two_folders_is_refused(sql_folder: SqlFolder) -> None:
    folder = sql_folder({"staging/a": "select 1 as x", "marts/a": "select 2 as x"})
    with pytest.raises(StoreError, match=r"marts/a\.sql and staging/a\.sql both make a"):
        load_models(folder)


def test_a_file_name_that_is_no_table_name_is_refused(sql_folder: SqlFolder) -> None:
    with pytest.raises(StoreError, match="file name"):
        load_models(sql_folder({"marts/My-Table": "select 1 as x"}))


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no SQL file"):
        load_models(tmp_path)


def test_a_file_that_is_not_text_is_refused(sql_folder: SqlFolder) -> None:
    folder = sql_folder({"marts/a": "select 1 as x"})
    (folder / "marts" / "a.sql").write_bytes(b"select '\xff\xfe'")
    with pytest.raises(StoreError, match=r"marts/a\.sql: not readable as UTF-8"):
        load_models(folder)


def test_the_header_is_read_into_description_assertions_and_columns() -> None:
    header = parse_header(
        "-- One row: a thing,\n-- on two lines.\n-- materialized: view\n-- #UNIQUE(a, b)\n-- #NOT_NULL(a)\n"
        "-- #SET{kind: x y|z}\n-- columns:\n--   a: first\n--   b: second,\n--      goes on\nselect 1",
        "f.sql",
    )
    assert header.description == "One row: a thing, on two lines."
    assert header.materialized == "view"
    assert [str(each) for each in header.assertions] == ["#UNIQUE(a, b)", "#NOT_NULL(a)", "#SET{kind: x y|z}"]
    assert header.columns == (("a", "first"), ("b", "second, goes on"))


@pytest.mark.parametrize(
    "line",
    [
        "-- #UNIQ(a)",
        "-- #UNIQUE a",
        "-- #UNIQUE()",
        "-- #SET{a}",
        "-- #SET{a: }",
        "-- #NOTNULL(a)",
        "-- materialized: tabel",
    ],
)
def test_an_assertion_that_cannot_be_read_is_refused_with_its_line(line: str) -> None:
    with pytest.raises(StoreError, match=r"f\.sql:2"):
        parse_header(f"-- One row: x.\n{line}\nselect 1 as a", "f.sql")


def test_an_assertion_below_the_header_is_refused_because_it_would_not_run() -> None:
    with pytest.raises(StoreError, match=r"f\.sql:3.*opens the file"):
        parse_header("-- One row: x.\nselect 1 as a\n  -- #UNIQUE(a)\n", "f.sql")
