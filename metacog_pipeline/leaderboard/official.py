"""The official board: the last board at a moment when every partition of the study was complete."""

from __future__ import annotations

from pathlib import Path

import duckdb

from metacog_pipeline.errors import StoreError
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.database import (
    OFFICIAL,
    attached,
    building,
    new_database,
    one_instance,
    text,
)

_NAMED = 3


def publish_official(home: Home) -> int:
    """Copy ``leaderboard`` to ``leaderboard_official`` and return its number of rows.

    Raises
    ------
    StoreError
        If a partition of the study is not complete (the first are named, the old official board stays), there is no
        board yet, or it cannot be replaced.
    """
    target = home.leaderboard
    with building(home), one_instance(home) as instance:
        if missing := _missing(instance, target):
            named = ", ".join(missing[:_NAMED]) + (" …" if len(missing) > _NAMED else "")
            raise StoreError(
                f"the official board waits for {len(missing)} of the study's partitions: {named}; "
                "run metacog run STUDY until they are complete"
            )
        with new_database(instance, target, copy=True) as connection:
            connection.begin()
            connection.execute(f"create or replace table detail.{OFFICIAL} as from leaderboard")
            note = "One row: as leaderboard, at the last moment when every model and run of the study was complete."
            connection.execute(f"comment on table detail.{OFFICIAL} is {text(note)}")
            said = connection.execute(
                "select column_name, comment from duckdb_columns() where table_name = 'leaderboard' "
                "and schema_name = 'main' and database_name = current_database() and comment is not null"
            ).fetchall()
            for column, words in said:
                connection.execute(f"comment on column detail.{OFFICIAL}.{column} is {text(words)}")
            row = connection.execute(f"select count(*) from detail.{OFFICIAL}").fetchone()
            connection.commit()
    return int(row[0]) if row else 0


def _missing(instance: duckdb.DuckDBPyConnection, target: Path) -> list[str]:
    try:
        with attached(instance, leaderboard=target) as connection:
            rows = connection.execute(
                "select benchmark, model, run, state from leaderboard.progress order by benchmark, model, run"
            ).fetchall()
    except duckdb.Error as error:
        raise StoreError(f"{target}: has no progress ({error}); rebuild the board first") from None
    if not rows:
        return ["every one, for none is listed yet"]
    return [
        f"{benchmark}/{model}/run {run}: {state}"
        for benchmark, model, run, state in rows
        if state != "complete"
    ]
