"""How often the published 95 % intervals hold the truth: 92 to 97 %, or rows as small are marked ``low_n``."""

from __future__ import annotations

import os

import pytest

from metacog_pipeline.stats import measured_coverage
from metacog_pipeline.stats.coverage import LEAST, MOST
from tests.performance.conftest import Figure
from tests.performance.coverage_cells import ACCURACIES, NUMBERS, WAYS, coverages, grid

pytestmark = pytest.mark.bench
WRITE = "METACOG_WRITE_COVERAGE"
COLUMNS = ("measure", "n", "accuracy", "wrong", "coverage", "samples", "without")
HEAD = "# Written by tests/performance/test_coverage.py (METACOG_WRITE_COVERAGE=1 make bench): do not edit.\n"


@pytest.mark.parametrize("way", WAYS)
def test_intervals_cover_or_are_marked(way: str, figure: Figure) -> None:
    rows = list(coverages(grid((way,)), os.cpu_count() or 1))
    print(f"\ncoverage in per cent at n × accuracy: {NUMBERS} × {ACCURACIES}")
    for name in dict.fromkeys(str(row["measure"]) for row in rows):
        own = [row for row in rows if row["measure"] == name]
        print(f"{name:>32} " + " ".join(f"{row['coverage'] or 0:5.1f}" for row in own))
    if os.environ.get(WRITE):
        write(rows)
    least = measured_coverage.least()
    unmarked = [
        row for row in rows if row["coverage"] is None or not LEAST <= float(str(row["coverage"])) <= MOST
    ]
    bad = [
        row for row in unmarked if float(str(row["wrong"])) >= least.get(str(row["measure"]), float("inf"))
    ]
    far = [
        row
        for row in bad
        if row["coverage"] is not None and not LEAST - 2 <= float(str(row["coverage"])) <= MOST + 1.5
    ]
    cells = f"{len(rows) - len(unmarked)} of {len(rows)} cells inside, {len(unmarked) - len(bad)} marked"
    figure(f"coverage of intervals, {way}", "92 to 97 %, or marked low_n", cells, not far)


def write(rows: list[dict[str, object]]) -> None:
    """Put the rows in the place of those of the same measures."""
    path = measured_coverage.FILE
    new = {str(row["measure"]) for row in rows}
    kept = (
        [line for line in path.read_text("utf-8").splitlines()[2:] if line.split(",")[0] not in new]
        if path.exists()
        else []
    )
    made = [
        ",".join(
            "" if row[name] is None else f"{row[name]:.4g}" if name == "coverage" else str(row[name])
            for name in COLUMNS
        )
        for row in rows
    ]
    path.write_text(HEAD + ",".join(COLUMNS) + "\n" + "\n".join(sorted(kept + made)) + "\n", "utf-8")
