"""What a model is sent, and what a user's own wording may change."""

import itertools
import json
import re

import pytest

from metacog_pipeline.benchmarks.signaldetection import prompts
from metacog_pipeline.benchmarks.signaldetection.items import TASKS
from metacog_pipeline.benchmarks.signaldetection.prompts import constraint
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.types import JsonObject
from tests.signaldetection.scored import bound
from tests.tables import every

KEYS = list(itertools.product(TASKS, prompts.CONDITIONS))
PUBLISHED_NAMES = [f"prompt_metad_{task}.txt" for task in TASKS] + [
    f"prompt_task{task}_risk_configuration_{name}.txt" for task in TASKS for name in ("0", "S1", "S2")
]


@pytest.mark.parametrize("task", TASKS)
def test_risk_arms_differ_in_the_two_sentences_about_errors_only(task, wording):
    none, s1, s2 = (wording.text(task, condition).splitlines() for condition in prompts.CONDITIONS[1:])
    for arm in (s1, s2):
        extra = [line for line in arm if line not in none]
        assert len(extra) == 1 and [line for line in arm if line in none and line] == [x for x in none if x]
        assert len(re.findall(r"punished", extra[0])) == 2
    warnings = [next(line for line in arm if "punished" in line) for arm in (s1, s2)]
    punished = [re.search(r"Deciding ([^.]*?) is punished severely", line) for line in warnings]
    spared = [re.search(r"Deciding ([^.]*?) is not punished", line) for line in warnings]
    assert all(punished) and all(spared)
    for place, label in ((0, "(0)"), (1, "(1)")):
        other = "(1)" if label == "(0)" else "(0)"
        assert label in punished[place][1] and other in spared[place][1]  # type: ignore[index]


def test_missing_words_are_one_line(tmp_path, wording):
    with pytest.raises(StudyError, match=r"no text for task A under risk_s3"):
        wording.text("A", "risk_s3")
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "prompt_metad_A.txt").write_text("Judge:")
    bench = bound(tmp_path, tasks='["A", "B"]', wording='"words"')
    with pytest.raises(
        StudyError, match=r"no text for task A under risk_none.*prompt_taskA_risk_configuration_0\.txt"
    ):
        _ = bench.wording


def test_own_file_replaces_the_texts_it_gives_and_keeps_the_rest(tmp_path, wording, items):
    item = items[0]
    own = tmp_path / "mine.toml"
    own.write_text('system = "Be brief."\nratings = 4\n[prompts.B]\nconfidence = "Spoken or written?"\n')
    found = prompts.load_wording(own)
    assert found.id == "own:mine" and found.system == "Be brief." and found.ratings == 4
    assert found.text("B", "confidence") == "Spoken or written?"
    others = [key for key in KEYS if key != ("B", "confidence")]
    assert all(found.text(*key) == wording.text(*key) for key in others)
    system, user = prompts.messages(item, "confidence", found)
    assert (system.role, system.content) == ("system", "Be brief.")
    assert user.content == f'{wording.text(item.task, "confidence")}\n\n"{item.text}"'


def test_a_folder_in_the_published_layout_is_used_byte_for_byte(tmp_path, items):
    for name in PUBLISHED_NAMES:
        (tmp_path / name).write_bytes(f"  {name}\r\n\tdecide {{x}} ".encode())
    found = prompts.load_wording(tmp_path)
    assert set(found.prompts) == set(KEYS) and found.system == "" and found.ratings == 5
    item = next(item for item in items if item.task == "C")
    expected = f'  prompt_taskC_risk_configuration_S1.txt\r\n\tdecide {{x}} \n\n"{item.text}"'
    assert prompts.messages(item, "risk_s1", found)[-1].content == expected


@every(
    ("text", "said"),
    [
        ("prompts = 3", "must be a table"),
        ("[prompts]\nD = {}", "unknown key 'D'"),
        ("[prompts.A]\nrisk_s3 = 'x'", 'did you mean "risk_s'),
        ("[prompts.A]\nconfidence = ' '", "not empty"),
        ("ratings = 1", "from 2 to 9"),
        ("ratings = 5.0", "from 2 to 9"),
        ("promts = {}", 'did you mean "prompts"'),
        ("x = [", "cannot be read"),
    ],
)
def test_wrong_files_are_refused_in_one_line(text, said, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text(text)
    with pytest.raises(StudyError) as caught:
        prompts.load_wording(own)
    assert said in str(caught.value) and "own.toml" in str(caught.value) and "\n" not in str(caught.value)


def test_schema_asks_decision_before_confidence_and_confidence_where_it_is_asked():
    both, alone = (constraint("json_schema", condition, 5) for condition in ("confidence", "risk_s1"))
    assert isinstance(both, JsonObject) and isinstance(alone, JsonObject) and both.name != alone.name
    schema = json.loads(both.schema_json)
    assert list(schema["properties"]) == schema["required"] == ["decision", "confidence"]
    assert schema["properties"]["decision"] == {"type": "string", "enum": ["0", "1"]}
    assert schema["properties"]["confidence"] == {"type": "integer", "enum": [1, 2, 3, 4, 5]}
    assert schema["additionalProperties"] is False
    assert list(json.loads(alone.schema_json)["properties"]) == ["decision"]
