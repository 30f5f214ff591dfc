"""The official board: the last board at a moment when every partition of the study was complete."""

from __future__ import annotations

from pathlib import Path

import duckdb

from metacog_pipeline.errors import StoreError
from metacog_pipeline.leaderboard.database import (
    LEADERBOARD,
    attach,
    building,
    new_database,
    open_database,
    text,
)

_NAMED = 3


def publish_official(home: Path) -> int:
    """Copy ``board`` to ``board_official`` and return its number of rows.

    Raises
    ------
    StoreError
        If a partition of the study is not complete (the first are named, the old official board stays), there is no
        board yet, or it cannot be replaced.
    """
    target = home / LEADERBOARD
    with building(home):
        if missing := _missing(home, target):
            named = ", ".join(missing[:_NAMED]) + (" …" if len(missing) > _NAMED else "")
            raise StoreError(
                f"the official board waits for {len(missing)} of the study's partitions: {named}; "
                "run metacog run STUDY until they are complete"
            )
        with new_database(home, target, copy=True) as connection:
            connection.execute("create or replace table board_official as from board")
            note = "The last board at a moment when every model and run of the study was complete; columns as board."
            connection.execute(f"comment on table board_official is {text(note)}")
            row = connection.execute("select count(*) from board_official").fetchone()
    return int(row[0]) if row else 0


def missing_partitions(home: Path) -> list[str]:
    """Return what keeps the board from being official, ``benchmark/model/run 1: state`` each.

    Raises
    ------
    StoreError
        If there is no board yet.
    """
    return _missing(home, home / LEADERBOARD)


def _missing(home: Path, target: Path) -> list[str]:
    connection = open_database(home)
    try:
        attach(connection, target, "leaderboard")
        rows = connection.execute(
            "select benchmark, model, run, state from leaderboard.board_partitions order by all"
        ).fetchall()
    except duckdb.Error as error:
        raise StoreError(f"{target}: has no board_partitions ({error}); rebuild the board first") from None
    finally:
        connection.close()
    if not rows:
        return ["every one, for none is listed yet"]
    return [
        f"{benchmark}/{model}/run {run}: {state}"
        for benchmark, model, run, state in rows
        if state != "complete"
    ]
