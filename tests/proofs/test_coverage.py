"""How often 95 % intervals hold the truth over a grid of cells, and how often tests find what is not there.

``METACOG_WRITE_COVERAGE=1`` writes the grid anew: 20 minutes of CPU.
"""

import os

import pytest

from metacog_pipeline.stats import coverage
from tests.proofs import coverage_grid

pytestmark = pytest.mark.proof


def test_every_cell_covers_or_its_rows_are_marked(tmp_path):
    if os.environ.get("METACOG_WRITE_COVERAGE"):
        coverage_grid.write([*coverage_grid.rows(), *coverage_grid.rates(tmp_path)])
        for cached in (coverage.digest, coverage.cells, coverage.least):
            cached.cache_clear()
    unmarked = [
        cell
        for cell in coverage.cells()
        if coverage.RATE not in cell.measure
        and not cell.inside
        and cell.rarer >= coverage.least()[cell.measure, cell.runs > 1]
    ]
    assert unmarked == []


@pytest.mark.parametrize("way", coverage_grid.WAYS)
def test_the_grid_holds_what_a_smaller_one_finds(way):
    kept = {(cell.measure, cell.n, cell.accuracy, cell.runs): cell for cell in coverage.cells()}
    for row in coverage_grid.measured(way, 60, 0.8, 1, scale=0.5):
        cell = kept[row["measure"], 60, 0.8, 1]
        judged = int(row["samples"]) - int(row["without"])
        if judged and cell.samples > cell.without:
            spread = 100 * (0.05 * 0.95) ** 0.5 * (1 / judged + 1 / (cell.samples - cell.without)) ** 0.5
            assert abs(float(row["coverage"]) - cell.coverage) <= max(5 * spread, 5)


def test_studies_without_a_difference_find_one_in_at_most_five_of_a_hundred_and_planned_trials_suffice():
    rates = {cell.measure: cell for cell in coverage.cells() if coverage.RATE in cell.measure}
    assert any(name.startswith("family_wise:") for name in rates)
    for name, cell in rates.items():
        wanted = 95.0 if name.startswith("family_wise:") else 100 * coverage_grid.PROMISED
        error = 100 * (wanted / 100 * (1 - wanted / 100) / cell.samples) ** 0.5
        assert cell.coverage >= wanted - 3 * error, name
