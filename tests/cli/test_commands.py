"""What each command gives a user who makes no mistake."""

import csv
import io
import json
import re
import shlex
import shutil
from pathlib import Path

from metacog_pipeline.files import shipped
from metacog_pipeline.scoring import staleness
from metacog_pipeline.study import load_study

COLUMNS = [
    "benchmark", "condition", "model", "measure", "estimate", "low", "high", "n", "n_failed", "n_unreadable", "coverage",
    "method", "status", "low_n", "source", "headline", "higher_is_better", "rank", "percentile",
]  # fmt: skip


def test_the_board_as_json_is_a_list_of_objects_with_exactly_the_board_columns(metacog, finished):
    result = metacog("board", "--all", "--study", finished, "--format", "json")
    rows = json.loads(result.out)
    assert result.code == 0
    assert {tuple(row) for row in rows} == {tuple(COLUMNS)}
    assert {row["source"] for row in rows} == {"simulated"}
    measures = {row["measure"] for row in rows}
    named = """accuracy mean_confidence high_confidence_accuracy medium_confidence_accuracy low_confidence_accuracy
    missing_answer_recall unknown_recall fictional_accuracy malformed_accuracy positive_confidence negative_confidence
    weighted_accuracy ece brier auroc2 coverage choice_share_A choice_share_B choice_share_C choice_share_D
    choice_share_E choice_share_F"""
    assert set(named.split()) <= measures


def test_the_board_comes_as_csv_and_table(metacog, finished):
    text = metacog("board", "metamedqa", "--study", finished, "--format", "csv").out
    assert next(csv.reader(io.StringIO(text))) == COLUMNS
    table = metacog("board", "--all", "--study", finished).out
    assert "simulated observers" in table
    assert "Question set: sample" in table


def test_a_second_run_asks_nothing_and_says_so(metacog, finished):
    result = metacog("run", finished)
    assert result.code == 0
    assert "everything is up to date" in result.err
    assert not staleness.stale(load_study(finished))
    assert metacog("plan", finished).out.count("To ask: 0 calls") == 1


def test_a_board_that_was_damaged_is_built_again(metacog, finished, few_resamples):
    before, board = metacog("board", "--study", finished).out, load_study(finished).home.leaderboard
    content = bytearray(board.read_bytes())
    content[len(content) // 2] ^= 0xFF
    board.write_bytes(content)
    assert metacog("run", finished, "--quiet").code == 0
    assert metacog("board", "--study", finished).out == before


def test_sql_answers_in_every_format_and_lists_tables_from_standard_input(metacog, finished, monkeypatch):
    query = "select count(*) as n from leaderboard where measure = 'accuracy'"
    assert json.loads(metacog("sql", query, "--study", finished, "--format", "json").out) == [{"n": 1}]
    assert metacog("sql", query, "--study", finished, "--format", "csv").out == "n\n1\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(query))
    assert metacog("sql", "--study", finished, "--format", "csv").out == "n\n1\n"


def test_sources_are_fetched_from_a_folder_once(metacog, study, medqa):
    assert "nothing to fetch" in metacog("doctor", study, "--fetch").out
    study.write_text(study.read_text().replace('"sample"', '"published"'))
    first = metacog("doctor", study, "--fetch", "--from", medqa.parent)
    assert first.code == 0
    assert "medqa: 1273 rows" in first.out
    assert "metamedqa: 1373 rows" in first.out
    assert "already here" in metacog("doctor", study, "--fetch").out


LONGEST_SCREEN = 25


def test_the_demo_ends_with_who_does_best_and_costs_nothing_twice(metacog, done_once, tmp_path):
    """On a folder in which somebody has made the study smaller; tests/test_packaging.py runs it as it is shipped."""
    folder = shutil.copytree(done_once, tmp_path / "demo")
    shown = metacog("demo", "--folder", folder)
    assert shown.code == 0 and "everything is up to date" in shown.err
    assert "not a result about any real model" in shown.out
    assert re.search(r"Knows what it knows.*\n +metamedqa, baseline: AUROC2", shown.out)
    assert len(shown.out.splitlines()) <= LONGEST_SCREEN
    _, _, hint = shown.out.rpartition("Next: metacog ")
    assert metacog(*shlex.split(hint)).code == 0, "the command it ends with is one that works"
    report = re.search(r"Report: +(.+)", shown.out)
    assert report is not None and Path(report[1]).is_file()


def test_the_demo_copies_its_study_and_ends_as_its_run_does(metacog, tmp_path, monkeypatch):
    monkeypatch.setattr("metacog_pipeline.cli.running.launch", lambda study, **how: 7)
    assert metacog("demo", "--folder", tmp_path / "demo").code == 7
    copied = tmp_path / "demo" / "study.toml"
    assert copied.read_bytes() == shipped("data", "demo", "study.toml").read_bytes()
    assert len(load_study(copied).models) == 4
