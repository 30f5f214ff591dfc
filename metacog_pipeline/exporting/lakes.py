"""``ducklake``: tables, items and calls as a DuckLake, where DuckDB has that extension; nothing is fetched for it."""

from __future__ import annotations

import contextlib
from pathlib import Path

import duckdb
import polars as pl

from metacog_pipeline.errors import StudyError
from metacog_pipeline.exporting.facts import Facts
from metacog_pipeline.leaderboard.database import identifier, open_database, text

CATALOG, DATA = "catalog.ducklake", "data"


def write(facts: Facts, folder: Path) -> list[str]:
    """Write a catalog and its Parquet files."""
    with contextlib.closing(open_database(folder)) as connection:
        try:
            connection.execute("load ducklake")
        except duckdb.Error:
            raise StudyError(
                "--format ducklake: DuckDB has no extension ducklake on this machine; where there is a network "
                "python -c 'import duckdb; duckdb.sql(\"install ducklake\")' fetches it; --format hf needs none"
            ) from None
        catalog, data = text(f"ducklake:{folder / CATALOG}"), text(str(folder / DATA))
        connection.execute(f"attach {catalog} as lake (data_path {data})")
        rows = fill(connection, facts)
        connection.execute("detach lake")
    facts.write_about(folder, {"format": "ducklake", "rows": rows})
    return [f"{len(rows)} tables, {sum(rows.values()):,} rows"]


def fill(connection: duckdb.DuckDBPyConnection, facts: Facts) -> dict[str, int]:
    """Make every table of a study in the attached database ``lake``; return their rows by name."""
    frames = dict(facts.tables())
    benchmarks = facts.benchmarks()
    frames |= {f"items_of_{each.name}": facts.items(each) for each in benchmarks}
    answers = [found for each in benchmarks if (found := facts.answers(each)).height]
    frames |= {"answers": pl.concat(answers)} if answers else {}
    for name, frame in frames.items():
        connection.register("made_now", frame.to_arrow())
        connection.execute(f"create table lake.{identifier(name)} as from made_now")
        connection.unregister("made_now")
    return {name: frame.height for name, frame in frames.items()}
