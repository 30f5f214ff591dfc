"""Answers collected elsewhere: every usual shape is read, every row not taken is listed with its reason."""

import json
from dataclasses import asdict
from functools import partial

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.metamedqa.read import IMPORTER
from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange.imported import Imported
from metacog_pipeline.interchange.importing import parse_mapping
from tests.metamedqa.reading import read_answers, table
from tests.tables import every

take = partial(read_answers, run=2)


def texts(found: Imported) -> list[tuple[str, str]]:
    return [(record.item_id, record.text) for record in found.records]


def reasons(found: Imported) -> list[tuple[int, str]]:
    return [(rejected.row, rejected.reason) for rejected in found.rejected]


@every(
    "content",
    [
        "item_id,choice,confidence\ntest-0001,B,4\n",
        "\ufeffItem ID;Prediction;Conf\r\ntest-0001;b;4\r\n",
        "item_id,choice,confidence\rtest-0001,B,4\r",
        "item_id\tanswer\tconfidence\ntest-0001\t1.0\t4.0\n\n",
        'id,pred,certainty\n"test-0001","(B)"," 4 "\n',
        'sep=;\r\n"id";"choice";"confidence"\r\ntest-0001;B;4\r\n',
        "id,answer,prediction,confidence\ntest-0001,A,B,4\n",
        ",item_id,choice,confidence\n0,test-0001,B,4\n",
        "question,choice,confidence\nPATIENT 1  has finding 7. Which mechanism explains it?,B,4\n",
    ],
)
def test_usual_columns_are_found_in_csv(content, tmp_path, items):
    found = take(tmp_path / "answers.csv", items, content)
    assert texts(found) == [("test-0001", "Answer: B\nConfidence: 4")]
    assert not found.rejected and not found.warnings


def test_record_says_it_was_imported(tmp_path, items):
    (record,) = take(tmp_path / "a.csv", items, "item_id,choice\ntest-0001,B\n").records
    assert (record.source, record.provider, record.mode, record.step, record.status) == (
        "imported",
        "replay",
        "import",
        "answer",
        "ok",
    )
    assert (record.benchmark, record.model, record.run, record.condition) == (
        "metamedqa",
        "theirs",
        2,
        "baseline",
    )
    assert record.item_hash == items[1].item_hash and len(record.answer_id) == 64


def test_same_answer_has_the_same_identity_and_another_has_another(tmp_path, items):
    path = tmp_path / "a.csv"
    one = take(path, items, "item_id,choice\ntest-0001,B\n").records[0].answer_id
    assert take(path, items).records[0].answer_id == one
    assert take(path, items, run=3).records[0].answer_id != one
    assert take(path, items, "item_id,choice\ntest-0001,C\n").records[0].answer_id != one


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.parquet", "a.tsv"])
def test_other_formats_give_the_same(name, tmp_path, items):
    rows = [
        {"item_id": f"test-{n:04d}", "choice": "ABCDEF"[n % 6], "confidence": 1 + n % 5} for n in range(20)
    ]
    path = tmp_path / name
    frame = pl.DataFrame(rows)
    if name.endswith("jsonl"):
        path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    elif name.endswith("json"):
        path.write_text(json.dumps({"version": 1, "samples": rows}))
    elif name.endswith("tsv"):
        frame.write_csv(path, separator="\t")
    else:
        frame.write_parquet(path)
    found = take(path, items)
    assert texts(found) == [
        (r["item_id"], f"Answer: {r['choice']}\nConfidence: {r['confidence']}") for r in rows
    ]


def test_raw_responses_are_kept_exactly_and_parsed_later(tmp_path, items):
    raw = [
        "**Answer:** B\nConfidence: 4",
        "Answer: C\x00\nConfidence: 3",
        "Answer: \ud800D\nConfidence: 2",
        "x" * 10_000_000,
    ]
    rows = [{"item_id": f"test-{n:04d}", "response": text} for n, text in enumerate(raw)]
    found = take(tmp_path / "a.jsonl", items, rows)
    assert [record.text for record in found.records] == raw
    assert found.warnings == ("no answer can be read in item test-0003 (run 2): recorded as unparsable",)


