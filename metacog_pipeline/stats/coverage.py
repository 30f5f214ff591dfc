"""How often intervals held the truth, measured: a grid of simulations, and the mark ``low_n`` that follows from it.

``coverage.csv`` is made by ``METACOG_WRITE_COVERAGE=1 make proofs`` (`tests/proofs/test_coverage.py`) and names the commit
it was made from. A measure needs as many right and as many wrong answers (a mean of scores: as many items) that all cells
from there on hold 92 to 98.5 %. What has fewer is marked, and so is what no cell covers.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from metacog_pipeline.stats import auroc, intervals

#: Coverage in per cent that counts as 95: below and above, a cell is outside.
LEAST, MOST = 92.0, 98.5
#: Answers of the smallest cells: with fewer nothing was measured.
FEWEST = 20
FILE = Path(__file__).with_name("coverage.csv")
SHARED_PREFIX = "harmonised_"
#: In the name of a row that is a rate of tests (of studies without a difference, of planned power), not a coverage.
RATE = ":"
#: The end of a method whose interval is the error of a simulation, not of a sample: it covers by its construction.
MONTE_CARLO = "Monte Carlo error"
#: Right or wrong answers from which on AUROC2 of two confidence levels covers 92 % for all shares, by the exact
#: enumeration that `intervals.scaled_score` reports. The cells of the grid have five levels.
LEAST_OF_TWO_LEVELS = 100
#: How the names of methods begin whose intervals cover alike for every measure, and the measure that represents them.
_BY_METHOD = {
    intervals.WILSON: "accuracy",
    intervals.SCALED: "auroc2",
    intervals.INVERTED: "ece",
    "plug-in": "meta_information",
}
#: The same of methods by which many measures are made; one that was measured itself has its own rows.
_LIKE = {
    intervals.TWO_POINT: "brier",
    "trimmed_mean, item bootstrap": "trimmed_mean",
    "median, item bootstrap": "median",
    "double_step, item bootstrap": "double_step",
    "mean, ": "mean_score",
    "mean of MMS": "mean_score",
    "mean MMS": "mean_score",
    "share of claims": "mean_score",
    "mean of tiers": "composite",
    "1 - ECE": "one_minus_ece",
    "item bootstrap, test inversion": "one_minus_ece",
    "item bootstrap": "passed_share",
    "log-linear": "d_type2",
    "clip ": "d_type2_clip",
    "c(risk_s2) - c(risk_s1)": "c",
    "ml, m ": "m_ratio_mafc",
}
#: Measures that are counted by their items: nothing is right or wrong, or not in one count.
BY_ITEMS = frozenset({
    "trimmed_mean", "median", "double_step", "mean_score", "composite", "one_minus_ece", "bet_mean", "passed_share",
})  # fmt: skip


class Cell(NamedTuple):
    """One cell of the grid; ``rarer`` counts right or wrong answers, whichever are fewer, or items (`BY_ITEMS`)."""

    measure: str
    n: int
    accuracy: float
    runs: int
    rarer: int
    coverage: float
    samples: int
    without: int

    @property
    def error(self) -> float:
        """Standard error of a coverage of 95 % in so many samples, in per cent; 0 without any."""
        judged = self.samples - self.without
        return 100 * math.sqrt(0.05 * 0.95 / judged) if judged else 0.0

    @property
    def inside(self) -> bool:
        """Whether the coverage lies in 92 to 98.5 %, or outside by less than its standard error."""
        # Where fewer than half of the samples have an interval, those that have one are no fair sample: outside.
        if 2 * self.without > self.samples:
            return False
        return LEAST - self.error <= self.coverage <= MOST + self.error


@functools.lru_cache(maxsize=1)
def digest() -> str:
    """Return what the grid is known by: rows marked by another are computed again.

    >>> len(digest())
    16
    """
    return hashlib.sha256(FILE.read_bytes()).hexdigest()[:16]


@functools.lru_cache(maxsize=1)
def cells() -> tuple[Cell, ...]:
    """Return the cells of the grid."""
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    # A coverage is empty where no sample had an interval.
    kinds = str, int, float, int, int, float, int, int
    made = ([kind(row[name] or 0) for kind, name in zip(kinds, Cell._fields, strict=True)] for row in rows)
    return tuple(Cell(*each) for each in made)


@functools.lru_cache(maxsize=1)
def least() -> Mapping[tuple[str, bool], float]:
    """Return for each measure, of one answer to an item or of several, how many right and how many wrong answers (or
    items) there must be; inf where no number does.
    """
    by_key: dict[tuple[str, bool], list[Cell]] = {}
    for cell in cells():
        if RATE not in cell.measure:
            by_key.setdefault((cell.measure, cell.runs > 1), []).append(cell)
    found = {}
    for key, own in by_key.items():
        bad = max((cell.rarer for cell in own if not cell.inside), default=-1)
        found[key] = min((float(cell.rarer) for cell in own if cell.rarer > bad), default=math.inf)
    return found


def low_n(
    measure: str, method: str, value: float | None, low: float | None, n: int, rarer: int | None, *,
    several: bool = False,
) -> bool | None:  # fmt: skip
    """Return whether an interval rests on fewer answers than its coverage was good with, or was never measured; None where
    there is no interval. The one rule of boards, comparisons and `metacog fit`.

    measure, method, value, low, n: of the estimate, as on the boards.
    rarer: right or wrong answers, whichever are fewer; of a share it is counted from ``value`` and ``n``.
    several: whether items have several answers.

    >>> low_n("accuracy", "wilson", 0.9, 0.8, 100, None), low_n("charm", "magic", 0.9, 0.8, 100, 10)
    (False, True)
    """
    if low is None or value is None:
        return None
    if method.endswith(MONTE_CARLO):
        return False
    kind, number = _basis(measure, method, value, n, rarer, several)
    if kind is None or number is None or n < FEWEST:
        return True
    if method.startswith(auroc.TWO_LEVELS) and number < LEAST_OF_TWO_LEVELS:
        return True
    return number < least()[kind]


def nearest(
    measure: str, method: str, value: float, n: int, rarer: int | None, *, several: bool = False
) -> Cell | None:
    """Return the cell of the grid nearest to an estimate, by its answers and those of the rarer kind; None without one.

    >>> found = nearest("accuracy", "wilson", 0.8, 230, None)
    >>> found.measure, found.n, found.accuracy
    ('accuracy', 200, 0.8)
    """
    kind, number = _basis(measure, method, value, n, rarer, several)
    if kind is None or number is None:
        return None

    def far(cell: Cell) -> float:
        return abs(math.log(cell.n * cell.runs / n)) + abs(math.log((cell.rarer + 1) / (number + 1)))

    return min((cell for cell in cells() if (cell.measure, cell.runs > 1) == kind), key=far, default=None)


def _basis(
    measure: str, method: str, value: float, n: int, rarer: int | None, several: bool
) -> tuple[tuple[str, bool] | None, int | None]:
    """Return the measure of the grid that is used for one, and of how many runs; and what is counted of it."""
    kind = _kind(measure, method, several)
    if kind is not None and kind[0] in BY_ITEMS:
        return kind, n
    if method.startswith(intervals.WILSON):
        share = min(max(value, 0.0), 1.0)
        return kind, round(n * min(share, 1 - share))
    return kind, rarer


def _kind(measure: str, method: str, several: bool) -> tuple[str, bool] | None:
    own = measure.removeprefix(SHARED_PREFIX)
    by_method = [
        name for begin, name in _BY_METHOD.items() if method.startswith(begin) or f", {begin}" in method
    ]
    if by_method:
        wanted = by_method[:1]
    else:
        wanted = [measure, own, *[name for begin, name in _LIKE.items() if method.startswith(begin)][:1]]
    keys = [(name, several and name not in BY_ITEMS) for name in wanted]
    return next((key for key in keys if key in least()), None)
