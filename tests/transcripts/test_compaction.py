"""The Parquet copy: every record once, sorted, marked, and never torn."""

import random
from datetime import timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.errors import StoreError
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.lines import FIELDS, encode_line
from metacog_pipeline.transcripts.parquet import Footer, compact_folder
from metacog_pipeline.transcripts.schema import ARROW_SCHEMA, SCHEMA_VERSION, Record
from metacog_pipeline.transcripts.store import PartitionStore, read_partition
from tests.partitions import folder_in


def counts(copy: Footer) -> tuple[int, int]:
    return copy.rows, copy.superseded


def _segment(folder: PartitionFolder, number: int, *records: Record, torn: bytes = b"") -> None:
    lines = b"".join(encode_line(record) for record in records)
    (folder / f"journal-{number:06d}.jsonl").write_bytes(lines + torn)


def _rows(folder: PartitionFolder) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = read_partition(folder).to_pylist()
    return rows


def _files(folder: PartitionFolder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.path.iterdir()}


def test_every_column_of_every_record_is_there(folder, make):
    failed = make(1, status="failed", error_kind="transient", error_message="naïve", cost_usd=None)
    records = [make(0), failed]
    _segment(folder, 1, *records)
    assert counts(compact_folder(folder, None)) == (2, 0)
    table = read_partition(folder)
    assert table.schema.equals(ARROW_SCHEMA)
    for row, record in zip(table.to_pylist(), records, strict=True):
        told = {name: getattr(record, name) for name in FIELDS}
        assert row == {**told, "superseded": False, "text_altered": False}


def test_a_partition_without_records_has_an_empty_copy(folder):
    assert compact_folder(folder, []).rows == 0
    assert read_partition(folder).schema.equals(ARROW_SCHEMA)


def test_the_copy_is_the_same_however_the_records_came_in(tmp_path, make):
    places = [{"item_id": f"i{n % 7}", "condition": "ab"[n % 2], "step": f"s{n % 3}"} for n in range(60)]
    records = [make(n, **place, started_at=make(n % 5).started_at) for n, place in enumerate(places)]
    tables = []
    for seed in range(4):
        shuffled = random.Random(seed).sample(records, len(records))
        folder = folder_in(tmp_path, seed + 1)
        for number in range(1, seed + 2):
            _segment(folder, number, *shuffled[number - 1 :: seed + 1], torn=b'{"torn' * seed)
        compact_folder(folder, None)
        tables.append(read_partition(folder))
    assert all(table.equals(tables[0]) for table in tables)
    keys = tables[0].select(["item_id", "condition", "step", "answer_id", "started_at"]).to_pylist()
    assert keys == sorted(keys, key=lambda row: tuple(row.values())) and len(keys) == 60


def test_an_answer_is_there_once_and_failed_calls_all(folder, make):
    times = [make(0).started_at - timedelta(seconds=s) for s in (3, 2, 2)]
    _segment(folder, 1, *(make(0, status="failed", started_at=at) for at in times), make(0, text="first"))
    _segment(folder, 2, make(0, text="second", started_at=make(1).started_at))
    compact_folder(folder, None)
    assert [(row["status"], row["text"]) for row in _rows(folder)][3:] == [("ok", "first")]


def test_an_answer_is_superseded_when_its_question_has_another_current_one(folder, make):
    old, new = make(0, item_id="changed"), make(1, item_id="changed")
    other_step = make(2, item_id="changed", step="confidence")
    gone = make(3, item_id="no longer asked")
    unanswered = make(4, item_id="asked anew, not yet answered")
    failing_old, failing_new = make(5, item_id="failing"), make(6, item_id="failing", status="failed")
    _segment(folder, 1, old, new, other_step, gone, unanswered, failing_old, failing_new)
    current = {new.answer_id, other_step.answer_id, make(7).answer_id, failing_new.answer_id}
    assert compact_folder(folder, current).superseded == 2
    marked = {row["answer_id"] for row in _rows(folder) if row["superseded"]}
    assert marked == {old.answer_id, failing_old.answer_id}
    assert len(_rows(folder)) == 7


def test_the_answers_of_another_mode_are_superseded_though_their_steps_have_other_names(folder, make):
    whole = make(0, item_id="a", step="answer", mode="json_schema")
    parts = [make(n, item_id="a", step=step, mode="choice") for n, step in ((1, "choice"), (2, "confidence"))]
    judged = make(3, item_id="a", step="choice", model="another judge")
    _segment(folder, 1, whole, *parts, judged)
    for current, others in (([whole], parts), (parts, [whole])):
        compact_folder(folder, [each.answer_id for each in current])
        marked = {row["answer_id"] for row in _rows(folder) if row["superseded"]}
        assert marked == {each.answer_id for each in others}


def test_marks_stay_when_nobody_says_what_is_current_and_go_when_it_is_current_again(folder, make):
    old, new = make(0, item_id="a"), make(1, item_id="a")
    _segment(folder, 1, old, new)
    assert compact_folder(folder, [new.answer_id]).superseded == 1
    _segment(folder, 2, make(2))
    assert counts(compact_folder(folder, None)) == (3, 1)
    assert [row["answer_id"] for row in _rows(folder) if row["superseded"]] == [old.answer_id]
    compact_folder(folder, [old.answer_id])
    assert [row["answer_id"] for row in _rows(folder) if row["superseded"]] == [new.answer_id]


