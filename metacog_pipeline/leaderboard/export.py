"""A query's answer as a file: Parquet with the types of the database, CSV or JSON as printed."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from metacog_pipeline.errors import StoreError, StudyError
from metacog_pipeline.files import replacing, write_text
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.output import render
from metacog_pipeline.leaderboard.read import query_table, run_query

KINDS = (".parquet", ".csv", ".json")


def export_query(home: Home, sql: str, target: Path) -> int:
    """Write what ``sql`` answers to ``target``, by its suffix, and return the number of rows.

    A file that is there is replaced, whole or not at all. In CSV, text that a spreadsheet would take for a formula gets a
    quote in front; numbers stay numbers.

    Raises
    ------
    StudyError
        Another suffix, or not one reading statement.
    StoreError
        There is no leaderboard, or the file cannot be written.
    """
    kind = target.suffix.lower()
    if kind not in KINDS:
        raise StudyError(
            f"--output {target}: {kind or 'no suffix'}; give a file that ends in {', '.join(KINDS)}"
        )
    try:
        if kind == ".parquet":
            table = query_table(home, sql)
            with replacing(target) as temporary:
                pq.write_table(table, temporary)
            return int(table.num_rows)
        rows = run_query(home, sql)
        write_text(target, render(rows, "csv" if kind == ".csv" else "json"))
        return len(rows.rows)
    except OSError as error:
        raise StoreError(
            f"--output {target}: cannot be written ({error.strerror or error}); choose another place"
        ) from None