def test_confidence_out_of_range_is_taken_and_reported(tmp_path, items):
    content = "item_id,choice,confidence\ntest-0000,A,7\ntest-0001,B,4.5\ntest-0002,C,\ntest-0003,D,5\n"
    found = take(tmp_path / "a.csv", items, content)
    assert len(found.records) == 4 and not found.rejected
    assert (
        found.warnings[0]
        == "the confidence 7 is outside the scale in item test-0000 (run 2): recorded as unparsable"
    )
    assert "4.5" in found.warnings[1] and "test-0002" in found.warnings[2] and len(found.warnings) == 3


def test_every_row_not_taken_is_listed_with_its_reason(tmp_path, items):
    content = (
        "item_id,choice,condition\n"
        "test-0000,A,\n"
        "nobody,A,\n"
        "test-0001,G,\n"
        "test-0002,9,\n"
        "test-0003,,\n"
        ",A,\n"
        "test-0000,B,\n"
        "test-0000,B,role-explit-unknown\n"
        "test-0004,A,wrong\n"
        "test-0005,A\n"
        "test-0006,Nothing of this,\n"
    )
    found = take(tmp_path / "a.csv", items, content)
    assert [(r.item_id, r.condition) for r in found.records] == [
        ("test-0000", "baseline"),
        ("test-0000", "role-explicit-unknown"),
    ]
    listed = dict(reasons(found))
    assert list(listed) == [3, 4, 5, 6, 7, 8, 10, 11, 12]
    for row, part in {
        3: "unknown item: item_id 'nobody'", 4: "choice 'G' is neither a letter A–F nor an index 0–5", 5: "choice '9'",
        6: "there is no choice", 7: "names no item", 8: "given twice, first in row 2", 10: 'unknown condition "wrong"',
        11: "the row has 2 cells, the header 3", 12: "neither a letter",
    }.items():  # fmt: skip
        assert part in listed[row], row


def test_json_rows_that_are_none_are_listed(tmp_path, items):
    lines = [
        '{"item_id": "test-0000", "choice": "A"}',
        "not json",
        "[1]",
        '{"item_id": "test-0001", "choice": true}',
        "[" * 100_000,
    ]
    found = take(tmp_path / "a.jsonl", items, "\n".join(lines))
    assert [row for row, _ in reasons(found)] == [2, 3, 4, 5] and len(found.records) == 1


def test_mapping_names_the_columns_and_switches_guessing_off_for_what_it_settles(tmp_path, items):
    content = "id,answer,mine,sure,text\ntest-0001,A,C,2,Answer: D\n"
    path = tmp_path / "a.csv"
    assert texts(take(path, items, content, mapping={"choice": "mine", "confidence": "sure"})) == [
        ("test-0001", "Answer: C\nConfidence: 2")
    ]
    assert texts(take(path, items, content, mapping={"response": "text"})) == [("test-0001", "Answer: D")]


@every(
    ("name", "content", "mapping", "says"),
    [
        ("a.csv", "", {}, "the file is empty"),
        ("a.csv", "item_id,choice\n", {}, "no row"),
        ("a.csv", b"item_id,choice\ntest-0001,\xff\n", {}, "not UTF-8 at byte 25"),
        ("a.csv", "item_id,choice\nx,A\n", {"choice": "pick"}, "no column 'pick' to map choice to; the columns"),
        ("a.csv", "item_id,choice\nx,A\n", {"letter": "choice"}, "unknown field 'letter'"),
        ("a.csv", "thing,choice\nx,A\n", {}, "no column names the item"),
        ("a.csv", "item_id,thing\nx,A\n", {}, "no column holds the answer"),
        ("a.csv", "item_id,choice,choice\nx,A,B\n", {}, "column 'choice' is there twice"),
        ("a.csv", "item_id,choice,raw\nx,A,B\n", {"choice": "choice", "response": "raw"}, "not both"),
        ("a.json", "{", {}, "not JSON"),
        ("a.json", "3", {}, "must be a list"),
        ("a.json", "[" * 100_000, {}, "not JSON"),
        ("a.parquet", "PAR1 torn", {}, "not a readable Parquet file"),
        ("a.xlsx", "x", {}, "tables are read from .csv"),
    ],
)  # fmt: skip
def test_file_that_cannot_be_used_is_one_line(name, content, mapping, says, tmp_path, items):
    with pytest.raises(StudyError) as caught:
        take(tmp_path / name, items, content, mapping=mapping)
    assert says in str(caught.value) and name in str(caught.value) and "\n" not in str(caught.value)


