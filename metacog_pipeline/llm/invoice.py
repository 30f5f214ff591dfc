"""A provider's invoice (CSV) compared with the charges of kept calls: per model and day in UTC, with the difference."""

from __future__ import annotations

import contextlib
import csv
import math
import re
import zlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import read_within

# Consoles of providers export columns under one of these names.
DAY = ("date", "day", "usage_date", "usage_date_utc", "start_time", "start_time_iso", "start_date",
       "usage_start_time")  # fmt: skip
MODEL = ("model", "model_id", "model_version", "snapshot_id", "line_item", "sku", "description")
DOLLARS = ("cost_usd", "amount_usd", "cost", "amount", "amount_value", "total_cost", "total", "usd")
# what an invoice says of no model: taxes, credits, storage
OTHER = "(no model)"
MOST_BYTES = 64 * 2**20
# "gpt-5-mini, cached input": the model and what of it was billed
_PARTS = re.compile(r"\s*[,|(].*$")
_NOT_OF_NUMBERS = re.compile(r"[$\s,]|usd", re.IGNORECASE)

Charges = Mapping[tuple[date, str], float]


@dataclass(frozen=True, slots=True)
class Line:
    """What one model cost on one day, in dollars: by the invoice, and by what was charged for kept calls."""

    day: date
    model: str
    invoiced: float
    charged: float

    @property
    def difference(self) -> float:
        """Dollars invoiced beyond what was charged; negative where less was invoiced."""
        return self.invoiced - self.charged


def compared(invoice: Charges, charged: Charges) -> list[Line]:
    """Return a line for each model and day that either names, in order of days and models."""
    # An invoice may name a dated version of the id that was asked for, or write it in other letters: the
    # longest id that its name begins with is meant.
    ids = sorted({model for _, model in charged}, key=len, reverse=True)

    def id_of(name: str) -> str:
        bare = name.lower().rpartition("/")[2]
        for each in ids:
            known = each.lower().rpartition("/")[2]
            if bare == known or bare.startswith((f"{known}-", f"{known}@")):
                return each
        return name

    # Rows of one model and day (input, output, cached input) are added up.
    sums: defaultdict[tuple[date, str], float] = defaultdict(float)
    for (day, name), dollars in invoice.items():
        sums[day, id_of(name)] += dollars
    keys = sorted({*sums, *charged})
    return [Line(*key, sums[key], charged.get(key, 0.0)) for key in keys]


def read_invoice(path: Path) -> dict[tuple[date, str], float]:
    """Return the dollars of an invoice by day and model. Raises ``StudyError`` with the line that cannot be read."""
    try:
        text = read_within(path, MOST_BYTES).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, ValueError) as error:
        what_to_do = "give the CSV file that the provider exports, of a shorter time where it is too large"
        raise StudyError(f"{path}: cannot be read ({error}); {what_to_do}") from None
    rows = csv.DictReader(text.splitlines())
    fields = {re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_"): name for name in rows.fieldnames or ()}
    day, model, dollars = (_column(path, fields, names) for names in (DAY, MODEL, DOLLARS))
    sums: defaultdict[tuple[date, str], float] = defaultdict(float)
    for row in rows:
        where, name = f"{path}:{rows.line_num}", _PARTS.sub("", row[model] or "").strip() or OTHER
        sums[_day(where, row[day] or ""), name] += _number(where, row[dollars] or "")
    return dict(sums)


def _column(path: Path, fields: Mapping[str, str], names: tuple[str, ...]) -> str:
    if found := next((name for name in names if name in fields), None):
        return fields[found]
    has, others = ", ".join(fields) or "none", ", ".join(names[1:])
    raise StudyError(f"{path}: no column {names[0]!r} (or {others}); it has {has}: rename one of them")


def _day(where: str, said: str) -> date:
    try:
        # OpenAI counts seconds
        if re.fullmatch(r"\d{9,11}", said):
            return datetime.fromtimestamp(int(said), UTC).date()
        found = datetime.fromisoformat(said.strip())
    except ValueError:
        raise StudyError(f"{where}: {said!r} is no day; write it as 2026-11-28") from None
    return (found.astimezone(UTC) if found.tzinfo else found).date()


def _number(where: str, said: str) -> float:
    with contextlib.suppress(ValueError):
        if math.isfinite(found := float(_NOT_OF_NUMBERS.sub("", said) or "0")):
            return found
    raise StudyError(f"{where}: {said!r} is no number of dollars")
