"""Answers as files, the data dictionary, and the worked queries."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from metacog_pipeline.errors import StoreError, StudyError
from metacog_pipeline.leaderboard import build
from metacog_pipeline.leaderboard.dictionary import dictionary
from metacog_pipeline.leaderboard.export import export_query
from metacog_pipeline.leaderboard.models import load_project
from metacog_pipeline.leaderboard.read import run_query

ROOT = Path(__file__).resolve().parents[2]
MakeHome = Callable[..., Path]
QUERIES = re.findall(r"```sql\n(.*?)```", (ROOT / "docs" / "queries.md").read_text("utf-8"), re.DOTALL)


@pytest.fixture
def home(make_home: MakeHome) -> Path:
    made = make_home({"alpha": "measured", "beta": "measured"}, conditions=("baseline", "role-full"))
    build(made)
    return made


def test_an_answer_is_the_same_in_every_file(home: Path, tmp_path: Path) -> None:
    sql = "select benchmark, model, measure, estimate, n from board where estimate is not null order by all"
    expected = run_query(home, sql).rows
    for kind in ("parquet", "csv", "json"):
        assert export_query(home, sql, tmp_path / f"board.{kind}") == len(expected) > 0
    table = pq.read_table(tmp_path / "board.parquet")
    assert [tuple(row.values()) for row in table.to_pylist()] == list(expected)
    assert str(table.schema.field("estimate").type) == "double"
    with (tmp_path / "board.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["model"], float(row["estimate"])) for row in rows] == [(row[1], row[3]) for row in expected]
    assert [row["n"] for row in json.loads((tmp_path / "board.json").read_text())] == [
        row[4] for row in expected
    ]


def test_a_formula_in_a_text_is_quoted_and_a_negative_number_is_not(home: Path, tmp_path: Path) -> None:
    export_query(home, "select '=1+1' as said, -2.5 as value", tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text().splitlines()[1] == "'=1+1,-2.5"


@pytest.mark.parametrize("name", ["board.xlsx", "board", "board.parquet.exe"])
def test_another_suffix_is_one_line(home: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(StudyError, match=r"ends in \.parquet, \.csv, \.json"):
        export_query(home, "select 1", tmp_path / name)


def test_a_place_that_cannot_be_written_and_a_query_that_writes_are_refused(
    home: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        export_query(home, "select 1", tmp_path / "file" / "x.csv")
    with pytest.raises(StudyError, match="not allowed"):
        export_query(home, "create table t as select 1", tmp_path / "x.parquet")
    assert not (tmp_path / "x.parquet").exists()


def test_the_dictionary_names_every_table_and_the_shipped_one_is_current() -> None:
    made = dictionary()
    assert all(f"### {model.name}\n" in made for model in load_project().models)
    kept = ROOT / "docs" / "dictionary.md"
    if os.environ.get("METACOG_UPDATE_README"):
        kept.write_text(made, encoding="utf-8")
    assert kept.read_text("utf-8") == made, (
        "run METACOG_UPDATE_README=1 pytest tests/leaderboard/test_exporting.py"
    )


def test_there_are_ten_worked_queries() -> None:
    assert len(QUERIES) == 10


@pytest.mark.parametrize("sql", QUERIES, ids=lambda sql: sql.strip().splitlines()[0][:60])
def test_a_worked_query_runs_and_starts_with_its_question(home: Path, sql: str) -> None:
    assert sql.startswith("-- ") and sql.splitlines()[0].endswith("?")
    found = run_query(home, sql)
    assert found.columns


@pytest.mark.parametrize("sql", QUERIES[:4], ids=lambda sql: sql.strip().splitlines()[0][:60])
def test_the_first_queries_answer_from_any_study(home: Path, sql: str) -> None:
    assert run_query(home, sql).rows


def test_the_notebook_runs_from_top_to_bottom(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METACOG_HOME", str(home))
    monkeypatch.setenv("MPLBACKEND", "agg")
    notebook = json.loads((ROOT / "docs" / "first_look.ipynb").read_text("utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 5
    assert not any(cell.get("outputs") for cell in notebook["cells"])
    names: dict[str, object] = {}
    for cell in cells:
        exec(compile(cell, "first_look.ipynb", "exec"), names)
    assert names["board"].height > 0
