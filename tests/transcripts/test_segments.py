"""What a reader makes of journals that whole and torn sessions left behind."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.errors import StoreError
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.lines import encode_line
from metacog_pipeline.transcripts.schema import SCHEMA_VERSION
from tests.partitions import folder_in, read_records, without_seal


def _write(folder: PartitionFolder, number: int, *lines: bytes) -> Path:
    path = folder / f"journal-{number:06d}.jsonl"
    path.write_bytes(b"".join(lines))
    return path


def test_a_folder_that_does_not_exist_or_holds_no_journal_has_no_records(folder):
    assert list(read_records(replace(folder, run=2))) == []
    (folder / "journal-x.jsonl").write_text("not a segment")
    (folder / ".journal-000001.jsonl.tmp").write_text("not a segment")
    assert list(read_records(folder)) == []


@pytest.mark.parametrize("text", ["naïve 😀 \ud83d \x00 end", "\ud83d\ude00 as two halves"])
def test_a_segment_cut_at_any_byte_of_its_last_record_loses_only_that_record(folder, make, text):
    first, last = encode_line(make(1)), encode_line(make(2, text=text))
    _write(folder, 2, encode_line(make(3)))
    for cut in range(len(last) + 1):
        _write(folder, 1, first, last[:cut])
        expected = [make(1), make(2, text=text), make(3)] if cut >= len(last) - 1 else [make(1), make(3)]
        assert list(read_records(folder)) == expected, f"cut after {cut} of {len(last)} bytes"


@pytest.mark.parametrize(
    "tail",
    [b"\0" * 4096, b"{", b"", b"\0" * 100 + b"\n", b"\xff\xfe\xfd", b'{"answer_id":"\xe2\x82', b'{"a":1', b"{}", b"3"],
)  # fmt: skip
def test_a_torn_end_of_any_kind_is_passed_over_in_every_segment(folder, make, tail):
    for number in (1, 2, 3):
        _write(folder, number, encode_line(make(number)), tail)
    assert list(read_records(folder)) == [make(1), make(2), make(3)]


@pytest.mark.parametrize("bad", [b"{\n", b"\n", b"\xff\n", b"\0\0\n", b"{}\n", b"[1]\n", b'{"text":"\n'])
def test_an_unreadable_line_before_the_last_is_named_not_skipped(folder, make, bad):
    path = _write(folder, 1, encode_line(make(1)), bad, encode_line(make(2)))
    with pytest.raises(StoreError) as caught:
        list(read_records(folder))
    message = str(caught.value)
    assert str(path) in message and "line 2" in message and "restore" in message and "\n" not in message


@pytest.mark.parametrize("ending", [b"\n", b""])
def test_a_record_of_a_newer_version_stops_the_reader(folder, make, ending):
    row = json.loads(without_seal(encode_line(make(1))))
    row |= {"schema_version": SCHEMA_VERSION + 1, "new_column": 1}
    path = _write(folder, 1, json.dumps(row).encode(), ending)
    with pytest.raises(StoreError, match="newer version") as caught:
        list(read_records(folder))
    assert str(path) in str(caught.value) and "upgrade" in str(caught.value)


def test_a_segment_that_cannot_be_opened_or_a_folder_that_is_a_file_is_named(folder):
    (folder / "journal-000001.jsonl").mkdir()
    with pytest.raises(StoreError, match=r"journal-000001\.jsonl"):
        list(read_records(folder))
    (folder / "journal-000001.jsonl").rmdir()
    folder.path.rmdir()
    folder.path.write_text("")
    with pytest.raises(StoreError, match="run=1"):
        list(read_records(folder))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.text(st.characters(exclude_categories=[])), max_size=4), max_size=5),
    st.lists(st.binary(max_size=20), min_size=5, max_size=5),
)
def test_any_sessions_with_any_torn_ends_are_read_back_in_order(tmp_path_factory, make, sessions, ends):
    folder = folder_in(tmp_path_factory.mktemp("home"))
    for number, (texts, end) in enumerate(zip(sessions, ends, strict=False), start=1):
        _write(folder, number, *(encode_line(make(0, text=t)) for t in texts), end.replace(b"\n", b""))
    assert [r.text for r in read_records(folder)] == [text for texts in sessions for text in texts]
