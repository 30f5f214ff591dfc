"""The queries and the notebook of the documents run on a leaderboard."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import run_query

ROOT = Path(__file__).resolve().parents[2]
QUERIES = re.findall(r"```sql\n(.*?)```", (ROOT / "docs" / "queries.md").read_text("utf-8"), re.DOTALL)
MakeHome = Callable[..., Path]


@pytest.fixture
def home(make_home: MakeHome) -> Path:
    made = make_home({"alpha": "measured", "beta": "measured"})
    build(made)
    return made


def test_there_are_ten_worked_queries() -> None:
    assert len(QUERIES) == 10


def test_every_worked_query_runs_and_starts_with_its_question(home: Path) -> None:
    for sql in QUERIES:
        assert sql.startswith("-- ") and sql.splitlines()[0].endswith("?")
        assert run_query(home, sql).columns, sql


def test_the_first_queries_answer_from_any_study(home: Path) -> None:
    assert all(run_query(home, sql).rows for sql in QUERIES[:3])


def test_the_notebook_runs_from_top_to_bottom(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METACOG_HOME", str(home))
    monkeypatch.setenv("MPLBACKEND", "agg")
    notebook = json.loads((ROOT / "docs" / "first_look.ipynb").read_text("utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 5 and not any(cell.get("outputs") for cell in notebook["cells"])
    names: dict[str, object] = {}
    for cell in cells:
        exec(compile(cell, "first_look.ipynb", "exec"), names)
    assert names["board"].height > 0
