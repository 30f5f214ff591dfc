"""kill -9 at random moments: what was acknowledged is there, and nothing that reads stumbles."""

import os
import random
import signal
import time
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.journal import read_segment, segments
from metacog_pipeline.transcripts.lines import encode_line
from metacog_pipeline.transcripts.store import PartitionStore, read_partition
from tests.partitions import read_records

CHILD = Path(__file__).with_name("crash_child.py")


@pytest.fixture
def killed(make, loaded):
    """Run the child, kill it some seconds after so many acknowledgements; return every answer it acknowledged."""
    line = encode_line(make()).decode().strip()

    def run(what: str, folder: PartitionFolder, first: int, acknowledgements: int, then_s: float) -> set[str]:
        reads, writes = os.pipe()
        with os.fdopen(reads) as told, Path(os.devnull).open() as nothing, TemporaryFile("w+") as err:
            files = (nothing.fileno(), writes, err.fileno())
            child = loaded.writing(files, CHILD, what, folder.home.path, str(first), line, **os.environ)
            os.close(writes)
            try:
                seen = [told.readline() for _ in range(acknowledgements)]
                time.sleep(then_s)
            finally:
                child.send_signal(signal.SIGKILL)
            seen += told.readlines()
            code = child.wait()
            err.seek(0)
            errors = err.read()
        assert errors == "" and code == -9, errors
        return {answer.strip() for answer in seen}

    return run


@pytest.mark.slow
def test_every_acknowledged_record_survives_twenty_kills(folder, killed):
    chance = random.Random(20260)
    acknowledged: set[str] = set()
    frozen: dict[Path, int] = {}
    for session in range(1, 21):
        answers = killed("journal", folder, session * 10**6, chance.randrange(1, 150), chance.random() * 0.01)
        acknowledged |= answers
        found = segments(folder)
        assert len(found) == session, "each session opens one new segment"
        assert all(path.stat().st_size == size for path, size in frozen.items()), (
            "older segments stay as they are"
        )
        frozen = {path: path.stat().st_size for path in found}
        assert answers <= {record.answer_id for record in read_segment(found[-1])}
    kept = [record.answer_id for record in read_records(folder)]
    assert acknowledged <= set(kept) and len(kept) == len(set(kept))
    assert len(acknowledged) > 400
    with PartitionStore(folder) as store:
        assert all(store.find(answer) is not None for answer in acknowledged)


@pytest.mark.slow
def test_the_copy_is_whole_and_the_store_opens_after_kills_during_compaction(folder, killed):
    chance = random.Random(11)
    acknowledged: set[str] = set()
    rows = 0
    for session in range(1, 9):
        acknowledged |= killed(
            "store", folder, session * 999, chance.randrange(3, 12), chance.random() * 0.03
        )
        if (folder / "transcripts.parquet").exists():
            before, rows = rows, len(read_partition(folder))
            assert rows >= before, "a copy never holds less than the one before"
        with PartitionStore(folder) as store:
            assert all(store.find(answer) is not None for answer in acknowledged)
    assert rows > 0
    with PartitionStore(folder) as store:
        store.compact([])
    assert set(read_partition(folder, ["answer_id"]).column(0).to_pylist()) >= acknowledged
    assert not list(folder.path.glob(".*.tmp"))
