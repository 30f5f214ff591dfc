"""What an import costs: a table of a million rows, most of them about items that have an answer already, and one of
100,000 rows that are all kept. Run by ``make bench``."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.files import shipped
from metacog_pipeline.transcripts.store import keep_whole
from tests.metamedqa.conftest import make_items
from tests.metamedqa.reading import read_answers
from tests.performance.spending import spent

pytestmark = pytest.mark.bench

STUDY = """
[study]
name = "t"
home = "home"

[[models]]
name = "theirs"
provider = "replay"

[benchmarks.metamedqa]
dataset = "sample"
"""
CUSTOM = '"sample"', '"custom"\nfolder = "own"'
_RUN = "import sys; from metacog_pipeline.cli import main; main(sys.argv[1:])"


def _write(path: Path, rows: int, name: str, items: int, first: int = 1) -> None:
    drawn = random.Random(1)
    with path.open("w", encoding="utf-8") as out:
        out.write("item_id,choice,confidence\n")
        for n in range(rows):
            item = name.format(n % items + first)
            out.write(f"{item},{'ABCDEF'[drawn.randrange(6)]},{drawn.randrange(1, 6)}\n")


def _imported(folder: Path) -> tuple[subprocess.CompletedProcess[str], float, float]:
    """Import the answers of ``folder``; return what was said, processor seconds and megabytes."""
    command = [
        "import",
        folder / "answers.csv",
        "--study",
        folder / "study.toml",
        "--model",
        "theirs",
        "--run",
        "1",
    ]
    seconds, megabytes, done = spent([sys.executable, "-c", _RUN, *command])
    return done, seconds, megabytes


def _own_items(folder: Path, items: int) -> None:
    """Write a question set of one's own: the sample's parent questions over and over, each with words of its own."""
    lines = (shipped("data", "metamedqa", "sample") / "parent.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    folder.mkdir()
    with (folder / "parent.jsonl").open("w", encoding="utf-8") as out:
        for n in range(items):
            row = rows[n % len(rows)]
            out.write(json.dumps({**row, "realidx": n, "question": f"Case {n}: {row['question']}"}) + "\n")
    (folder / "edits.jsonl").write_text("", encoding="utf-8")


@pytest.mark.parametrize(("items", "name"), [(96, "sample-{:04d}"), (20_000, "custom-{:04d}")])
def test_a_million_rows_are_imported_within_20_seconds_and_1200_mb(items, name, tmp_path, figure):
    own = name.startswith("custom")
    (tmp_path / "study.toml").write_text(STUDY.replace(*CUSTOM) if own else STUDY, encoding="utf-8")
    if own:
        _own_items(tmp_path / "own", items)
        _write(tmp_path / "answers.csv", 1, name, 1, first=0)
        _imported(tmp_path)  # builds the items
    _write(tmp_path / "answers.csv", 1_000_000, name, items, first=0)
    done, seconds, memory = _imported(tmp_path)
    assert done.returncode == 8 and f"1000000 rows, {items} taken" in done.stdout, done.stderr
    assert f"{1_000_000 - items} not taken" in done.stdout
    with (tmp_path / "answers.csv.rejected.csv").open(encoding="utf-8") as listed:
        assert sum(1 for _ in listed) == 1_000_001 - items
    figure(
        f"import of 1,000,000 rows of {items} items, start-up and list of rows included",
        "< 20 s CPU, < 1.2 GB",
        f"{seconds:.1f} s, {memory:.0f} MB",
        seconds < 20 and memory < 1200,
    )


def test_a_million_rows_of_as_many_items_are_imported_within_20_seconds_and_1200_mb(tmp_path, figure):
    (tmp_path / "study.toml").write_text(STUDY.replace(*CUSTOM), encoding="utf-8")
    _own_items(tmp_path / "own", 1_000)
    _write(tmp_path / "answers.csv", 1, "custom-{:04d}", 1, first=0)
    _imported(tmp_path)  # builds the items
    _many_items(tmp_path / "home" / "items" / "metamedqa.parquet", 1_000_000)
    _write(tmp_path / "answers.csv", 1_000_000, "custom-{:04d}", 1_000_000, first=0)
    text = (tmp_path / "answers.csv").read_text(encoding="utf-8").splitlines()
    text[500], text[900], text[-1] = "custom-0499,Q,3", "nobody,A,1", "custom-9"  # three that cannot be taken
    (tmp_path / "answers.csv").write_text("\n".join(text), encoding="utf-8")
    done, seconds, memory = _imported(tmp_path)
    assert done.returncode == 8 and "1000000 rows, 999997 taken" in done.stdout, done.stderr
    figure(
        "import of 1,000,000 rows of as many items, all kept but three, start-up included",
        "< 20 s CPU, < 1.2 GB", f"{seconds:.1f} s, {memory:.0f} MB", seconds < 20 and memory < 1200,
    )  # fmt: skip


def _many_items(path: Path, items: int) -> None:
    """Make the items of a study many times as many: building a million of them takes minutes, and is not what is timed."""
    table = pq.read_table(path)
    rows = table.take(np.arange(items) % table.num_rows)
    ids = pa.array([f"custom-{n:04d}" for n in range(items)])
    rows = rows.set_column(rows.schema.get_field_index("item_id"), rows.schema.field("item_id"), ids)
    pq.write_table(rows, path, compression="zstd")


def test_100_000_rows_that_are_all_kept(tmp_path, folder, figure):
    items = make_items(100_000)
    file = tmp_path / "answers.csv"
    _write(file, 99_999, "test-{:04d}", 99_999)
    text = file.read_text(encoding="utf-8").splitlines()
    text[500], text[50_000], text[99_999] = (
        "test-0500,Q,3",
        "nobody,A,1",
        "test-9",
    )  # three that cannot be read
    file.write_text("\n".join(text), encoding="utf-8")
    clock = time.process_time()
    found = read_answers(file, items, model="theirs", run=1)
    keep_whole(folder, found.records)
    seconds = time.process_time() - clock
    assert len(found.rejected) == 3
    assert len(found.records) == 99_996
    figure(
        "import of 100,000 rows that are all kept but three", "< 10 s CPU", f"{seconds:.1f} s", seconds < 10
    )
