"""Items just written are not read back; of a sample of inspect_ai only the fields that are used are decoded."""

import json
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmark import item_files
from metacog_pipeline.benchmark.schema import AsJson
from metacog_pipeline.errors import StudyError
from metacog_pipeline.home import Home
from metacog_pipeline.interchange import record as sample
from metacog_pipeline.interchange.logs import inspect_log
from metacog_pipeline.interchange.question import Question
from tests.tables import every


def items(n, **changes):
    made = [Question(item_id=f"i{k}", dataset="own", task="t", question="Why?", kind="text", answer="so", position=k)
            for k in range(n)]  # fmt: skip
    return [made[0].model_copy(update=changes), *made[1:]] if changes else made


def test_items_just_written_are_taken_as_they_are_and_those_changed_since_are_read(tmp_path):
    path = item_files.items_path(Home(tmp_path), "questions")
    made = items(30)
    item_files.write_rows(path, made, Question, "mark")
    taken = item_files.load_items(Home(tmp_path), "questions", Question)
    assert all(one is other for one, other in zip(taken, made, strict=True))
    assert item_files.read_rows(path, Question) == made
    item_files.write_rows(path, made, Question, "mark")
    other = tmp_path / "other.parquet"
    item_files.write_rows(other, items(30, answer="new"), Question, "mark")
    other.replace(path)
    assert item_files.load_items(Home(tmp_path), "questions", Question)[0].answer == "new"


class Told(Question):
    parts: Annotated[tuple[Any, ...], AsJson()]


def test_items_that_hold_what_only_json_tells_are_read_back(tmp_path):
    path = item_files.items_path(Home(tmp_path), "questions")
    made = [Told(**dict(items(1)[0]), parts=({"a": (1, 2)},))]
    item_files.write_rows(path, made, Told, "mark")
    assert item_files.load_items(Home(tmp_path), "questions", Told)[0].parts == ({"a": [1, 2]},)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def in_words(value):
    """Return what tells values apart, but not NaN from NaN, in whichever order the fields of the sample have."""
    return repr(sorted(value.items()) if isinstance(value, dict) else value)


names = st.sampled_from(["id", "epoch", "output", "messages", "events", "error", "store", "x", "started_at"])


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(names, json_values, max_size=6) | json_values)
def test_of_a_sample_the_fields_that_are_read_are_what_all_of_it_says(value):
    data = json.dumps(value).encode()
    try:
        whole = sample.parsed(data, "x")
    except StudyError as error:  # half a surrogate pair
        with pytest.raises(StudyError) as caught:
            inspect_log._decoded(data, "x")
        assert str(caught.value) == str(error)
        return
    found = inspect_log._decoded(data, "x")
    if isinstance(whole, dict):
        whole = {name: each for name, each in whole.items() if name in inspect_log._FIELDS}
    assert in_words(found) == in_words(whole)


@every("broken", [b"{", b'{"id": 1} x', b'{"events": [1,]}', b'{"events": "\xff"}', b""])
def test_what_is_no_json_is_refused_wherever_it_breaks(broken):
    with pytest.raises(StudyError, match="not readable as JSON"):
        inspect_log._decoded(broken, "x")
