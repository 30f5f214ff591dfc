"""A data frame as CSV that spreadsheets cannot run.

A text that a spreadsheet would take for a formula, or that begins with a quote mark, gets one quote mark in front; nothing
else is changed, so that the texts can be had back exactly.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.interchange.logs.exported import MARKED
from metacog_pipeline.leaderboard.output import plain


def write_csv(path: Path, frame: pl.DataFrame) -> int:
    """Write a table as CSV and return its rows."""
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(frame.columns)
        for row in frame.iter_rows():
            writer.writerow([_cell(value) for value in row])
    return frame.height


def _cell(value: Any) -> Any:
    value = plain(value)
    if isinstance(value, str):
        return f"'{value}" if value.lstrip(" ").startswith(MARKED) else value
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=True)
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else value
