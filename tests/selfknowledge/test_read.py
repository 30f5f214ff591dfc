"""What replies say: whether the answer is right, whether it is said to be known, whether it is withheld."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.selfknowledge.imports import read_row
from metacog_pipeline.benchmarks.selfknowledge.prompts import YES_NO
from metacog_pipeline.benchmarks.selfknowledge.read import matches, says_known
from metacog_pipeline.benchmarks.selfknowledge.simulated import untidy
from metacog_pipeline.reading.rows import BadRow
from tests.selfknowledge.conftest import abstains
from tests.tables import every

LANGUAGES = tuple(YES_NO)
ROWS = [
    json.loads(line) for line in Path(__file__).with_name("replies.jsonl").read_text("utf-8").splitlines()
]


@every("row", ROWS, ids=[row["id"] for row in ROWS])
def test_a_labelled_row_is_read_as_labelled(row):
    found = read_row(row)
    assert {name: found.get(name) for name in row["label"]} == row["label"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_untidy_replies_of_simulated_observers_mean_what_they_say(language):
    words = untidy()[language]
    for kind, read in (("yes", 1), ("no", 0), ("neither", None)):
        assert {says_known(text, language) for text in words[kind]} == {read}
    assert says_known(words["refusal"], language) == 0
    assert all(map(abstains, (*words["abstains"], words["refusal"])))
    name = {"en": "Lima", "es": "Lima", "zh": "利马", "ko": "리마"}[language]
    assert all(matches(form.format(answer=name), [name]) for form in untidy()["answers"])
    assert not any(abstains(form.format(answer=name), name) for form in untidy()["answers"])


@given(st.text(max_size=60), st.sampled_from(LANGUAGES))
@settings(max_examples=80)
def test_every_text_is_read(text, language):
    assert says_known(text, language) in (0, 1, None)
    assert matches(text, ["Lima"]) in (True, False) and abstains(text) in (True, False)


def test_a_fact_is_named_by_its_id_and_counts_in_the_language_of_the_row():
    said = {"id": 1, "item_id": "geography-001", "response": "堪培拉"}
    assert read_row(said)["correct"] is True
    assert read_row({**said, "lang": "zh"})["correct"] is True
    assert read_row({**said, "language": "en"})["correct"] is False


def test_a_row_whose_call_was_cut_is_truncated_unless_the_model_had_ended_its_turn():
    row = {"id": 1, "answers": ["Lima"], "finish_reason": "length"}
    assert read_row({**row, "response": "Lima and"})["status"] == "truncated"
    assert read_row({**row, "response": "Lima\nQuestion: Which other"})["correct"] is True


@every(
    ("row", "said"),
    [
        ({"item_id": "geography-001"}, "there is no reply"),
        ({"item_id": "geografy-001", "response": "x"}, "geography-001"),
        ({"item_id": "geography-001", "lang": "xx", "response": "x"}, "no language 'xx'"),
        ({"answers": ["x"], "responses": {"turn": "x"}}, "no step 'turn'"),
    ],
)
def test_a_row_that_cannot_be_read_says_why(row, said):
    with pytest.raises(BadRow, match=said):
        read_row(row)
