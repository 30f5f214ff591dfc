"""Where intervals were measured to cover too little or too much: a table of simulations, and the rule that follows from it.

``measured_coverage.csv`` is written by the coverage bench (`make bench`): per measure, number of answers and accuracy, how
many of the 95 % intervals held the truth. For each measure it tells how many right and how many wrong answers there must be
for all intervals measured from there on to cover 92 to 97 %. Rows with fewer are marked on the boards.
"""

from __future__ import annotations

import csv
import functools
import math
from collections.abc import Mapping
from pathlib import Path

from metacog_pipeline.stats import calibration_interval
from metacog_pipeline.stats.coverage import LEAST, MOST

FILE = Path(__file__).with_name("measured_coverage.csv")
SHARED_PREFIX = "harmonised_"
#: How the names of methods begin whose intervals cover alike whatever they are of, and a measure that stands for them.
_BY_METHOD = {"wilson": "accuracy", "scaled score": "auroc2", calibration_interval.METHOD: "ece"}


@functools.lru_cache(maxsize=1)
def least() -> Mapping[str, float]:
    """Return for each measured measure how many right and how many wrong answers there must be; inf where none do.

    A coverage that lies outside by less than its standard error counts as inside.

    >>> least()["brier"]
    9.0
    """
    inside: dict[str, list[float]] = {}
    outside: dict[str, list[float]] = {}
    with FILE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            error = 100 * math.sqrt(0.05 * 0.95 / float(row["samples"]))
            holds = LEAST - error <= float(row["coverage"] or 0) <= MOST + error
            (inside if holds else outside).setdefault(row["measure"], []).append(float(row["wrong"]))
    return {
        name: min((n for n in inside.get(name, []) if n > max(outside.get(name, [-1.0]))), default=math.inf)
        for name in {*inside, *outside}
    }


def low_n(
    measure: str, method: str, value: float | None, low: float | None, n: int, rarer: int | None
) -> bool | None:
    """Return whether an interval rests on fewer right or wrong answers than its coverage was good with.

    Parameters
    ----------
    measure, method
        As on the boards.
    value, low, n
        Of the estimate; ``low`` is None where there is no interval.
    rarer
        Right or wrong answers, whichever are fewer; None where nothing is right or wrong. Of a share it is counted from
        ``value`` and ``n``.

    Returns
    -------
    bool | None
        None where there is no interval, or its coverage was never measured.

    Examples
    --------
    >>> low_n("accuracy", "wilson", 0.9, 0.8, 100, None), low_n("charm", "magic", 0.9, 0.8, 100, 10)
    (False, None)
    """
    kind = _kind(measure, method)
    if kind is None or low is None or value is None:
        return None
    if method.startswith("wilson"):
        share = min(max(value, 0.0), 1.0)
        rarer = round(n * min(share, 1 - share))
    return None if rarer is None else rarer < least()[kind]


def _kind(measure: str, method: str) -> str | None:
    """Return the measure of the table that stands for one; None where there is none."""
    for begin, stands_for in _BY_METHOD.items():
        if method.startswith(begin) or f", {begin}" in method:
            return stands_for if stands_for in least() else None
    return next((name for name in (measure, measure.removeprefix(SHARED_PREFIX)) if name in least()), None)
