"""``csv``: a file for every table, and the calls themselves, from which `metacog import` makes the same board.

A text that a spreadsheet would take for a formula, or that begins with a quote mark, gets one quote mark in front; nothing
else is changed, so that the texts can be had back exactly.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.exporting.facts import Facts
from metacog_pipeline.interchange.logs.exported import ANSWERS, MARKED
from metacog_pipeline.leaderboard.output import plain


def write(facts: Facts, folder: Path) -> list[str]:
    """Write every table of a study as CSV."""
    rows = {}
    for name, frame in facts.tables():
        rows[f"{name}.csv"] = write_table(folder / f"{name}.csv", frame)
    answers = []
    for benchmark in facts.benchmarks():
        rows[f"items-{benchmark.name}.csv"] = write_table(
            folder / f"items-{benchmark.name}.csv", facts.items(benchmark)
        )
        found = facts.answers(benchmark)
        answers += [found] if found.height else []
    if answers:
        rows[f"{ANSWERS}.csv"] = write_table(folder / f"{ANSWERS}.csv", pl.concat(answers))
    facts.write_judged(folder)
    facts.write_about(folder, {"format": "csv", "rows": rows})
    return [f"{len(rows)} tables, {sum(rows.values()):,} rows"]


def write_table(path: Path, frame: pl.DataFrame) -> int:
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
