"""What a leaderboard was built from, kept inside it: ``detail.snapshot`` and ``detail.inputs``."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.leaderboard.database import OFFICIAL, attach, attached, text
from metacog_pipeline.leaderboard.inputs import Input
from metacog_pipeline.leaderboard.listing import Listing
from metacog_pipeline.leaderboard.models import Project, SqlModel

#: Raised when a file of another make cannot be built on.
FORMAT = "5"
LENGTH = 12
_COMMENTS = {
    "snapshot": "One row: the build. Its id is told wherever numbers leave the file.",
    "inputs": "One row: a file the tables are made from. Key: file.",
}
_COLUMNS = {
    "snapshot": {
        "id": "first 12 digits of the SHA-256 of study, versions and the digests of all input files",
        "study": "name of the study",
        "seed": "the study's seed",
        "version": "of metacog",
        "format": "of this file",
        "built_at": "when",
        "complete": "whether every partition of the study was complete",
        "listing": "digest of what the study asks, its models left out",
        "models": "each model the study lists, with the digest of what it says of it",
        "tables": "each table of this file: its name, rows, the digest of its SQL, and why it could not be built and is "
        "empty, null for all others",
    },
    "inputs": {
        "file": "path below the study's home",
        "size": "bytes",
        "mtime_ns": "time it was written, in nanoseconds",
        "digest": "SHA-256 of its content",
    },
}


@dataclass(frozen=True, slots=True)
class Old:
    """What the file that is there was made from; ``reusable`` where the next build can start from it."""

    reusable: bool = False
    listing: Listing = field(default_factory=lambda: Listing("", {}))
    files: Mapping[str, Input] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)


def without(old: Old, table: str) -> Old:
    """Return ``old`` as if it did not have ``table``, which is then made anew."""
    return replace(old, digests={name: digest for name, digest in old.digests.items() if name != table})


def read_old(instance: duckdb.DuckDBPyConnection, target: Path) -> tuple[Old, tuple[str, ...]]:
    """Return what ``target`` was made from, and what people should know: an unreadable file is moved aside."""
    if not target.exists():
        return Old(), ()
    try:
        with attached(instance, old=target) as connection:
            rows = connection.execute("select format, listing, models from old.detail.snapshot").fetchall()
            if not rows or rows[0][0] != FORMAT or _mostly_free(connection):
                return Old(), ()
            files = inputs_of(connection, "old")
            tables = connection.execute(
                "select one.name, if(one.reason is null, one.digest, null), one.rows "
                "from (select unnest(tables) as one from old.detail.snapshot)"
            ).fetchall()
    except StoreError as error:
        aside = target.with_name("leaderboard.unreadable.duckdb")
        target.replace(aside)
        return Old(), (f"the old board was unreadable and now stands at {aside}: {error}",)
    except duckdb.Error:  # a file of version 0.1: everything is made anew
        return Old(), ()
    return Old(
        True,
        Listing(*rows[0][1:]),
        files,
        {row[0]: row[1] for row in tables if row[1] is not None},
        {row[0]: row[2] for row in tables},
    ), ()


def inputs_of(connection: duckdb.DuckDBPyConnection, name: str) -> dict[str, Input]:
    """Return the files from which the leaderboard that is attached as ``name`` was made, by path."""
    rows = connection.execute(f"select file, size, mtime_ns, digest from {name}.detail.inputs").fetchall()
    return {row[0]: Input(*row) for row in rows}


def _mostly_free(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether most of the file is room that replaced rows left."""
    row = connection.execute(
        "select free_blocks > used_blocks and total_blocks > 400 from pragma_database_size() where database_name = 'old'"
    ).fetchone()
    return bool(row and row[0])


def carry_over(connection: duckdb.DuckDBPyConnection, target: Path) -> None:
    """Copy the official board from the old file into a new one."""
    if not target.exists():
        return
    attach(connection, target, "old")
    found = connection.execute(
        "select comment from duckdb_tables() where database_name = 'old' and table_name = ?", [OFFICIAL]
    ).fetchall()
    if found:
        connection.execute(f"create table detail.{OFFICIAL} as from old.detail.{OFFICIAL}")
        connection.execute(f"comment on table detail.{OFFICIAL} is {text(found[0][0] or '')}")
    connection.execute("detach old")


def write(
    connection: duckdb.DuckDBPyConnection,
    project: Project,
    files: Mapping[str, Input],
    listing: Listing,
    rows: Mapping[str, int],
    reasons: Mapping[str, str],
) -> str:
    """Write both tables anew and return the snapshot's id."""
    digests = {model.name: digest_of(project, model) for model in project.models}
    study = (connection.execute("select name, seed, digest from stg_study").fetchall() or [(None, None, "")])[
        0
    ]
    release = _release()
    marks = [[each.path, each.digest] for each in files.values()]
    said = [listing.asked, listing.models]
    shot = sha256_hex(canonical_json([study[2], release, digests, *said, marks]))[:LENGTH]
    names = [*digests, *(name for name in reasons if name not in digests)]
    tables = [
        {
            "name": name,
            "rows": rows.get(name, 0),
            "digest": digests.get(name),
            "reason": reasons.get(name),
        }
        for name in names
    ]
    connection.execute(
        "create or replace table detail.snapshot as select ?::varchar as id, ?::varchar as study, ?::bigint as seed, "
        "?::varchar as version, ?::varchar as format, current_timestamp as built_at, "
        "(select coalesce(bool_and(state = 'complete'), false) from progress where role <> 'helper') as complete, "
        "?::varchar as listing, map(?::varchar[], ?::varchar[]) as models, "
        "?::struct(name varchar, rows bigint, digest varchar, reason varchar)[] as tables",
        [
            *(
                shot,
                *study[:2],
                release,
                FORMAT,
                listing.asked,
                [*listing.models],
                [*listing.models.values()],
            ),
            tables,
        ],
    )
    _replace(connection, "inputs", {
        "file": [each.path for each in files.values()],
        "size": [each.size for each in files.values()],
        "mtime_ns": [each.mtime_ns for each in files.values()],
        "digest": [each.digest for each in files.values()],
    })  # fmt: skip
    comments = [f"comment on table detail.{name} is {text(said)}" for name, said in _COMMENTS.items()]
    comments += [
        f"comment on column detail.{table}.{name} is {text(said)}"
        for table, columns in _COLUMNS.items()
        for name, said in columns.items()
    ]
    connection.execute(";\n".join(comments))
    return shot


def digest_of(project: Project, model: SqlModel) -> str:
    """Return what changes when the SQL of a table does, the parts and the shape of the files it reads, or the release."""
    parts = [part.digest for part in project.parts if f"stg_{part.header.part_of}" in model.reads]
    read = sorted({view for name in model.reads for view in project.sources(name)})
    shapes = [repr(project.datasets[view]) for view in read]
    return sha256_hex(canonical_json([_release(), model.digest, *parts, *shapes]))


@functools.cache
def _release() -> str:
    """Return the installed release; its metadata are read and parsed once, not for every table of every build."""
    return version("metacog_pipeline")


def _replace(connection: duckdb.DuckDBPyConnection, name: str, columns: Mapping[str, Sequence[Any]]) -> None:
    kinds = {"size": pa.int64(), "mtime_ns": pa.int64()}
    table = pa.table({key: pa.array(values, kinds.get(key, pa.string())) for key, values in columns.items()})
    connection.register("made_now", table)
    connection.execute(f"create or replace table detail.{name} as from made_now")
    connection.unregister("made_now")
