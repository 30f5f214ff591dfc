"""Bad input gives one line that says what, where and what to do; an exit code; nothing lost; no traceback."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.files import shipped
from metacog_pipeline.scoring import files
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts.store import PartitionStore, kept_records


def edited(study: Path, old: str, new: str) -> Path:
    study.write_text(study.read_text().replace(old, new), encoding="utf-8")
    return study


def test_an_edit_whose_before_text_does_not_match(metacog, study):
    folder = study.parent / "own"
    folder.mkdir()
    for name in ("parent.jsonl", "edits.jsonl", "fictional.jsonl"):
        (folder / name).write_bytes(shipped("data", "metamedqa", "sample", name).read_bytes())
    records = [json.loads(line) for line in (folder / "edits.jsonl").read_text().splitlines()]
    chosen = next(record for record in records if any("before" in change for change in record["changes"]))
    chosen["changes"][0]["before"] += " but not quite"
    (folder / "edits.jsonl").write_text("\n".join(map(json.dumps, records)))
    edited(study, 'dataset = "sample"', 'dataset = "custom"\nfolder = "own"')
    result = metacog("plan", study)
    result.refused_in_one_line(chosen["item_id"], chosen["changes"][0]["field"], "but not quite")
    assert result.code == 3


def test_a_source_with_one_changed_byte(metacog, study, tmp_path, medqa):
    folder = tmp_path / "copy"
    folder.mkdir()
    raw = gzip.decompress(medqa.read_bytes())
    place = raw.index(b"physician")
    (folder / "medqa_usmle_4opt_test.jsonl").write_bytes(raw[:place] + b"P" + raw[place + 1 :])
    edited(study, 'dataset = "sample"', 'dataset = "published"')
    result = metacog("doctor", study, "--fetch", "--from", folder)
    result.refused_in_one_line("medqa_usmle_4opt_test.jsonl", "expected", "found")
    assert result.code == 3
    assert not list((study.parent / "home" / "sources").rglob("*.jsonl"))


def test_a_source_that_is_not_there(metacog, study, tmp_path):
    edited(study, 'dataset = "sample"', 'dataset = "published"')
    gone = metacog("doctor", study, "--fetch", "--from", tmp_path / "nowhere")
    gone.refused_in_one_line("nowhere", "no such folder")
    (tmp_path / "bare").mkdir()
    bare = metacog("doctor", study, "--fetch", "--from", tmp_path / "bare")
    bare.refused_in_one_line("medqa", "looked for")


def answers(study: Path, text: str, name: str = "answers.csv") -> Path:
    path = study.parent / name
    path.write_text(text, encoding="utf-8")
    return path


def partition_of(study: Path, model: str) -> Partition:
    loaded = load_study(study)
    return Partition(loaded, "metamedqa", loaded.model(model), 1)


@pytest.fixture
def taken(metacog, study):
    """Return what imports a file as the answers of a replayed model."""

    def run(file: Path, *more: str) -> Any:
        about = ("--study", study, "--model", "theirs", "--run", "1")
        return metacog("import", "metamedqa", file, *about, *more)

    return run


def test_an_import_with_unknown_items_lists_each_and_keeps_the_rest(taken, study):
    rows = "item_id,choice,confidence\nsample-0001,A,5\nno-such-item,B,4\nsample-0002,2,3\n"
    result = taken(answers(study, rows))
    assert result.code == 8
    assert "row 3: not kept: item_id 'no-such-item' is none of the 121 items" in result.err
    assert "2 answers kept" in result.out
    kept = kept_records(partition_of(study, "theirs").folder)
    assert {record.item_id for record in kept} == {"sample-0001", "sample-0002"}


def test_a_confidence_of_7_is_kept_and_cannot_be_read(taken, study):
    result = taken(answers(study, "item_id,choice,confidence\nsample-0001,A,7\n"))
    assert result.code == 0 and "1 answers kept" in result.out
    assert "of 1 answers that were read 1 cannot be read" in result.out


def test_a_huge_answer_nul_bytes_and_lone_surrogates_are_kept_and_read(taken, study):
    texts = [
        "thinking " * 1_200_000 + "\nAnswer: B\nConfidence: 4",
        "Answer: A\x00\nConfidence: 3\x00",
        "\ud800 Answer: C\nConfidence: 2 \udfff",
    ]
    rows = [{"item_id": f"sample-000{n}", "response": text} for n, text in enumerate(texts, start=1)]
    file = answers(study, "\n".join(json.dumps(row) for row in rows), "answers.jsonl")
    edited(study, "limit = 10\n", "")
    assert taken(file, "--quiet").code == 0
    partition = partition_of(study, "theirs")
    with PartitionStore(partition.folder) as store:
        store.compact()
    kept = {record.item_id: record.text for record in kept_records(partition.folder)}
    assert kept == {row["item_id"]: row["response"] for row in rows}
    read = files.read(bound(partition.study, "metamedqa"), partition).filter(pl.col("status") != "not_run")
    assert dict(read.select("item_id", "answer").iter_rows()) == dict(zip(sorted(kept), "BAC", strict=True))
