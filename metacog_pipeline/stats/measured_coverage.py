"""Where intervals were measured to cover too little or too much: a table of simulations, and the rule that follows.

``measured_coverage.csv`` is written by the coverage bench (`make bench`): per measure, number of items, accuracy and runs
of an item, how many of the 95 % intervals held the truth. For each measure it tells how many right and how many wrong
answers there must be (of means of scores: how many items) for all intervals measured from there on to cover 92 to 97 %.
Rows with fewer are marked on the boards, and so is every row with an interval whose coverage was not measured.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import math
from collections.abc import Mapping
from pathlib import Path

from metacog_pipeline.stats import auroc, calibration_interval

#: Coverage in per cent that counts as 95: below and above, a row is marked.
LEAST, MOST = 92.0, 97.0
FILE = Path(__file__).with_name("measured_coverage.csv")
SHARED_PREFIX = "harmonised_"
#: How the names of methods begin whose intervals cover alike whatever they are of, and a measure that stands for them.
_BY_METHOD = {
    "wilson": "accuracy",
    "scaled score": "auroc2",
    calibration_interval.METHOD: "ece",
    "plug-in": "meta_information",
}
#: Right or wrong answers from which on AUROC2 of two confidence levels covers 92 % whatever their shares, by the exact
#: enumeration that `auroc.score_interval` tells of. The cells of the table have five levels.
LEAST_OF_TWO_LEVELS = 100
#: The same of methods by which many measures are made; one that was measured itself has its own rows.
_LIKE = {
    "sem": "brier",
    "trimmed_mean, item bootstrap": "trimmed_mean",
    "median, item bootstrap": "median",
    "double_step, item bootstrap": "double_step",
    "mean, ": "resampled_mean",
    "mean over answers to step A": "resampled_mean",
    "mean of MMS": "resampled_mean",
    "mean MMS": "resampled_mean",
    "share of claims": "resampled_mean",
    "mean of tiers": "composite",
    "1 - ECE": "one_minus_ece",
    "item bootstrap, test inversion": "one_minus_ece",
    "bootstrap of pairs": "bet_mean",
    "item bootstrap": "passed_share",
    "log-linear": "d_type2",
    "clip ": "d_type2_clip",
    "c(risk_s2) - c(risk_s1)": "c",
    "ml, m ": "m_ratio_mafc",
}
#: Names of measures whose method is told under another name, where the beginning of the method would tell it wrongly.
_NAMED = {("rmi", "item bootstrap, recentred"): "rmi"}
#: Measures that are counted by their items: nothing is right or wrong, or not in one count.
_BY_ITEMS = frozenset(
    {
        "trimmed_mean",
        "median",
        "double_step",
        "resampled_mean",
        "composite",
        "one_minus_ece",
        "bet_mean",
        "passed_share",
    }
)


@functools.lru_cache(maxsize=1)
def digest() -> str:
    """Return what the table is known by: rows that were marked by another are made again.

    >>> len(digest())
    16
    """
    return hashlib.sha256(FILE.read_bytes()).hexdigest()[:16]


@functools.lru_cache(maxsize=1)
def least() -> Mapping[tuple[str, bool], float]:
    """Return for each measured measure, of one answer to an item or of several, how many right and how many wrong answers
    (or items) there must be; inf where none do.

    A coverage that lies outside by less than its standard error counts as inside.
    """
    inside: dict[tuple[str, bool], list[float]] = {}
    outside: dict[tuple[str, bool], list[float]] = {}
    with FILE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            judged = float(row["samples"]) - float(row["without"])
            error = 100 * math.sqrt(0.05 * 0.95 / judged) if judged else 0.0
            holds = LEAST - error <= float(row["coverage"] or 0) <= MOST + error
            key = row["measure"], int(row["runs"]) > 1
            (inside if holds else outside).setdefault(key, []).append(float(row["wrong"] or row["n"]))
    return {
        key: min((n for n in inside.get(key, []) if n > max(outside.get(key, [-1.0]))), default=math.inf)
        for key in {*inside, *outside}
    }


def low_n(
    measure: str,
    method: str,
    value: float | None,
    low: float | None,
    n: int,
    rarer: int | None,
    *,
    several: bool = False,
) -> bool | None:
    """Return whether an interval rests on fewer answers than its coverage was good with, or was never measured.

    Parameters
    ----------
    measure, method
        As on the boards.
    value, low, n
        Of the estimate; ``low`` is None where there is no interval.
    rarer
        Right or wrong answers, whichever are fewer; None where nothing is right or wrong. Of a share it is counted from
        ``value`` and ``n``; of a mean of scores items are counted instead, ``n``.
    several
        Whether items have several answers.

    Returns
    -------
    bool | None
        None where there is no interval.

    Examples
    --------
    >>> low_n("accuracy", "wilson", 0.9, 0.8, 100, None), low_n("charm", "magic", 0.9, 0.8, 100, 10)
    (False, True)
    """
    if low is None or value is None:
        return None
    kind = _kind(measure, method, several)
    if kind is None:
        return True
    if method.startswith("wilson"):
        share = min(max(value, 0.0), 1.0)
        rarer = round(n * min(share, 1 - share))
    if kind[0] in _BY_ITEMS:
        rarer = n
    if rarer is not None and method.startswith(auroc.TWO_LEVELS) and rarer < LEAST_OF_TWO_LEVELS:
        return True
    return rarer is None or rarer < least()[kind]


def _kind(measure: str, method: str, several: bool) -> tuple[str, bool] | None:
    """Return the measure of the table that stands for one, and of how many runs; None where there is none."""
    own = measure.removeprefix(SHARED_PREFIX)
    by_method = [
        name for begin, name in _BY_METHOD.items() if method.startswith(begin) or f", {begin}" in method
    ]
    if by_method:
        wanted = by_method[:1]
    elif (own, method) in _NAMED:
        wanted = [_NAMED[own, method]]
    else:
        wanted = [measure, own, *[name for begin, name in _LIKE.items() if method.startswith(begin)][:1]]
    keys = [(name, several and name not in _BY_ITEMS) for name in wanted]
    return next((key for key in keys if key in least()), None)
