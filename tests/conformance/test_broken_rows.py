"""Rows of one benchmark that break a test of the board are left out with the reason; those of the others are published."""

import shutil
from pathlib import Path

import pytest

from metacog_pipeline.errors import StoreError
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import run_query
from tests.homes import write
from tests.leaderboard.conftest import new_home, write_study

NAME = "stranger"
KEY = {"benchmark": NAME, "dataset": "own", "condition": "plain", "model": "alpha", "source": "measured"}
NUMBER = {**KEY, "measure": "coverage", "estimate": 1.0, "coverage": 1.0, "n": 2, "status": "ok"}
ANSWER = {**KEY, "run": 1, "item_id": "i0", "cluster": "i0", "correct": 1.0, "confidence": 0.5}
ITEMS = [{"item_id": f"i{n}", "dataset": "own", "position": n, "question": "?"} for n in range(2)]
FILES = {
    "items": f"items/{NAME}.parquet",
    "answers": f"harmonised/{NAME}/model=alpha/run=1.parquet",
    "numbers": f"estimates/{NAME}/models/alpha.parquet",
    "tests": f"estimates/{NAME}/comparisons/comparisons.parquet",
    "printed": f"estimates/{NAME}/published/published_values.parquet",
    "claims": f"estimates/{NAME}/published/published_claims.parquet",
}
VALUE = {
    "benchmark": NAME,
    "place": "Table 1",
    "dataset": "own",
    "model": "beta",
    "measure": "wit",
    "value": 0.5,
}
CLAIM = {
    "benchmark": NAME,
    "place": "Table 1",
    "subject": "beta",
    "quantity": "wit",
    "method": "counts",
    "verdict": "holds",
}
SOUND = {
    "items": ITEMS, "answers": [ANSWER], "numbers": [NUMBER], "tests": [], "printed": [VALUE], "claims": [CLAIM],
}  # fmt: skip
#: The rows of one file that break a test → the tables that go without the benchmark, and words of the reason.
BROKEN = {
    "an item twice": ("items", [ITEMS[0], ITEMS[0]], {"items"}, "#UNIQUE(benchmark, item_id)"),
    "an item without data set": ("items", [{**ITEMS[0], "dataset": None}, ITEMS[1]], {"items"}, "#NOT_NULL(benchmark"),
    "a confidence of 85": ("answers", [{**ANSWER, "confidence": 85.0}], {"responses"}, "confidence=85.0"),
    "a confidence below 0": ("answers", [{**ANSWER, "confidence": -0.1}], {"responses"}, "responses_have_a_verdict"),
    "half right": ("answers", [{**ANSWER, "correct": 0.5}], {"responses"}, "correct=0.5"),
    "an answer twice": ("answers", [ANSWER, ANSWER], {"responses"}, "#UNIQUE("),
    "a number twice": ("numbers", [NUMBER, NUMBER], {"estimates", "leaderboard"}, "#UNIQUE("),
    "a number without end": ("numbers", [{**NUMBER, "low": 0.5}], {"leaderboard"}, "leaderboard_numbers_are_whole"),
    "a coverage of 2": ("numbers", [{**NUMBER, "coverage": 2.0}], {"leaderboard"}, "coverage_is_a_share"),
    "two primary tests": (
        "tests",
        [{**KEY, "family": family, "measure": "m", "a": "x", "b": "y", "primary": True} for family in "fg"],
        {"comparisons"},
        "one_primary_test",
    ),
    "a printed value without place": ("printed", [VALUE, {**VALUE, "place": None}], {"published_values"}, "#NOT_NULL("),
    "a printed share of 91": (
        "printed", [{**VALUE, "value": 91.0, "unit": "percent"}], {"published_values"}, "values_in_range",
    ),
    "a claim without verdict": ("claims", [{**CLAIM, "verdict": None}], {"published_claims"}, "#NOT_NULL("),
}  # fmt: skip


@pytest.fixture
def home(tmp_path):
    made = new_home(Home(tmp_path / "home"), None, "sample", (), 1)
    write_study(made, dict.fromkeys(("alpha", "beta"), "measured"), ("metamedqa", NAME))
    for what, rows in SOUND.items():
        write(made, FILES[what], rows)
    return made


