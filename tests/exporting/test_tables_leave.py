"""csv, hf, eee and inspect: what is exported is read back with the libraries it is for."""

import csv
import json
import subprocess

import polars as pl
import pytest

from metacog_pipeline.exporting import tables
from metacog_pipeline.exporting.facts import Facts
from metacog_pipeline.study import load_study
from tests.exporting.conftest import QUESTIONS, python_with, told_by


@pytest.mark.parametrize("form", ["csv", "eee", "hf", "inspect"])
def test_the_same_study_gives_the_same_bytes_and_nothing_is_overwritten(metacog, made, tmp_path, form):
    for name in ("one", "two"):
        metacog("export", made, "--to", tmp_path / name, "--format", form)
    one, two = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in (tmp_path / "one", tmp_path / "two")
    )
    assert one == two and one
    done = metacog("export", made, "--to", tmp_path / "one", "--format", form, code=2)
    assert "is there already" in str(done.exception) and "\n" not in str(done.exception)


def test_texts_that_a_spreadsheet_would_run_are_marked(out):
    with (out / "items-questions.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["item_id"]: row for row in csv.DictReader(file)}
    assert rows["'=odd"]["question"] == "'" + QUESTIONS[-1]["question"].replace("\r\n", "\n")
    assert not any(cell.startswith(("=", "@")) for row in rows.values() for cell in row.values())


def test_the_card_names_splits_fields_licences_and_how_it_was_made(metacog, made, tmp_path):
    metacog("export", made, "--to", tmp_path / "out", "--format", "hf")
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    for part in ('- config_name: "leaderboard"', "## Licences", "https://doi.org/10.1038/s41467-024-55628-6",
                 "| answer_id | String |", "metacog export --format bundle"):  # fmt: skip
        assert part in card
    for path in (tmp_path / "out" / "data").rglob("*.parquet"):
        assert pl.read_parquet(path, hive_partitioning=False).height, path


def test_hugging_face_loads_every_split(metacog, made, tmp_path):
    python = python_with("datasets")
    metacog("export", made, "--to", tmp_path / "out", "--format", "hf")
    code = """
import os
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HOME": "cache"}
import datasets
board = datasets.load_dataset("./out", "leaderboard", split="test")
calls = datasets.load_dataset("./out", "transcripts")
print(board.num_rows, sorted(calls), calls["questions"].num_rows, len(datasets.get_dataset_config_names("./out")))
"""
    rows = pl.read_parquet(tmp_path / "out" / "data" / "leaderboard" / "test.parquet").height
    configs = len(list((tmp_path / "out" / "data").iterdir()))
    told = told_by(python, code, tmp_path).split("\n")[-2]
    assert told == f"{rows} ['metamedqa', 'questions'] 12 {configs}"


def test_every_eval_ever_accepts_it(metacog, made, tmp_path):
    metacog("export", made, "--to", tmp_path / "out", "--format", "eee")
    files = [str(path) for path in (tmp_path / "out" / "data").rglob("*.json*")]
    assert len(files) == 8
    python = python_with("every_eval_ever")
    done = subprocess.run(
        [python, "-m", "every_eval_ever", "validate", *files], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0 and "8 passed, 0 warning-only, 0 failed" in done.stdout, done.stdout[-2000:]


def test_inspect_opens_its_logs(metacog, made, tmp_path):
    metacog("export", made, "--to", tmp_path / "out", "--format", "inspect")
    python = python_with("inspect_ai")
    code = """
from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries
for each in list_eval_logs("out"):
    log = read_eval_log(each)
    brief = read_eval_log_sample_summaries(each)
    assert log.status == "success" and len(log.samples) == len(brief) == log.results.completed_samples
    assert all(sample.output.completion and sample.scores["metacog"].value in ("C", "I", "N") for sample in log.samples)
    print(log.eval.task, log.eval.model, len(log.samples))
"""
    told = told_by(python, code, tmp_path).split("\n")
    assert sorted(told)[1:] == [
        f"{task} simulated/{model} {n}"
        for task, n in (("metamedqa_baseline", 4), ("questions_verbal_percent", 6))
        for model in ("careful", "hasty")
    ]


def test_items_that_may_not_be_passed_on_leave_by_id_and_digest(metacog, made, tmp_path, monkeypatch):
    may_copy = "metacog_pipeline.exporting.facts.may_copy"
    monkeypatch.setattr(may_copy, lambda benchmark: benchmark.name == "questions")
    metacog("export", made, "--to", tmp_path / "out", "--format", "hf")
    items = pl.read_parquet(tmp_path / "out" / "data" / "items-metamedqa" / "test.parquet")
    assert set(items.columns) <= {"item_id", "dataset", "item_hash"} and items.height == 4
    data = tmp_path / "out" / "data"
    calls = pl.read_parquet(data / "transcripts" / "metamedqa.parquet", hive_partitioning=False)
    assert all(set(json.loads(each)) == {"sha256"} for each in calls["request_json"])
    listed = pl.read_parquet(data / "items" / "test.parquet").filter(benchmark="metamedqa")
    assert listed["question"].is_null().all()


@pytest.fixture(scope="module")
def out(made, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    tables.write_csv(Facts.of(load_study(made)), folder)
    return folder