def test_missing_file_and_folder_are_one_line(tmp_path, items):
    (tmp_path / "folder.csv").mkdir()
    for name in ("nowhere.csv", "folder.csv", "nowhere.parquet", "folder.parquet"):
        with pytest.raises(StudyError, match=r"cannot be read|is a folder; give a file"):
            take(tmp_path / name, items)


def test_map_options_are_field_equals_column():
    assert parse_mapping(["choice=my answer", "confidence=a=b"], IMPORTER.fields) == {
        "choice": "my answer",
        "confidence": "a=b",
    }
    for wrong in (["choice"], ["choice="], ["nothing=x"], ["choice=a", "choice=b"]):
        with pytest.raises(StudyError, match="--map"):
            parse_mapping(wrong, IMPORTER.fields)


def test_an_id_and_a_question_that_name_different_items_refuse_the_file(tmp_path, items):
    rows = ((items[n + 1].item_id, items[n].question, "A") for n in range(3))
    with pytest.raises(StudyError, match="disagrees with the study in 3 of 3 rows"):
        take(tmp_path / "a.csv", items, table(("id", "question", "choice"), rows))
    settled = take(tmp_path / "a.csv", items, mapping={"question": "question"})
    assert [record.item_id for record in settled.records] == [item.item_id for item in items[:3]]


def test_curly_quotes_and_straight_ones_name_the_same_question(tmp_path, items):
    quoted = [items[0].model_copy(update={"question": 'The patient\'s "numb" hand’s skin?'}), *items[1:]]
    content = json.dumps([{"question": "The  patient’s “numb” hand's skin?", "choice": "A"}])
    (record,) = take(tmp_path / "a.json", quoted, content).records
    assert record.item_id == items[0].item_id


def test_a_row_without_raw_text_falls_back_on_its_choice(tmp_path, items):
    rows = [
        {"id": "test-0000", "answer": "A", "confidence": 2, "raw": None},
        {"id": "test-0001", "answer": "A", "confidence": 2, "raw": "Answer: C\nConfidence: 5"},
    ]
    found = take(tmp_path / "a.json", items, json.dumps(rows))
    assert [text for _, text in texts(found)] == ["Answer: A\nConfidence: 2", "Answer: C\nConfidence: 5"]


def test_rows_are_numbered_by_their_line_after_a_line_that_tells_the_separator(tmp_path, items):
    found = take(tmp_path / "a.csv", items, "sep=;\nid;choice\ntest-0000;A\ntest-0001;x\n")
    assert [row for row, _ in reasons(found)] == [4]


def test_question_shared_by_two_items_is_not_guessed(tmp_path, items):
    twins = [items[0], items[1].model_copy(update={"question": items[0].question.upper() + "."})]
    found = take(tmp_path / "a.jsonl", twins, json.dumps({"question": items[0].question, "choice": "A"}))
    assert "belongs to 2 items" in reasons(found)[0][1]


def frame_of(found: Imported) -> pl.DataFrame:
    columns = list(asdict(found.records[0]))
    return pl.DataFrame([asdict(r) for r in found.records], schema_overrides=dict.fromkeys(
        [c for c in columns if c in ("logprobs_json", "error_code", "error_message")], pl.String
    ), infer_schema_length=None).with_columns(superseded=pl.lit(False))  # fmt: skip


CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=6),
    st.lists(st.integers(), max_size=2),
)
NAMES = st.sampled_from(["item_id", "choice", "confidence", "condition", "x"])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.dictionaries(NAMES, CELLS)))
def test_no_row_is_lost_whatever_its_cells_hold(rows, tmp_path, items):
    header = {"item_id": "test-0000", "choice": "A"}
    try:
        found = take(tmp_path / "fuzz.jsonl", items, [header, *rows])
    except StudyError as refused:
        assert "\n" not in str(refused)
        return
    assert len(found.records) + len(found.rejected) == 1 + len(rows)
