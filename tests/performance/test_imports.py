"""What the import of a table of a million rows costs, most of them about items that have an answer already."""

import random
import sys

import pytest

from tests.performance.spending import spent

pytestmark = pytest.mark.bench

ROWS, ITEMS, MOST_S, MOST_MB = 1_000_000, 96, 20, 1200
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


def test_a_million_rows_are_imported(tmp_path, figure):
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    drawn, table = random.Random(1), tmp_path / "answers.csv"
    with table.open("w", encoding="utf-8") as out:
        out.write("item_id,choice,confidence\n")
        for n in range(ROWS):
            out.write(f"sample-{n % ITEMS:04d},{drawn.choice('ABCDEF')},{drawn.randrange(1, 6)}\n")
    options = ["--study", tmp_path / "study.toml", "--model", "theirs", "--run", "1"]
    seconds, memory, done = spent([sys.executable, "-m", "metacog_pipeline", "import", table, *options])
    assert done.returncode == 8 and f"{ROWS} rows: {ITEMS} taken" in done.stdout, done.stderr[:500]
    figure(
        f"import of {ROWS:,} rows of {ITEMS} items, start-up included",
        f"≤ {MOST_S} s CPU, ≤ {MOST_MB} MB",
        f"{seconds:.1f} s, {memory:.0f} MB",
        seconds <= MOST_S and memory <= MOST_MB,
    )
