"""What is exported is read back, here and by the libraries it is for; every benchmark is a task of inspect_ai."""

import json
import sys
import tomllib

import polars as pl
import pytest
import yaml

from metacog_pipeline.exporting import FORMATS
from metacog_pipeline.exporting.facts import Facts
from metacog_pipeline.leaderboard.read import run_query
from metacog_pipeline.study import load_study
from tests.conftest import ROOT
from tests.exporting.conftest import QUESTIONS, printed_by

TASK = """
import json, sys
sys.path += {path!r}
import metacog_pipeline.exporting.inspect_tasks
from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model

def answer(messages, *rest):
    text = "Answer: A" + chr(10) + "Confidence: 90%" if "plus 2" in messages[-1].text else "no idea at all"
    usage = ModelUsage(input_tokens=7, output_tokens=5, total_tokens=12)
    return ModelOutput.from_content("mockllm/model", text).model_copy(update=dict(usage=usage))

model, asked = get_model("mockllm/model", custom_outputs=answer), {{"name": "questions", "study": {study!r}}}
[log] = eval("metacog_pipeline/benchmark", model=model, display="none", log_dir="logs", task_args=asked)
found = [(each.id, each.scores["read_as_published"]) for each in log.samples]
print(json.dumps({{name: [score.value, score.metadata.get("confidence")] for name, score in found}}))
"""
LOGS = """
from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries
for each in list_eval_logs("."):
    log, brief = read_eval_log(each), read_eval_log_sample_summaries(each)
    assert log.status == "success" and len(log.samples) == len(brief) == log.results.completed_samples
    assert all(sample.output.completion and sample.scores["metacog"].value in ("C", "I", "N") for sample in log.samples)
    print(log.eval.task, log.eval.model, len(log.samples))
"""


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_study_gives_the_same_bytes_and_nothing_is_overwritten(
    metacog, made, exported, tmp_path, form
):
    metacog("export", made, "--to", tmp_path / "out", "--format", form)
    once, again = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in (exported(form).parent, tmp_path)
    )
    assert once == again and once
    done = metacog("export", made, "--to", tmp_path / "out", "--format", form, code=2)
    assert "is there already" in str(done.exception) and "\n" not in str(done.exception)


# Of Every Eval Ever an answer of two calls is kept and not scored: exit code 8.
@pytest.mark.parametrize(("form", "files", "code"), [("eee", "data/**/*.jsonl", 8), ("inspect", "*.json", 0)])
def test_answers_come_back_equal_by_import(metacog, made, exported, tmp_path, form, files, code):
    metacog("import", "--study", tmp_path / "back.toml", *exported(form).glob(files), code=code)
    columns = "model, run, regexp_extract(item_id, '[^/]*$'), response, correct, confidence, reading"
    sql = f"select {columns} from answers where not contains(condition, 'p_true') order by all"
    sent, back = (run_query(load_study(path).home, sql).rows for path in (made, tmp_path / "back.toml"))
    assert sent == back and len(back) == 2 * len(QUESTIONS)


def test_the_card_names_every_split_papers_and_how_it_was_made(exported):
    card = (exported("hf") / "README.md").read_text(encoding="utf-8")
    splits = [each["data_files"][0]["path"] for each in yaml.safe_load(card.split("---")[1])["configs"]]
    assert splits[0] == "leaderboard.parquet"  # Hugging Face shows the first
    assert {*splits} == {path.name for path in exported("hf").glob("*.parquet")}
    assert "`questions`: Your own questions" in card and "--format bundle" in card


def test_every_eval_ever_accepts_it(exported):
    files = [str(path.relative_to(exported("eee"))) for path in exported("eee").rglob("*.json*")]
    run = "runpy.run_module('every_eval_ever', run_name='__main__')"
    code = f"import runpy, sys; sys.argv = ['', 'validate', *{files}]; {run}"
    assert "4 passed, 0 warning-only, 0 failed" in printed_by("every_eval_ever", code, exported("eee"))


def test_inspect_opens_its_logs(exported):
    assert sorted(printed_by("inspect_ai", LOGS, exported("inspect")).split("\n"))[1:] == [
        f"{task} simulated/{model} 6"
        for task in ("questions_p_true", "questions_verbal_percent")
        for model in ("careful", "hf-hasty-model")
    ]


def test_a_benchmark_is_asked_in_inspect_and_read_by_its_own_rules(made, tmp_path):
    path = [str(ROOT), *(each for each in sys.path if each.endswith("site-packages"))]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tasks = {"metacog_pipeline": "metacog_pipeline.exporting.inspect_tasks"}
    assert project["entry-points"]["inspect_ai"] == tasks  # found by the name of the package
    printed = printed_by("inspect_ai", TASK.format(path=path, study=str(made)), tmp_path)
    found = json.loads(printed.splitlines()[-1])
    assert (found["verbal_percent/q2"], found["verbal_percent/q3"]) == ([1, 0.9], [0, None])
    assert len(found) == 12 and list((tmp_path / "logs").glob("*.eval"))


def test_items_that_may_not_be_passed_on_leave_by_id_and_hash(metacog, made, tmp_path, monkeypatch):
    monkeypatch.setattr("metacog_pipeline.exporting.facts.may_copy", lambda benchmark: False)
    metacog("export", made, "--to", tmp_path / "out", "--format", "hf")
    calls, items = (
        pl.read_parquet(tmp_path / "out" / f"{name}.parquet") for name in ("transcripts", "items")
    )
    assert set(calls["request_json"]) == {None} and set(calls["item_hash"]) == set(items["item_hash"])
    assert items.select("question", "key", "facts").null_count().row(0) == (6, 6, 6)


def test_columns_of_the_own_question_file_are_searched_as_well(made):
    own = pl.DataFrame(
        {"own": [{"scan": f"{made.parent}/scan.png"}]}, schema={"own": pl.Map(pl.String, pl.String)}
    )
    assert Facts(load_study(made)).leaving(own).rows() == [('{"scan": "[path]/scan.png"}',)]
