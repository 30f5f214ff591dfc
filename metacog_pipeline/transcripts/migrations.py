"""Older rows made current: one numbered function per change of the schema.

``MIGRATIONS[n]`` takes a row of version n as a dict of plain values and returns it as version n + 1. Version 1 is the
first, so there is none yet. Journals are never rewritten: rows are migrated each time they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from metacog_pipeline.transcripts.schema import SCHEMA_VERSION

Row = dict[str, Any]
Migration = Callable[[Row], Row]

MIGRATIONS: Mapping[int, Migration] = {}


class NewerVersionError(ValueError):
    """A row was written by a newer version of the package than this one."""


def upgrade(row: Row, migrations: Mapping[int, Migration] = MIGRATIONS, current: int = SCHEMA_VERSION) -> Row:
    """Return ``row`` as a row of version ``current``.

    Raises ``NewerVersionError`` when the row is newer, ``ValueError`` when its version is missing, not a whole number,
    or one no migration starts from.
    """
    version = row.get("schema_version")
    if type(version) is not int:
        raise ValueError("no schema_version")
    if version > current:
        raise NewerVersionError(
            f"written by a newer version of metacog_pipeline (schema {version}, this one reads up to {current})"
        )
    for step in range(version, current):
        if step not in migrations:
            raise ValueError(f"schema version {step} is unknown")
        row = {**migrations[step](row), "schema_version": step + 1}
    return row
