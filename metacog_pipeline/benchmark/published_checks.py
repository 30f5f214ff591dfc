"""Published numbers held against their own parts: one row a check, whether the number follows and what is said if not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import polars as pl

AUDIT_SCHEMA = pl.Schema(
    {
        **dict.fromkeys(("place", "subject", "quantity", "method"), pl.String),
        **dict.fromkeys(("published", "recomputed", "difference", "tolerance"), pl.Float64),
        "follows": pl.Boolean,
        "note": pl.String,
    }
)


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
    """Return whether a number follows; ``note`` is said where it does not."""
    published, recomputed = float(published), float(recomputed)
    difference = recomputed - published
    follows = bool(abs(difference) <= tolerance + 1e-9)
    said = None if follows else note
    return Check(
        place, subject, quantity, method, published, recomputed, difference, tolerance, follows, said
    )


def audit_frame(checks: Iterable[Check]) -> pl.DataFrame:
    """Return the checks in `AUDIT_SCHEMA`."""
    return pl.DataFrame([tuple(each) for each in checks], schema=AUDIT_SCHEMA, orient="row")
