"""How often the published 95 % intervals hold the truth: 92 to 97 %, or rows as small are marked ``low_n``."""

import os

import pytest

from metacog_pipeline.stats import measured_coverage
from metacog_pipeline.stats.measured_coverage import LEAST, MOST
from tests.performance.coverage_cells import ACCURACIES, NUMBERS, WAYS, coverages, grid, write

pytestmark = pytest.mark.bench
WRITE = "METACOG_WRITE_COVERAGE"


@pytest.mark.parametrize("way", WAYS)
def test_intervals_cover_or_are_marked(way, figure):
    rows = coverages(grid((way,)), os.cpu_count() or 1)
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
        row
        for row in unmarked
        if float(str(row["wrong"] or row["n"]))
        >= least.get((str(row["measure"]), int(str(row["runs"])) > 1), float("inf"))
    ]
    far = [
        row
        for row in bad
        if row["coverage"] is not None and not LEAST - 2 <= float(str(row["coverage"])) <= MOST + 1.5
    ]
    cells = f"{len(rows) - len(unmarked)} of {len(rows)} cells inside, {len(unmarked) - len(bad)} marked"
    figure(f"coverage of intervals, {way}", "92 to 97 %, or marked low_n", cells, not far)
