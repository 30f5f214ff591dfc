"""Answers kept by version 1: read with nulls for what was not known then, never asked again, beside those of now."""

import asyncio
import json
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.errors import StoreError
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.journal import segment_sizes, write_segment
from metacog_pipeline.transcripts.lines import decode_line, encode_line
from metacog_pipeline.transcripts.parquet import Footer, copied
from metacog_pipeline.transcripts.schema import ADDED_IN_2, ARROW_SCHEMA, SCHEMA_VERSION
from metacog_pipeline.transcripts.store import (
    PartitionStore,
    answers_table,
    kept_records,
    read_partition,
    standing_answers,
)
from tests.partitions import read_records

ARCHIVE = Path(__file__).parents[1] / "homes" / "version-0.1.tar.xz"


@pytest.fixture(scope="module")
def old_home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("old")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder / "home"


@pytest.fixture
def old(old_home, folder):
    """A partition as version 0.1 left it: a journal and a copy of schema 1."""
    source = old_home / "transcripts" / "benchmark=selfknowledge" / "model=alpha" / "run=1"
    for file in source.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    assert json.loads((folder / "journal-000001.jsonl").read_bytes().split(b"\n")[0])["schema_version"] == 1
    return folder


def _bytes(folder: PartitionFolder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.path.iterdir() if path.name != ".lock"}


def test_the_copy_is_read_as_it_stands_and_says_what_it_does_not_know(old):
    before = _bytes(old)
    table = read_partition(old)
    assert table.schema.equals(ARROW_SCHEMA) and table.num_rows == 12
    for row in table.to_pylist():
        assert all(row[name] is None for name in ADDED_IN_2)
        assert (row["reask"], row["schema_version"], row["superseded"]) == (0, SCHEMA_VERSION, False)
    assert read_partition(old, ["text", "reask"]).column_names == ["text", "reask"]
    assert _bytes(old) == before
    with PartitionStore(old) as store:
        assert store.compact().rows == 12
    assert read_partition(old).equals(table)
    assert _bytes(old)["journal-000001.jsonl"] == before["journal-000001.jsonl"]


def test_what_only_the_copy_has_is_found_and_carried_over(old, make):
    whole = {record.answer_id: record.text for record in kept_records(old)}
    (old / "journal-000001.jsonl").unlink()
    assert {record.answer_id: record.text for record in standing_answers(old)} == whole
    with PartitionStore(old) as store:
        assert len(store) == 12
        asyncio.run(store.keep(make(0, reasoning_text="so", reasoning_tokens=3)))
        assert store.compact().rows == 13
    table = read_partition(old)
    assert sorted(map(str, table["reasoning_text"].to_pylist()))[-1] == "so"
    assert table["schema_version"].to_pylist() == [SCHEMA_VERSION] * 13


def test_rows_that_version_0_3_kept_in_the_copy_alone_are_written_to_a_journal(folder, make):
    write_segment(folder, [make(0), make(1)])
    table = copied(folder, None)
    (folder / "journal-000001.jsonl").unlink()
    write_segment(folder, [make(1)])
    footer = Footer(2, segments=segment_sizes(folder), carried=1)
    pq.write_table(table.cast(footer.schema()), folder.copy)
    assert {record.item_id for record in kept_records(folder)} == {make(0).item_id, make(1).item_id}
    with PartitionStore(folder) as store:
        assert [record.item_id for record in read_records(folder)] == [make(1).item_id, make(0).item_id]
        assert store.compact().carried == 0 and store.cost_usd == pytest.approx(0.002)


def test_journals_of_both_versions_are_one_partition(old, make):
    first = next(iter(kept_records(old)))
    with PartitionStore(old) as store:
        assert store.find(first.answer_id) is not None
        store.reask([first.answer_id])
        asyncio.run(store.keep(make(0, answer_id=first.answer_id, item_id=first.item_id, step=first.step,
                                    condition=first.condition, model=first.model, attempts_billed=1)))  # fmt: skip
        assert store.compact([first.answer_id]).superseded >= 1
    rows = [row for row in read_partition(old).to_pylist() if row["answer_id"] == first.answer_id]
    found = [(row["reask"], row["superseded"], row["attempts_billed"]) for row in rows]
    assert found == [(0, True, None), (1, False, 1)]


@pytest.mark.parametrize("lost", ["text", "answer_id", "schema_version", "started_at"])
def test_an_old_copy_without_a_column_is_refused_in_one_line(old, lost):
    path = old / "transcripts.parquet"
    table = pq.read_table(path)
    pq.write_table(table.drop_columns([lost]), path)
    with pytest.raises(StoreError, match=r"cannot be read") as told:
        read_partition(old)
    assert "\n" not in str(told.value) and "run again" in str(told.value)
    with PartitionStore(old) as store:  # the journals hold every answer
        assert len(store) == 12


def test_counts_and_times_no_column_can_hold_are_null_and_the_answer_is_kept(folder, make):
    counts = ("input_tokens", "output_tokens", "reasoning_tokens", "cached_tokens", "cache_write_tokens")
    times = {"latency_s": float("nan"), "latency_first_ms": float("-inf"), "latency_ms": float("nan")}
    whole = {**dict.fromkeys(counts, 2**63), "attempts_billed": 2**31, "http_status": -(2**31) - 1}
    record = make(0, **whole, **times, cost_usd=float("inf"))
    line = decode_line(encode_line(record))
    assert all(getattr(line, name) is None for name in (*counts, "attempts_billed", "http_status"))
    assert (line.cost_usd, line.latency_s, line.latency_first_ms, line.latency_ms) == (None, 0.0, None, None)
    assert line.text == record.text
    with PartitionStore(folder) as store:
        asyncio.run(store.keep(record))
        assert store.compact().rows == 1
    edge = make(1, **dict.fromkeys(counts, 2**63 - 1), attempts_billed=2**31 - 1)
    assert decode_line(encode_line(edge)) == edge


def test_thoughts_bodies_and_texts_of_failed_calls_are_not_among_the_answers(folder, make):
    logprobs = '[["A",-0.1,[]]]'
    with PartitionStore(folder) as store:
        asyncio.run(store.keep(make(0, reasoning_text="CANARY", raw_zstd="CANARY", logprobs_json=logprobs)))
        asyncio.run(store.keep(make(1, status="failed", text="CANARY", logprobs_json=logprobs)))
        assert store.find(make(1).answer_id) is None
        store.compact()
    table = answers_table(folder)
    assert "CANARY" not in str(table.to_pylist())
    assert table["text"].to_pylist() == [make(0).text, ""]
    assert table["logprobs_json"].to_pylist() == [logprobs, None]
    told = [each for each in ARROW_SCHEMA if each.name not in ("reasoning_text", "raw_zstd")]
    assert table.schema == pa.schema(told)
    assert {row["text"] for row in read_partition(folder).to_pylist()} == {make(0).text, "CANARY"}
