"""Printed numbers as rows: tables in the units of the boards, checks against their own parts, and headline claims.

Rows of ``published_claims`` with ``place = 'headline'`` are what a paper leads with: ``quantity`` is the claim, ``subject``
the data, ``recomputed`` with ``low`` and ``high`` what follows, ``expected`` what chance or construction alone would give.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.special import stdtrit

from metacog_pipeline.benchmark.schema import schema_of

Tables = Callable[[str], pl.DataFrame]


def hundredth(name: str) -> pl.Expr:
    """Return column ``name`` divided by 100, rounded once: by a number Polars multiplies with its inverse instead."""
    return pl.col(name).map_batches(
        lambda points: pl.Series(points.to_numpy() / 100), return_dtype=pl.Float64
    )


def long(frame: pl.DataFrame, measures: Sequence[str], *, value: str = "value") -> pl.DataFrame:
    """Return one row per ``measure`` that has a value; the other columns are repeated."""
    index = [column for column in frame.columns if column not in measures]
    found = frame.with_columns(pl.col(list(measures)).cast(pl.Float64)).unpivot(
        list(measures), index=index, variable_name="measure", value_name=value
    )
    return found.drop_nulls(value)


# --- checks of printed numbers against their own parts ------------------------------------------------------------------
class Check(NamedTuple):
    """One number; ``difference`` is recomputed minus published, ``tolerance`` what rounding of printed parts explains."""

    place: str
    subject: str
    quantity: str
    method: str
    published: float
    recomputed: float
    difference: float
    tolerance: float
    follows: bool
    note: str | None


AUDIT_SCHEMA = pl.Schema({**schema_of(Check), "verdict": pl.String()})


def check(
    place: str,
    subject: str,
    quantity: str,
    method: str,
    published: float,
    recomputed: float,
    tolerance: float,
    note: str | None = None,
) -> Check:
    """Return whether a number follows; ``note`` is reported where it does not."""
    published, recomputed = float(published), float(recomputed)
    difference = recomputed - published
    follows = bool(abs(difference) <= tolerance + 1e-9)
    numbers = (published, recomputed, difference, tolerance)
    return Check(place, subject, quantity, method, *numbers, follows, None if follows else note)


def audit_frame(checks: Iterable[Check]) -> pl.DataFrame:
    """Return the checks in `AUDIT_SCHEMA`."""
    verdict = pl.when("follows").then(pl.lit("follows")).otherwise(pl.lit("differs"))
    return pl.DataFrame([*checks], schema=schema_of(Check), orient="row").with_columns(verdict=verdict)


# --- headline claims --------------------------------------------------------------------------------------------------
PLACE = "headline"
HOLDS, FAILS, BUILT = "holds", "does not hold", "by construction"
UNDECIDED, UNKNOWN = "not decided", "not computed"
Row = dict[str, Any]


def claim(
    subject: str, text: str, method: str, verdict: str, recomputed: float | None = None, **values: Any
) -> Row:
    """Return one row; ``values`` are ``published``, ``low``, ``high``, ``expected`` and ``note``."""
    row = {
        "subject": subject,
        "quantity": text,
        "method": method,
        "verdict": verdict,
        "recomputed": recomputed,
    }
    return {**row, **dict.fromkeys(("published", "low", "high", "note")), "expected": "", **values}


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
