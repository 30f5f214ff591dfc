"""Every number of version 0.1 has a place: the map of its 145 tables, and what papers print, to the last bit."""

import shutil
import sys
from pathlib import Path

import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import one_connection, query_table, run_query

sys.path.insert(0, str(Path(__file__).parents[1] / "frozen"))
import compare  # type: ignore[import-not-found]

#: Need no answers: they are the same in every home.
PRINTED = (
    *("published_metamedqa", "published_signaldetection", "published_medley", "published_selfknowledge"),
    *("published_comparisons_medley", "published_verification_medley"),
)


def test_every_table_of_version_0_1_has_an_entry_with_a_digest_or_a_reason():
    entries = compare.entries()
    assert len(entries) == 145
    assert {name for name, entry in entries.items() if "sql" in entry} == compare.kept().keys()
    assert all(entry.get("dropped") or entry.get("sql") for entry in entries.values())


@pytest.fixture(scope="module")
def home(built_once, printed, tmp_path_factory):
    """Read only: one for all tests."""
    made = Home(shutil.copytree(built_once.path, tmp_path_factory.mktemp("numbers") / "home"))
    shutil.copytree(printed, made / "estimates", dirs_exist_ok=True)
    build(made)
    with one_connection(made):
        yield made


def test_every_query_of_the_map_runs(home):
    run_query(home, "from leaderboard")
    for name, entry in compare.entries().items():
        if "sql" in entry and name != "stg_medley_instances":  # one needs responses
            query_table(home, entry["sql"])


@pytest.mark.parametrize("name", PRINTED)
def test_printed_numbers_are_those_of_version_0_1(home, name):
    assert compare.digest(query_table(home, compare.entries()[name]["sql"])) == compare.kept()[name]
