"""What is damaged is found wherever it stands, and a repair loses nothing that can be read anywhere."""

import asyncio
import random
from pathlib import Path

import pytest

from metacog_pipeline.transcripts.folder import PartitionFolder, read_manifest, write_manifest
from metacog_pipeline.transcripts.store import PartitionStore, kept_records
from metacog_pipeline.transcripts.verification import check, repair
from tests.partitions import read_records

SESSIONS, PER_SESSION, FLIPS = 2, 4, 40


@pytest.fixture
def folder(folder, make):
    """A partition of two sessions, compacted, with a manifest."""

    async def session(first: int) -> None:
        with PartitionStore(folder) as store:
            for n in range(first, first + PER_SESSION):
                await store.keep(make(n, text=f"reply {n} é"))
            store.compact({make(n).answer_id for n in range(SESSIONS * PER_SESSION)})

    for first in range(0, SESSIONS * PER_SESSION, PER_SESSION):
        asyncio.run(session(first))
    write_manifest(folder, {"model": "model-a", "state": "complete", "fingerprint": "f", "n_answered": 8})
    return folder


def _flip(path: Path, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def _ids(folder: PartitionFolder) -> set[str]:
    return {record.answer_id for record in kept_records(folder)}


def test_the_manifest_of_a_model_that_could_not_be_asked_is_no_damage(folder):
    write_manifest(folder, {"state": "failed", "message": "KEY is not set", "fingerprint": None})
    assert check(folder).damage == []
    assert repair(check(folder)).aside == () and read_manifest(folder)["message"] == "KEY is not set"


@pytest.mark.parametrize("name", ["journal-000001.jsonl", "journal-000002.jsonl"])
def test_a_flipped_bit_is_found_in_every_file(folder, name):
    path = folder / name
    whole = path.read_bytes()
    draw = random.Random(name)
    for bit in draw.sample(range(8 * len(whole)), FLIPS):
        _flip(path, bit)
        found = check(folder)
        assert any(str(path) in line for line in found.damage), f"bit {bit}"
        path.write_bytes(whole)


def test_a_line_damaged_in_the_journal_and_in_the_copy_is_lost_and_counted(folder):
    _flip(folder / "journal-000002.jsonl", 999)
    (folder / "transcripts.parquet").write_bytes(b"PAR1")
    done = repair(check(folder))
    assert (done.recovered, done.lost) == (0, 1)
    assert len(_ids(folder)) == 7 and check(folder).damage == []


def test_every_damage_at_once_keeps_all_that_can_be_read(folder):
    for name, bit in (("journal-000001.jsonl", 50), ("journal-000002.jsonl", 9000)):
        _flip(folder / name, bit)
    before = check(folder)
    assert before.records == 6 and len(before.damage) == 2
    done = repair(before)
    assert read_manifest(folder)["fingerprint"] is None, "the next run looks at the partition again"
    assert done.lost == 0 and len(_ids(folder)) == len(list(read_records(folder))) == 8
    assert check(folder).damage == []


def test_a_torn_end_is_no_damage(folder):
    with (folder / "journal-000002.jsonl").open("ab") as journal:
        journal.write(b'{"answer_id":"')
    found = check(folder)
    assert found.torn == 1 and found.damage == [] and found.copy_sound is None
