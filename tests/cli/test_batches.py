"""``metacog status --batches``, and ``metacog run`` through batches: stopped, started, listed, given up."""

import json
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Metacog
from tests.simulated_server import ServerThread
from tests.studies import metamedqa, write_study

pytestmark = pytest.mark.usefixtures("few_resamples")


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("CANARY_KEY", "sk-canary-0123456789abcdef")
    with ServerThread(lambda name, request: "Answer: A\nConfidence: 3") as started:
        yield started


@pytest.fixture
def study(server, tmp_path):
    model = {
        "name": "m", "provider": "openai", "model": "m", "base_url": f"{server.url}/v1", "api_key_env": "CANARY_KEY",
        "price_in": 1.0, "price_out": 2.0, "answer_mode": "text", "batch_factor": 0.5,
    }  # fmt: skip
    return write_study(tmp_path, model, benchmarks=metamedqa(limit=4))


def listed(metacog: Metacog, study: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(metacog("status", study, "--batches", "--json").out)
    return found


def test_a_run_submits_the_batches_of_all_models_and_ends_with_its_own_code_and_the_next_one_goes_on(
    metacog, server, study
):
    text = study.read_text()
    text = text.replace('name = "m"', 'name = "m"\nlane = "batch"')
    row = text[text.index("[[models]]") : text.index("[benchmarks")]
    second = row.replace('name = "m"', 'name = "n"').replace('model = "m"', 'model = "n"')
    study.write_text(text.replace(row, row + second))
    assert "no batches" in metacog("status", study, "--batches").out
    server.provider.batches.use(delay_s=3600)
    done = metacog("run", study)
    assert done.code == 9, done.err
    assert "waiting" in done.err and "Traceback" not in done.err
    row_of_m, row_of_n = listed(metacog, study)
    for each, name in ((row_of_m, "m"), (row_of_n, "n")):
        assert (each["model"], each["state"], each["requests"]) == (name, "submitted", 3)
        assert isinstance(each["cost_usd"], float) and each["cost_usd"] > 0 and each["settled"] is False
    mark = str(row_of_m["mark"])
    assert mark in metacog("status", study, "--batches").out

    assert metacog("status", study, "--batches", "--cancel", mark).code == 0
    record = study.parent / "home" / "batches" / mark / "record.json"
    whole = record.read_text()
    record.write_text(whole.replace("transcripts/benchmark=metamedqa", "transcripts/../../metamedqa"))
    metacog("status", study, "--batches", "--give-up", mark).refused_in_one_line(
        "names no partition", "restore"
    )
    record.write_text(whole)
    given_up = metacog("status", study, "--give-up", mark)  # which lists them as well
    assert given_up.code == 0 and "given up" in given_up.out
    server.provider.batches.use()
    time.sleep(0.5)
    while (done := metacog("run", study)).code == 9:
        time.sleep(0.2)
    assert done.code == 0, done.err
    assert {row["state"] for row in listed(metacog, study)} == {"done", "given up"}


@pytest.mark.parametrize("option", ["--cancel", "--give-up"])
def test_a_batch_that_is_not_there_is_named_in_one_line(option, metacog, study):
    metacog("status", study, "--batches", option, "metacog-nobody").refused_in_one_line(
        "metacog-nobody", "no batch"
    )


def test_a_damaged_record_is_told_in_one_line(metacog, study):
    folder = study.parent / "home" / "batches" / "metacog-x"
    folder.mkdir(parents=True)
    (folder / "record.json").write_text("{")
    metacog("status", study, "--batches").refused_in_one_line("record.json", "restore")
