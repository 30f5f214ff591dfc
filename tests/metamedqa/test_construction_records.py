"""Rows and edit records are parsed totally: a typed record, or one line that names file, line, id and field."""

import gzip
import json
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.metamedqa.construction import records
from metacog_pipeline.errors import SourceError
from metacog_pipeline.sources import Line, content_digest, read_lines, read_objects

PARENT = {
    "realidx": 0,
    "question": "Which gas is inhaled?",
    "options": {"A": "Oxygen", "B": "Helium", "C": "Neon", "D": "Argon"},
    "answer_idx": "A",
    "answer": "Oxygen",
    "meta_info": "step1",
}
EDIT = {
    "item_id": "x-0003",
    "source_index": 3,
    "edit_kind": "answer_altered",
    "changes": [{"field": "options.A", "before": "Oxygen", "after": "Ozone"}],
    "answer_before": "A",
    "answer_after": "E",
}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def test_plain_and_gzip_files_read_alike(tmp_path):
    text = json.dumps(PARENT) + "\n\n"
    (tmp_path / "p.jsonl").write_text(text)
    (tmp_path / "p.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    assert records.load_parents(tmp_path / "p.jsonl") == records.load_parents(tmp_path / "p.jsonl.gz")


def test_a_line_separator_inside_a_text_does_not_end_the_row(tmp_path):
    row = {**PARENT, "question": "one\u2028two"}
    (tmp_path / "p.jsonl").write_text(json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8")
    assert records.load_parents(tmp_path / "p.jsonl")[0].question == "one\u2028two"


@pytest.mark.parametrize("field", ["question", "options", "answer_idx"])
def test_a_missing_field_is_named_with_file_and_line(tmp_path, field):
    path = tmp_path / "p.jsonl"
    broken = {name: value for name, value in PARENT.items() if name != field}
    path.write_text(json.dumps(PARENT) + "\n" + json.dumps({**broken, "realidx": 1}) + "\n")
    with pytest.raises(SourceError, match=rf"p\.jsonl:2: field '{field}' .*missing"):
        records.load_parents(path)


def test_a_bad_field_of_an_edit_is_named_with_its_id():
    with pytest.raises(SourceError, match=r"e:7 \(x-0003\): field 'edit_kind' must be .* got 'invented'"):
        records.parse_edit(Line("e", 7, {**EDIT, "edit_kind": "invented"}))


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe",
        b"[1, 2]",
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": 1, "a": 2}',
        b'{"a": ',
        b"[" * 100_000,
        b'{"a": ' + b"9" * 10_000 + b"}",
    ],
)
def test_hostile_lines_are_one_line_errors(tmp_path, content):
    path = tmp_path / "h.jsonl"
    path.write_bytes(content + b"\n")
    with pytest.raises(SourceError) as caught:
        read_lines(path)
    assert "h.jsonl:1" in str(caught.value) and "\n" not in str(caught.value)


def test_a_cut_gzip_file_is_a_one_line_error(tmp_path):
    path = tmp_path / "p.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(PARENT).encode() * 50)[:-12])
    with pytest.raises(SourceError, match="cannot be read"):
        read_lines(path)


def test_a_file_that_unpacks_beyond_the_limit_is_refused(tmp_path):
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(b" " * 100_000))
    with pytest.raises(SourceError, match="larger than 1000 bytes"):
        read_lines(path, limit=1000)


def test_a_json_array_must_hold_objects(tmp_path):
    path = tmp_path / "q.json"
    path.write_text('[{"a": 1}, 2]')
    with pytest.raises(SourceError, match=r"q\.json:2"):
        read_objects(path)


def test_a_lone_surrogate_is_refused_because_it_cannot_be_stored():
    with pytest.raises(SourceError, match="surrogate"):
        records.parse_parent(Line("p", 1, {**PARENT, "question": "\ud800"}), 0)


def test_realidx_must_be_the_row_number():
    with pytest.raises(SourceError, match="realidx"):
        records.parse_parent(Line("p", 1, {**PARENT, "realidx": 5}), 0)


def test_a_missing_reason_and_auditor_stay_unknown():
    edit = records.parse_edit(Line("e", 1, EDIT))
    assert (edit.reason, edit.auditor) == (None, None)
    assert records.unknown_fields([edit]) == {"auditor": 1, "created": 1, "reason": 1, "status": 1}
    assert "reason" not in records.edit_to_json(edit)


@pytest.mark.parametrize(
    ("status", "counts"), [(None, True), ("accepted", True), ("proposed", False), ("rejected", False)]
)
def test_only_accepted_and_derived_records_count(status, counts):
    assert records.parse_edit(Line("e", 1, {**EDIT, "status": status})).counts is counts


def test_an_edit_survives_a_round_trip():
    change = {"field": "question", "find": "gas", "replace": "", "count": 2}
    row = {
        **EDIT,
        "changes": [*EDIT["changes"], change],
        "status": "accepted",
        "reason": "r",
        "auditor": "me",
    }
    assert records.edit_to_json(records.parse_edit(Line("e", 1, row))) == row


def test_the_fields_of_a_record_are_those_of_the_dataclass():
    parent = records.parse_parent(Line("p", 1, PARENT), 0)
    edit = records.parse_edit(Line("e", 1, EDIT))
    assert [records.fields_of_record(each) for each in (parent, edit)] == [asdict(parent), asdict(edit)]


def test_any_multiple_choice_row_is_read():
    row = {"question": "q", "options": ["x", "y", "z"], "answer_idx": 2}
    parsed = records.parse_choice_row(Line("m", 1, row), 0)
    assert (parsed.letters, parsed.answer_idx, parsed.option("B")) == (("A", "B", "C"), "C", "y")


@settings(max_examples=150)
@given(st.dictionaries(st.sampled_from([*PARENT, *EDIT, "kind", "language"]), json_values))
def test_parsing_any_object_gives_a_record_or_a_source_error(row):
    for parse in (records.parse_parent, records.parse_fictional, records.parse_choice_row):
        try:
            parse(Line("f", 1, row), 0)
        except SourceError as error:
            assert "\n" not in str(error)
    try:
        records.parse_edit(Line("f", 1, row))
    except SourceError as error:
        assert "\n" not in str(error)


@settings(max_examples=100)
@given(st.lists(st.dictionaries(st.text(max_size=4), json_values, max_size=4), max_size=4), st.randoms())
def test_the_digest_ignores_spaces_and_key_order_only(tmp_path_factory, rows, random):
    folder = tmp_path_factory.mktemp("digest")
    shuffled = [dict(random.sample(list(row.items()), len(row))) for row in rows]
    (folder / "a.jsonl").write_text(
        "\n".join(json.dumps(row, indent=None, separators=(" , ", " : ")) for row in shuffled)
    )
    assert content_digest(line.row for line in read_lines(folder / "a.jsonl")) == content_digest(rows)
    assert content_digest([*rows, {"more": 1}]) != content_digest(rows)