def count(home, table, benchmark):
    [[found]] = run_query(home, f"select count(*) from {table} where benchmark = '{benchmark}'").rows
    return found


def whole(home):
    """Return how many rows of the sound benchmark each shared table has."""
    return {
        table: count(home, table, "metamedqa") for table in ("items", "responses", "estimates", "leaderboard")
    }


@pytest.mark.parametrize("what", BROKEN)
def test_rows_that_break_a_test_leave_alone(home, what):
    build(home)
    before = whole(home)
    assert all(before.values())
    file, rows, tables, said = BROKEN[what]
    write(home, FILES[file], rows)
    report = build(home)
    assert {each.name for each in report.failures} == {f"{table} of {NAME}" for table in tables}
    assert all(
        said in str(each.reason) and "mend what the benchmark returns" in str(each.reason)
        for each in report.failures
    )
    assert not any(count(home, table, NAME) for table in tables)
    assert whole(home) == before


@pytest.mark.parametrize("what", BROKEN)
def test_they_are_left_out_where_nobody_else_is_asked_too(home, what):
    write_study(home, dict.fromkeys(("alpha", "beta"), "measured"), (NAME,))
    build(home)
    shared = ("items", "responses", "estimates", "leaderboard", "published_values", "published_claims")
    before = {table: count(home, table, NAME) for table in shared}
    assert all(before.values())
    file, rows, tables, _ = BROKEN[what]
    write(home, FILES[file], rows)
    assert {each.name for each in build(home).failures} == {f"{table} of {NAME}" for table in tables}
    assert not any(count(home, table, NAME) for table in tables)
    others = set(shared) - tables - {"leaderboard"}
    assert all(count(home, table, NAME) == before[table] for table in others)


def test_it_is_found_again_until_it_is_mended_and_comes_back_then(home):
    write(home, FILES["answers"], [{**ANSWER, "confidence": 85.0}])
    for _ in range(2):
        assert [each.name for each in build(home).failures] == [f"responses of {NAME}"]
    told = run_query(
        home,
        "select one.name, one.reason from (select unnest(tables) as one from detail.snapshot) "
        "where one.reason is not null and one.rows > 0",
    ).rows
    assert [name for name, _ in told] == ["responses"]
    write(home, FILES["answers"], [ANSWER])
    assert build(home).failures == () and count(home, "responses", NAME) == 1


def test_several_faults_are_told_of_one_build(home):
    write(home, FILES["answers"], [{**ANSWER, "confidence": 85.0}])
    write(home, FILES["items"], [ITEMS[0], ITEMS[0]])
    assert {each.name for each in build(home).failures} == {f"responses of {NAME}", f"items of {NAME}"}


def test_what_every_one_of_several_benchmarks_breaks_is_the_fault_of_the_table(home):
    build(home)
    before = (home / "leaderboard.duckdb").read_bytes()
    write(home, FILES["items"], [ITEMS[0], ITEMS[0]])
    write(home, "items/metamedqa.parquet", [{"item_id": "i", "dataset": "sample", "position": 0}] * 2)
    with pytest.raises(StoreError, match="the board was left as it was"):
        build(home)
    assert (home / "leaderboard.duckdb").read_bytes() == before


def test_a_table_of_one_benchmark_that_breaks_its_test_is_empty_and_says_why(home, tmp_path):
    build(home)
    before = whole(home)
    folder = shutil.copytree(Path(__file__).parents[2] / "dbt_like_sql", tmp_path / "sql")
    own = folder / "benchmarks/metamedqa/metamedqa_twice.sql"
    own.write_text(
        "-- One row: one.\n-- Key: dataset.\n-- Source: none.\nselect 'a' as dataset from range(2)\n"
    )
    [failed] = build(home, folder=folder).failures
    assert failed.name == "metamedqa_twice" and "#UNIQUE(dataset)" in str(failed.reason)
    assert run_query(home, "from metamedqa_twice").rows == () and whole(home) == before
