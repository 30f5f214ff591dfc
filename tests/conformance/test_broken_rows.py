"""A benchmark whose rows break a test of the board is left off it with the reason; the others are published."""

import shutil
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.errors import StoreError
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import run_query
from tests.homes import few_tables, write
from tests.leaderboard.conftest import new_home, write_study

NAME = "stranger"
KEY = {"dataset": "own", "condition": "plain", "model": "alpha", "source": "measured"}
NUMBER = {**KEY, "measure": "coverage", "estimate": 1.0, "coverage": 1.0, "n": 2, "status": "ok"}
ANSWER = {
    **KEY,
    "run": 1,
    "item_id": "i0",
    "cluster": "i0",
    "correct": 1.0,
    "confidence": 0.5,
    "reading": "ok",
}
ITEMS = [{"item_id": f"i{n}", "dataset": "own", "position": n, "question": "?"} for n in range(2)]
VALUE = {"place": "Table 1", "dataset": "own", "model": "beta", "measure": "wit", "value": 0.5}
CLAIM = {"place": "Table 1", "subject": "beta", "quantity": "wit", "method": "counts", "verdict": "holds"}
TEST = {**KEY, "measure": "m", "a": "x", "b": "y", "primary": True}
FILES = {
    "items/{}.parquet": ITEMS,
    "harmonised/{}/model=alpha/run=1.parquet": [ANSWER],
    "estimates/{}/models/alpha.parquet": [NUMBER],
    "estimates/{}/comparisons/comparisons.parquet": [],
    "estimates/{}/published/published_values.parquet": [VALUE],
    "estimates/{}/published/published_claims.parquet": [CLAIM],
}
ASKED, ANSWERS, NUMBERS, TESTS, PRINTED, CLAIMS = FILES
#: The rows of one file that break a test, and words of the reason.
BROKEN: dict[str, tuple[str, list[dict[str, Any]], str]] = {
    "an_item_twice": (ASKED, [ITEMS[0], ITEMS[0]], "#UNIQUE(benchmark, item_id)"),
    "a_confidence_of_85": (ANSWERS, [{**ANSWER, "confidence": 85.0}], "confidence=85.0"),
    "a_number_without_end": (NUMBERS, [{**NUMBER, "low": 0.5}], "leaderboard_numbers_are_whole"),
    "a_coverage_of_2": (NUMBERS, [{**NUMBER, "coverage": 2.0}], "coverage_is_a_share"),
    "two_primary_tests": (TESTS, [{**TEST, "family": family} for family in "fg"], "one_primary_test"),
    "a_printed_value_without_place": (PRINTED, [VALUE, {**VALUE, "place": None}], "#NOT_NULL("),
    "a_printed_share_of_91": (PRINTED, [{**VALUE, "value": 91.0, "unit": "percent"}], "values_in_range"),
    "a_claim_without_verdict": (CLAIMS, [{**CLAIM, "verdict": None}], "#NOT_NULL("),
}
OF_ANSWERS = ("items", "answers", "estimates", "leaderboard")
SHARED = (*OF_ANSWERS, "published_values", "published_claims", "comparisons")


def written(home, file, rows, name=NAME):
    write(home, file.format(name), [{"benchmark": name, **row} if file != ASKED else row for row in rows])


def made(folder, names):
    home = new_home(Home(folder / "home"), None, "sample", (), 1)
    write_study(home, dict.fromkeys(("alpha", "beta"), "measured"), ("metamedqa", *names))
    for name, (file, rows) in product(names, FILES.items()):
        written(home, file, rows, name)
    return home


