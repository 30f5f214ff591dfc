"""Records of a file are kept in one segment, whole or not at all, line for line as they would be one by one."""

import dataclasses
import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.interchange.imported import identified, imported_record
from metacog_pipeline.transcripts import segments
from metacog_pipeline.transcripts.compaction import compact_folder
from metacog_pipeline.transcripts.lines import encode_line
from metacog_pipeline.transcripts.lock import writing
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.whole import encoded, keep_whole
from tests.partitions import folder_in, read_records

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
    about = {"model": "m", "run": 1, "condition": "c", "step": "s"}
    return [
        imported_record("bench", (f"item {n}", "h"), **about, text=text, identity=["é", n, text])
        for n, text in enumerate(texts)
    ]


def test_a_line_is_that_of_a_record_kept_alone():
    made = records()
    odd = [dataclasses.replace(made[0], model_id="other", cost_usd=float("nan")), made[1]]
    for each in (made, odd, made[::-1]):
        assert [line for line, _ in encoded(each)] == [encode_line(record) for record in each]
    assert list(encoded([])) == []


def test_the_identity_is_the_digest_of_canonical_json():
    parts = ["b", "m\ud800", 3, 'q"é', "x"]
    assert identified(parts) == sha256_hex(canonical_json(parts))


def test_what_is_kept_is_read_back_after_what_was_there(folder):
    made = records()
    keep_whole(folder, made[:2])
    keep_whole(folder, made)
    keep_whole(folder, [])
    assert list(read_records(folder)) == [*made[:2], *made]


@pytest.mark.parametrize("broken", ["fsync", "write"])
def test_of_a_write_that_breaks_nothing_is_there(folder, monkeypatch, broken):
    keep_whole(folder, records(["first"]))
    (folder / ".journal-000002.jsonl.killed.tmp").write_text("half")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(
            "os.fsync" if broken == "fsync" else "metacog_pipeline.transcripts.whole._batches", full
        )
        with pytest.raises(StoreError, match="nothing of the file was kept"):
            keep_whole(folder, records())
    assert [record.text for record in read_records(folder)] == ["first"]
    assert [path.name for path in folder.path.glob("*journal*")] == ["journal-000001.jsonl"]


def test_a_folder_that_is_being_asked_is_refused(folder):
    with writing(folder), pytest.raises(StoreError):
        keep_whole(folder, records())
    assert not list(read_records(folder))


odd_text = st.text(st.characters(exclude_categories=[]), max_size=4) | st.sampled_from(TEXTS[:7])
numbers = st.none() | st.integers() | st.integers(2**63 - 1, 2**63) | st.booleans()
amounts = st.none() | st.floats() | st.integers(0, 2)
moments = st.sampled_from(
    [
        datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
        datetime(2026, 1, 2, 5, 4, 5, 6, tzinfo=timezone(timedelta(hours=2))),
        datetime(2026, 1, 2, 3, 4, 5, 6),
    ]
)
changes = st.fixed_dictionaries(
    {"text": odd_text},
    optional={
        "item_id": odd_text,
        "model_reported": st.none() | odd_text,
        "reasoning_text": st.none() | odd_text,
        "input_tokens": numbers,
        "output_tokens": numbers,
        "cost_usd": amounts,
        "latency_s": st.floats() | st.integers(0, 1),
        "started_at": moments,
        "status": st.sampled_from(["ok", "refused", "failed"]),
        "schema_version": st.sampled_from([1, 2]),
    },
)


def content_of(folder):
    return (folder / "transcripts.parquet").read_bytes()


@settings(max_examples=150, deadline=None)
@given(st.lists(changes, min_size=1, max_size=4), st.integers(0, 2))
def test_what_is_in_memory_still_gives_the_copy_that_reading_it_again_gives(
    tmp_path_factory, sessions, before
):
    made = [
        dataclasses.replace(record, **one)
        for record, one in zip(records(["a"] * len(sessions)), sessions, strict=True)
    ]
    at_once, again = (folder_in(tmp_path_factory.mktemp("home")) for _ in range(2))
    keep_whole(at_once, made[:before])
    keep_whole(at_once, made)
    for path in at_once.path.glob("journal-*.jsonl"):
        (again / path.name).write_bytes(path.read_bytes())
    found, failed = [], []
    for folder in (at_once, again):
        try:
            compact_folder(folder, None)
            found.append(content_of(folder))
        except Exception as error:
            failed.append(str(error).replace(str(folder), ""))
    assert not failed or (len(failed) == 2 and failed[0] == failed[1])
    assert not found or found[0] == found[1]


def test_records_that_were_just_written_are_not_decoded_but_only_once_and_from_the_same_bytes(
    folder, monkeypatch
):
    made = records(["a", "b"])
    keep_whole(folder, made)
    path = folder / "journal-000001.jsonl"
    with monkeypatch.context() as patch:
        patch.delattr(segments, "scanned")
        assert [entry.record for entry in segments.read_segment(path)] == made
    places = [entry.location for entry in segments.read_segment(path)]
    other = dataclasses.replace(folder, run=2)
    keep_whole(other, made)
    elsewhere = [each.location[1:] for each in segments.read_segment(other / path.name)]
    assert elsewhere == [each[1:] for each in places]
    third = dataclasses.replace(folder, run=3)
    keep_whole(third, made)
    (third / path.name).write_bytes(b"".join(map(encode_line, records(["changed"]))))
    assert [entry.record.text for entry in segments.read_segment(third / path.name)] == ["changed"]


@pytest.mark.parametrize(
    "change",
    [{"cost_usd": math.nan}, {"input_tokens": 2**63}, {"text": "\ud83d\ude00"}, {"started_at": datetime(2026, 1, 2)}],
    ids=["nan", "count", "surrogates", "no zone"],
)  # fmt: skip
def test_what_a_line_cannot_hold_as_it_is_is_read_from_the_line(folder, change):
    keep_whole(folder, [dataclasses.replace(records(["a"])[0], **change)])
    assert not segments.at_hand(folder / "journal-000001.jsonl")
