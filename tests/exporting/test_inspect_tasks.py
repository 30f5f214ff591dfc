"""Every installed benchmark is a task of inspect_ai, asked and read as the benchmark itself does; read by inspect_ai."""

import json
import sys
import tomllib

from metacog_pipeline import registry
from metacog_pipeline.exporting import FORMATS
from tests.conftest import ROOT
from tests.exporting.conftest import python_with, told_by

CODE = """
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


def test_a_benchmark_is_asked_and_read_by_its_own_rules(made, tmp_path):
    python = python_with("inspect_ai")
    path = [str(ROOT), *(each for each in sys.path if each.endswith("site-packages"))]
    code = CODE.format(path=path, names=registry.names(), study=str(made))
    found = json.loads(told_by(python, code, tmp_path).splitlines()[-1])
    task, n, values, same_words, confidence = found
    assert (task, n, same_words, confidence) == ("metacog/questions", 6, True, 0.9)
    assert set(values) == {0.0, 1.0} and list((tmp_path / "logs").glob("*.eval"))


def test_inspect_finds_the_tasks_by_the_name_metacog():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["inspect_ai"] == {"metacog": "metacog_pipeline.exporting.inspect_tasks"}
    assert "inspect" in FORMATS and "inspect" in project["optional-dependencies"]
