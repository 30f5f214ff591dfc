"""A stranger's installed benchmark stands on every board and page; no other file is touched for it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tests.conformance.packages import TWO_MODELS

STUDY = (
    TWO_MODELS
    + """
[benchmarks.sometrivia]
sums = 12
"""
)
SAID = """
import contextlib, io, json, sys
from metacog_pipeline.cli import main
said = []
for arguments in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            main(arguments)
        except SystemExit as ended:
            assert not ended.code, (arguments, ended.code)
    said.append(out.getvalue())
from metacog_assets.definitions import defs
graph = defs.resolve_asset_graph()
print(json.dumps([said, sorted(key.to_user_string() for key in graph.get_all_asset_keys())]))
"""
MEASURES = {"accuracy": "Share right.", "harmonised_brier": "mean of (conf - y)²"}
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
def home(tmp_path_factory, toy_folder):
    """Return the home of a finished study of the toy."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "study.toml").write_text(STUDY)
    python(folder, toy_folder, "-m", "metacog_pipeline", "run", "study.toml", "--quiet")
    return folder / "home"


@pytest.fixture(scope="module")
def said(home, toy_folder):
    """What its board, its report and two explanations print, and its assets: of one process that finds it installed."""
    explained = [["show", "study.toml", "sometrivia", "asked", "careful", each] for each in MEASURES]
    asked = json.dumps([["board", "--study", "study.toml"], ["report", "study.toml"], *explained])
    printed, names = json.loads(python(home.parent, toy_folder, "-c", SAID, asked).splitlines()[-1])
    return printed, names


def rows(home: Path, sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(home / "leaderboard.duckdb"), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def test_it_stands_on_the_shared_tables(home):
    accuracy = (
        "select model from leaderboard where benchmark = 'sometrivia' and measure = 'accuracy' order by model"
    )
    assert rows(home, accuracy) == [("careful",), ("hasty",)]
    assert rows(home, "select distinct a, b from comparisons where benchmark = 'sometrivia'") == [
        ("careful", "hasty")
    ]
    assert rows(home, "select count(*) from answers where benchmark = 'sometrivia'") == [(24,)]
    assert rows(home, "select count(*) > 0 from calibration where benchmark = 'sometrivia'") == [(True,)]
    assert rows(home, "select count(*) from items where benchmark = 'sometrivia'") == [(12,)]
    assert rows(home, "select headline from measures where measure = 'accuracy'") == [(True,)]


def test_its_responses_stand_beside_and_its_own_tables_are_files(home):
    assert rows(home, "select count(*) from detail.sometrivia_responses") == [(24,)]
    wrong = rows(home, "select count(*) from detail.sometrivia_responses where correct = 0")
    assert rows(home, f"select count(*) from '{home}/estimates/sometrivia/mistakes/*.parquet'") == wrong


def test_it_has_a_board_and_a_part_of_the_report(home, said):
    board = said[0][0]
    assert "sometrivia" in board and "careful" in board
    page = (home / "report" / "index.html").read_text("utf-8")
    assert "Sums that were &lt;asked&gt;." in page


def test_its_numbers_are_explained(said):
    for words, printed in zip(MEASURES.values(), said[0][2:], strict=True):
        assert words in printed and "SQL of it" in printed


def test_its_assets_are_in_the_graph(said):
    assert {
        "sometrivia/items",
        "sometrivia/transcripts",
        "sometrivia/responses",
        "sometrivia/comparisons",
    } <= {*said[1]}
