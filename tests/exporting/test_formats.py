"""What is exported is read back with the libraries it is for; every benchmark is a task of inspect_ai."""

import csv
import json
import subprocess
import sys
import tomllib

import polars as pl
import pytest

from metacog_pipeline import registry
from metacog_pipeline.exporting import FORMATS
from metacog_pipeline.exporting.formats import write_folder
from metacog_pipeline.study import load_study
from tests.conftest import ROOT
from tests.exporting.conftest import QUESTIONS, python_with, told_by

TASK = """
import json, sys
sys.path += {path!r}
import metacog_pipeline.exporting.inspect_tasks as ours
from inspect_ai import eval
from inspect_ai._util.registry import registry_lookup
from inspect_ai.model import ModelOutput, ModelUsage, get_model

assert all(registry_lookup("task", "metacog/" + name) for name in {names!r})
asked = []
def answer(messages, tools, choice, config):
    asked.append(messages[-1].text)
    right = len(asked) % 2
    text = "Answer: A" + chr(10) + "Confidence: 90%" if right else "no idea at all"
    out = ModelOutput.from_content("mockllm/model", text)
    out.usage = ModelUsage(input_tokens=7, output_tokens=5, total_tokens=12)
    return out

log = eval(
    "metacog/questions", model=get_model("mockllm/model", custom_outputs=answer), display="none", log_dir="logs",
    task_args={{"study": {study!r}, "condition": "verbal_percent"}},
)[0]
assert log.status == "success", log.error
sample = next(each for each in log.samples if each.scores["read_as_published"].value == 1)
score = sample.scores["read_as_published"]
print(json.dumps([
    log.eval.task, len(log.samples), [each.scores["read_as_published"].value for each in log.samples],
    sample.input in sample.messages[0].text and sample.messages[0].text in asked, score.metadata.get("confidence"),
]))
"""


@pytest.mark.parametrize("form", [*FORMATS, "bundle"])
def test_the_same_study_gives_the_same_bytes_and_nothing_is_overwritten(metacog, made, tmp_path, form):
    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        target = tmp_path / name / "out.zip"
        metacog("export", made, "--to", target, "--format", form)
        paths = [path for path in (tmp_path / name).rglob("*") if path.is_file()]
        found.append({path.relative_to(tmp_path / name): path.read_bytes() for path in paths})
    assert found[0] == found[1] and found[0]
    done = metacog("export", made, "--to", target, "--format", form, code=2)
    assert "is there already" in str(done.exception) and "\n" not in str(done.exception)


def test_texts_that_a_spreadsheet_would_run_are_marked(made, tmp_path):
    write_folder(load_study(made), tmp_path / "out", "csv")
    with (tmp_path / "out" / "items-questions.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["item_id"]: row for row in csv.DictReader(file)}
    assert rows["'=odd"]["question"] == "'" + QUESTIONS[-1]["question"].replace("\r\n", "\n")
    assert not any(cell.startswith(("=", "@")) for row in rows.values() for cell in row.values())


def test_the_card_names_splits_fields_licences_and_how_it_was_made(metacog, made, tmp_path):
    metacog("export", made, "--to", tmp_path / "out", "--format", "hf")
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    for part in ('- config_name: "leaderboard"', "## Licences", "https://doi.org/10.1038/s41467-024-55628-6",
                 "| answer_id | String |", "metacog export --format bundle"):  # fmt: skip
        assert part in card
    assert all(pl.read_parquet(path).height for path in (tmp_path / "out").glob("*.parquet"))


def test_hugging_face_loads_every_split(metacog, made, tmp_path):
    python = python_with("datasets")
    metacog("export", made, "--to", tmp_path / "out", "--format", "hf")
    code = """
import os
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HOME": "cache"}
import datasets
board = datasets.load_dataset("./out", "leaderboard", split="test")
calls = datasets.load_dataset("./out", "transcripts-questions", split="test")
print(board.num_rows, calls.num_rows, len(datasets.get_dataset_config_names("./out")))
"""
    rows = pl.read_parquet(tmp_path / "out" / "leaderboard.parquet").height
    configs = len([*(tmp_path / "out").glob("*.parquet")])
    told = told_by(python, code, tmp_path).split("\n")[-2]
    assert told == f"{rows} 12 {configs}"


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
    items, calls, listed = (
        pl.read_parquet(tmp_path / "out" / f"{name}.parquet")
        for name in ("items-metamedqa", "transcripts-metamedqa", "items")
    )
    assert set(items.columns) <= {"item_id", "dataset", "item_hash"} and items.height == 4
    assert all(set(json.loads(each)) == {"sha256"} for each in calls["request_json"])
    assert listed.filter(benchmark="metamedqa")["question"].is_null().all()


def test_a_benchmark_is_asked_and_read_by_its_own_rules(made, tmp_path):
    python = python_with("inspect_ai")
    path = [str(ROOT), *(each for each in sys.path if each.endswith("site-packages"))]
    code = TASK.format(path=path, names=registry.names(), study=str(made))
    found = json.loads(told_by(python, code, tmp_path).splitlines()[-1])
    task, n, values, same_words, confidence = found
    assert (task, n, same_words, confidence) == ("metacog/questions", 6, True, 0.9)
    assert set(values) == {0.0, 1.0} and list((tmp_path / "logs").glob("*.eval"))


def test_inspect_finds_the_tasks_by_the_name_metacog():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["inspect_ai"] == {"metacog": "metacog_pipeline.exporting.inspect_tasks"}
    assert "inspect" in FORMATS and "inspect" in project["optional-dependencies"]
