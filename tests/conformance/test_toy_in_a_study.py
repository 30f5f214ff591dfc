"""A stranger's installed benchmark stands on every board and page; no other file is touched for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

STUDY = """
[study]
name = "toy"
home = "home"
seed = 1

[[models]]
name = "careful"
provider = "simulated"
observer = { accuracy = 0.9, seed = 1 }

[[models]]
name = "hasty"
provider = "simulated"
observer = { accuracy = 0.5, seed = 2 }

[benchmarks.sometrivia]
sums = 12
"""
NODES = """
import json
from metacog_assets.definitions import defs
graph = defs.resolve_asset_graph()
print(json.dumps(sorted(key.to_user_string() for key in graph.get_all_asset_keys())))
"""
pytestmark = pytest.mark.slow


def python(folder: Path, toy: Path, *arguments: str) -> str:
    """Run Python with the toy installed and the study named; return what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(toy), "METACOG_STUDY": str(folder / "study.toml")}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, toy_folder: Path) -> Path:
    """Return the home of a finished study of the toy."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "study.toml").write_text(STUDY)
    python(folder, toy_folder, "-m", "metacog_pipeline", "run", "study.toml", "--quiet")
    return folder / "home"


def rows(home: Path, sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(home / "leaderboard.duckdb"), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def test_it_stands_on_the_shared_tables(home: Path) -> None:
    accuracy = (
        "select model from leaderboard where benchmark = 'sometrivia' and measure = 'accuracy' order by model"
    )
    assert rows(home, accuracy) == [("careful",), ("hasty",)]
    assert rows(home, "select a, b from comparisons where benchmark = 'sometrivia'") == [("careful", "hasty")]
    assert rows(home, "select count(*) from responses where benchmark = 'sometrivia'") == [(24,)]
    assert rows(home, "select count(*) > 0 from calibration where benchmark = 'sometrivia'") == [(True,)]
    assert rows(home, "select count(*) from items where benchmark = 'sometrivia'") == [(12,)]
    assert rows(home, "select headline from measures where measure = 'accuracy'") == [(True,)]


def test_its_own_tables_stand_beside(home: Path) -> None:
    assert rows(home, "select count(*) from detail.sometrivia_responses") == [(24,)]
    wrong = rows(home, "select count(*) from detail.sometrivia_responses where correct = 0")
    assert rows(home, "select count(*) from detail.sometrivia_mistakes") == wrong


def test_it_has_a_board_and_a_part_of_the_report(home: Path, toy_folder: Path) -> None:
    board = python(home.parent, toy_folder, "-m", "metacog_pipeline", "board", "--study", "study.toml")
    assert "sometrivia" in board and "careful" in board
    python(home.parent, toy_folder, "-m", "metacog_pipeline", "report", "study.toml")
    page = (home / "report" / "index.html").read_text("utf-8")
    assert "Sums that were &lt;asked&gt;." in page


def test_its_numbers_are_explained_and_come_out_again(home: Path, toy_folder: Path) -> None:
    explain = ("-m", "metacog_pipeline", "explain", "study.toml", "sometrivia", "asked", "careful")
    for measure, words in {
        "accuracy": "Share of right sums.",
        "harmonised_brier": "mean of (conf - y)²",
    }.items():
        said = python(home.parent, toy_folder, *explain, measure)
        assert words in said and "equals the board" in said and "sum-0" in said


def test_its_assets_are_in_the_graph(home: Path, toy_folder: Path) -> None:
    names = json.loads(python(home.parent, toy_folder, "-c", NODES).splitlines()[-1])
    assert {
        "sometrivia_items",
        "sometrivia_transcripts",
        "sometrivia_responses",
        "sometrivia_comparisons",
    } <= {*names}