def test_an_up_to_date_copy_is_not_written_again_and_what_was_added_to_a_segment_reaches_it(folder, make):
    _segment(folder, 1, make(0, item_id="a"), make(1, item_id="a"))
    current, path = [make(1).answer_id], folder / "transcripts.parquet"
    first = compact_folder(folder, current)
    inode = path.stat().st_ino
    assert compact_folder(folder, current) == compact_folder(folder, None) == first
    assert path.stat().st_ino == inode
    compact_folder(folder, [make(0).answer_id])
    assert path.stat().st_ino != inode
    inode = path.stat().st_ino
    _segment(folder, 2, make(2))
    assert compact_folder(folder, [make(0).answer_id]).rows == 3
    assert path.stat().st_ino != inode
    _segment(folder, 2, make(2), make(3))
    assert compact_folder(folder, None).rows == 4


def test_text_parquet_cannot_hold_is_replaced_and_marked_and_the_journal_keeps_it(folder, make):
    odd = make(2, model_reported="m\ud83d", error_message="\udfff")
    _segment(folder, 1, make(0, text="a\ud83db\udc00"), make(1, text="nul \0 and é😀 stay"), odd)
    compact_folder(folder, None)
    rows = _rows(folder)
    assert [row["text"] for row in rows[:2]] == ["a\ufffdb\ufffd", "nul \0 and é😀 stay"]
    assert (rows[2]["model_reported"], rows[2]["error_message"]) == ("m\ufffd", "\ufffd")
    assert [row["text_altered"] for row in rows[:3]] == [True, False, True]


calls = st.tuples(st.integers(0, 3), st.sampled_from(["ok", "failed", "refused"]), st.text(max_size=3))


@settings(max_examples=10, deadline=None)
@given(st.lists(st.lists(calls, max_size=6), max_size=4), st.sets(st.integers(0, 3)))
def test_no_answer_is_lost_whatever_the_sessions_were(tmp_path_factory, make, sessions, current):
    folder = folder_in(tmp_path_factory.mktemp("home"))
    for number, session in enumerate(sessions, start=1):
        records = (make(n, item_id=f"i{n % 2}", status=s, text=t) for n, s, t in session)
        _segment(folder, number, *records, torn=b"{")
        compact_folder(folder, None)
    compact_folder(folder, [make(n).answer_id for n in current])
    rows = _rows(folder)
    flat = [(n, s) for session in sessions for n, s, _ in session]
    finished = sorted(row["answer_id"] for row in rows if row["status"] != "failed")  # type: ignore[type-var]
    assert finished == sorted({make(n).answer_id for n, s in flat if s != "failed"})
    assert sum(row["status"] == "failed" for row in rows) == sum(s == "failed" for _, s in flat)


def test_a_full_disk_leaves_everything_as_it_was(folder, make, disk_limit):
    noise = random.Random(1)
    _segment(folder, 1, make(0))
    compact_folder(folder, None)
    _segment(folder, 2, *(make(n, text=noise.randbytes(500).hex()) for n in range(1, 100)))
    before = _files(folder)
    disk_limit(10_000)
    with pytest.raises(StoreError, match=r"cannot write .*transcripts\.parquet: .*free space") as caught:
        compact_folder(folder, None)
    disk_limit(-1)
    assert "\n" not in str(caught.value)
    assert _files(folder) == before
    assert compact_folder(folder, None).rows == 100


def test_what_a_killed_compaction_left_is_removed_by_the_next(folder, make):
    _segment(folder, 1, make(0))
    (folder / ".transcripts.parquet.abc.tmp").write_bytes(b"PAR1 half")
    compact_folder(folder, None)
    assert sorted(_files(folder)) == ["journal-000001.jsonl", "transcripts.parquet"]


def test_a_missing_copy_says_to_run_first(folder):
    with pytest.raises(StoreError, match="does not exist: run this partition first"):
        read_partition(folder)


def test_a_foreign_parquet_file_is_named_and_put_aside_where_journals_hold_every_answer(folder, make):
    pq.write_table(pa.table({"a": [1]}), folder / "transcripts.parquet")
    before = _files(folder)
    for action in (lambda: compact_folder(folder, None), lambda: read_partition(folder)):
        with pytest.raises(StoreError, match=r"not a transcript file.* restore it from a copy"):
            action()
    assert _files(folder) == before
    _segment(folder, 1, make(0))
    assert compact_folder(folder, None).rows == 1
    assert _files(folder)["transcripts.parquet.damaged"] == before["transcripts.parquet"]


def test_a_copy_of_a_newer_version_is_named(folder):
    newer = pa.schema([("other", pa.int64())], metadata={"metacog_schema_version": str(SCHEMA_VERSION + 1)})
    pq.write_table(newer.empty_table(), folder / "transcripts.parquet")
    with pytest.raises(StoreError, match="written by a newer version"):
        read_partition(folder)
    with pytest.raises(StoreError, match="written by a newer version"):
        PartitionStore(folder)


@pytest.mark.parametrize("journals", [True, False])
def test_a_copy_damaged_anywhere_is_reported_or_reads_the_same(folder, make, journals):
    _segment(folder, 1, *(make(n, text=f"text {n} " * 20) for n in range(50)))
    compact_folder(folder, None)
    if not journals:
        (folder / "journal-000001.jsonl").unlink()
    path = folder / "transcripts.parquet"
    whole, table, chance = path.read_bytes(), read_partition(folder), random.Random(7)
    reported = 0
    for _ in range(20):
        damaged = bytearray(whole)
        if chance.random() < 0.3:
            damaged = damaged[: chance.randrange(len(whole))]
        else:
            damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        try:
            assert read_partition(folder).equals(table)
        except StoreError as error:
            reported += 1
            assert str(path) in str(error)
        try:
            with PartitionStore(folder) as store:
                assert len(store) == 50
                assert store.compact([make(0).answer_id]).rows == 50
        except StoreError as error:
            assert str(path) in str(error)
    assert reported > 10