@pytest.fixture(scope="module", autouse=True)
def few():
    with pytest.MonkeyPatch.context() as patch:
        few_tables(patch, *SHARED, "costs", "metamedqa_twice", tested=True)
        yield


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Return a home with a board on which nothing is broken, and how many rows of `metamedqa` it shows."""
    home = made(tmp_path_factory.mktemp("sound"), [NAME])
    build(home)
    return home, whole(home)


@pytest.fixture
def home(sound, tmp_path):
    return Home(shutil.copytree(sound[0].path, tmp_path / "home"))


def breaks(home, what, name=NAME):
    """Write the rows that break a test; return words of the reason."""
    file, rows, said = BROKEN[what]
    written(home, file, rows, name)
    return said


def count(home, table, benchmark):
    [[found]] = run_query(home, f"select count(*) from {table} where benchmark = '{benchmark}'").rows
    return found


def whole(home):
    """Return how many rows of the sound benchmark each shared table has."""
    return {table: count(home, table, "metamedqa") for table in OF_ANSWERS}


def test_each_benchmark_whose_rows_break_a_test_is_left_off(sound, tmp_path):
    home = made(tmp_path, [NAME, *BROKEN])
    said = {what: breaks(home, what, what) for what in BROKEN}
    failures = build(home).failures
    assert failures.keys() == BROKEN.keys()
    for what, why in failures.items():
        assert said[what] in why and "correct what the benchmark returns" in why
    assert not any(count(home, table, what) for table, what in product(SHARED, BROKEN))
    assert count(home, "answers", NAME) == 1 and whole(home) == sound[1] and all(sound[1].values())


def test_what_its_answers_cost_stays_and_it_comes_back_when_it_is_mended(home):
    call = {"benchmark": NAME, "model": "alpha", "run": 1, "answer_id": "c", "status": "ok", "cost_usd": 2.5}
    write(home, f"transcripts/benchmark={NAME}/model=alpha/run=1/transcripts.parquet", [call])
    said = breaks(home, "a_confidence_of_85")
    assert build(home).failures.keys() == {NAME}
    assert run_query(home, f"select cost_usd from costs where benchmark = '{NAME}'").rows == ((2.5,),)
    reasons = "select one.name, one.reason from (select unnest(tables) as one from snapshot) where one.reason is not null"
    [(name, kept)] = run_query(home, reasons).rows
    assert name == NAME and said in str(kept)
    written(home, ANSWERS, [ANSWER])
    assert build(home).failures == {} and count(home, "answers", NAME) == 1


def test_the_old_board_stays_where_nobody_else_is_asked(home):
    write_study(home, dict.fromkeys(("alpha", "beta"), "measured"), (NAME,))
    before, said = home.leaderboard.read_bytes(), breaks(home, "a_coverage_of_2")
    with pytest.raises(StoreError, match="the board was left as it was") as caught:
        build(home)
    assert said in str(caught.value) and home.leaderboard.read_bytes() == before


def test_rows_under_the_name_of_another_are_the_fault_of_whose_file_they_are_in(home, sound):
    written(home, PRINTED, [{**VALUE, "benchmark": "metamedqa", "place": None}])
    assert build(home).failures.keys() == {NAME} and whole(home) == sound[1]


def test_what_every_benchmark_breaks_is_the_fault_of_the_table(home):
    before = home.leaderboard.read_bytes()
    breaks(home, "an_item_twice")
    write(home, "items/metamedqa.parquet", [{"item_id": "i", "dataset": "sample", "position": 0}] * 2)
    with pytest.raises(StoreError, match="the board was left as it was"):
        build(home)
    assert home.leaderboard.read_bytes() == before


def test_a_table_of_one_benchmark_that_breaks_its_test_is_empty_and_says_why(home, sound, tmp_path):
    folder = shutil.copytree(Path(__file__).parents[2] / "dbt_like_sql", tmp_path / "sql")
    own = folder / "benchmarks/metamedqa/metamedqa_twice.sql"
    twice = "-- One row: one.\n-- Key: dataset.\n-- Source: none.\nselect 'a' as dataset from range(2)\n"
    own.write_text(twice)
    [(empty, why)] = build(home, folder=folder).failures.items()
    assert empty == "metamedqa_twice" and "#UNIQUE(dataset)" in why
    assert run_query(home, "from metamedqa_twice").rows == () and whole(home) == sound[1]
