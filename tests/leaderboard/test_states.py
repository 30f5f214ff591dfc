"""What the board says of partitions: counts of the model that is asked now, and a new board when only a reason changed."""

import pytest

from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import run_query
from metacog_pipeline.leaderboard.status import write_status
from metacog_pipeline.scoring.staleness import leaderboard_digest, leaderboard_stale, note_leaderboard
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts.store import PartitionFolder, write_manifest
from tests.homes import few_tables
from tests.studies import write_study

WHEN = "2026-01-02T00:00:00+00:00"
FAILED = {"state": "failed", "n_answered": 7, "finished_at": WHEN, "message": "no connection"}


@pytest.fixture(autouse=True)
def few(monkeypatch):
    few_tables(monkeypatch, "models", "progress")


@pytest.fixture
def study(tmp_path):
    made = load_study(write_study(tmp_path, {"name": "m", "provider": "simulated"}))
    made.prepare()
    return made


def stopped(study, **said):
    """Write down how the session of the only partition ended, then a board of it; return what it says."""
    write_manifest(PartitionFolder(study.home, "metamedqa", "m", 1), {**FAILED, **said})
    current = not leaderboard_stale(study)
    told = leaderboard_digest(study)
    write_status(study)
    build(study.home)
    note_leaderboard(study, told)
    assert not leaderboard_stale(study)
    [row] = run_query(study.home, "select state, n_answered, message from progress").rows
    return current, row


def test_a_session_that_ended_for_another_reason_makes_the_board_stale(study):
    assert stopped(study) == (False, ("failed", 7, "no connection"))
    assert stopped(study) == (True, ("failed", 7, "no connection"))
    again = stopped(study, message="out of money", finished_at="2026-01-03T00:00:00+00:00")
    assert again == (False, ("failed", 7, "out of money"))


def test_answers_of_a_model_that_was_another_count_for_nothing(study):
    _, (_, answered, message) = stopped(study, asked_as="another model")
    assert answered == 0 and "has changed since it was asked" in message


def test_a_server_that_says_its_answers_are_simulated_is_listed_so(study):
    text = study.path.read_text().replace('provider = "simulated"', 'provider = "openai"\nmodel = "x"')
    study.path.write_text(text)
    stopped(load_study(study.path), source="simulated")
    assert run_query(study.home, "select model, source from models").rows == (("m", "simulated"),)
