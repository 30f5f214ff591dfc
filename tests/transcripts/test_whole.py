"""Records of a file are kept in one segment, whole or not at all, line for line as they would be one by one."""

import dataclasses
import os

import pytest

from metacog_pipeline.asking.imported import identified, imported_record
from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.transcripts.journal import read_records
from metacog_pipeline.transcripts.lines import encode_line
from metacog_pipeline.transcripts.lock import writing
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.whole import encoded, keep_whole

TEXTS = [
    "B",
    "",
    'two\nlines "quoted" \\ é 漢',
    "\x00\x1b",
    "\ud800",
    "\ud83d \ude00",
    '"text":',
    "x" * 100_000,
]


def records(texts: list[str] = TEXTS) -> list[Record]:
    return [
        imported_record(
            "bench",
            (f"item {n}", "h"),
            model="m",
            run=1,
            condition="c",
            step="s",
            text=text,
            identity=["é", n, text],
        )
        for n, text in enumerate(texts)
    ]


def test_a_line_is_that_of_a_record_kept_alone():
    made = records()
    odd = [dataclasses.replace(made[0], model_id="other", cost_usd=float("nan")), made[1]]
    for each in (made, odd, made[::-1]):
        assert list(encoded(each)) == [encode_line(record) for record in each]
    assert list(encoded([])) == []


def test_the_identity_is_the_digest_of_canonical_json():
    parts = ["b", "m\ud800", 3, 'q"é', "x"]
    assert identified(parts) == sha256_hex(canonical_json(parts))


def test_what_is_kept_is_read_back_after_what_was_there(tmp_path):
    made = records()
    keep_whole(tmp_path, made[:2])
    keep_whole(tmp_path, made)
    keep_whole(tmp_path, [])
    assert list(read_records(tmp_path)) == [*made[:2], *made]


@pytest.mark.parametrize("broken", ["fsync", "write"])
def test_of_a_write_that_breaks_nothing_is_there(tmp_path, monkeypatch, broken):
    keep_whole(tmp_path, records(["first"]))
    (tmp_path / ".journal-000002.jsonl.killed.tmp").write_text("half")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        if broken == "fsync":
            patch.setattr(os, "fsync", full)
        else:
            patch.setattr("metacog_pipeline.transcripts.whole._batches", full)
        with pytest.raises(StoreError, match="nothing of the file was kept"):
            keep_whole(tmp_path, records())
    assert [record.text for record in read_records(tmp_path)] == ["first"]
    assert [path.name for path in tmp_path.glob("*journal*")] == ["journal-000001.jsonl"]


def test_a_folder_that_is_being_asked_is_refused(tmp_path):
    with writing(tmp_path), pytest.raises(StoreError):
        keep_whole(tmp_path, records())
    assert not list(read_records(tmp_path))
