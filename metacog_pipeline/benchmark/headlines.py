"""Ledgers of headline claims: what a paper leads with, against its own tables, and what would be seen without it.

Rows of ``published_claims`` with ``place = 'headline'``: ``quantity`` is the claim, ``subject`` the data, ``recomputed``
with ``low`` and ``high`` what follows, ``expected`` what chance or construction alone would give.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtrit

PLACE = "headline"
HOLDS, FAILS, BUILT = "holds", "does not hold", "by construction"
UNDECIDED, UNKNOWN = "not decided", "not computed"
Row = dict[str, Any]


def claim(
    subject: str, text: str, method: str, verdict: str, recomputed: float | None = None, **told: Any
) -> Row:
    """Return one row; ``told`` are ``published``, ``low``, ``high``, ``expected`` and ``note``."""
    none = dict.fromkeys(("published", "low", "high", "note"))
    return {
        "subject": subject, "quantity": text, "method": method, "verdict": verdict, "recomputed": recomputed,
        **none, "expected": "", **told,
    }  # fmt: skip


def waiting(text: str, method: str, missing: str, expected: str) -> Row:
    """Return a claim that cannot be computed, with what is missing."""
    return claim("not published", text, method, UNKNOWN, expected=expected, note=missing)


def ledger(rows: Iterable[Row]) -> pl.DataFrame:
    """Return the claims of a paper as rows of ``published_claims``."""
    frame = pl.DataFrame(list(rows), infer_schema_length=None)
    return frame.with_columns(
        place=pl.lit(PLACE), difference=pl.col("recomputed") - pl.col("published").cast(pl.Float64)
    )


def above(low: float, high: float, null: float = 0.0) -> str:
    """Return whether an interval lies above ``null``: the claim holds; below: it does not; else it is not decided."""
    return HOLDS if low > null else FAILS if high < null else UNDECIDED


def all_of(count: int, total: int) -> str:
    """Return whether a claim about every case holds."""
    return HOLDS if count == total else FAILS


def difference(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float, float]:
    """Return first minus second of two independent numbers (value, standard error), with its 95 % ends."""
    value, half = first[0] - second[0], 1.96 * math.hypot(first[1], second[1])
    return value, value - half, value + half


def mean_of(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean of a few numbers with Student's 95 % interval."""
    given = np.asarray(values, dtype=np.float64)
    half = float(stdtrit(len(given) - 1, 0.975)) * float(given.std(ddof=1)) / math.sqrt(len(given))
    mean = float(given.mean())
    return mean, mean - half, mean + half


def of_share(share: float, n: float) -> tuple[float, float]:
    """Return a share with its standard error, for `difference`."""
    return share, math.sqrt(share * (1 - share) / n)
