"""Older rows made current: one numbered function per change of the schema.

``MIGRATIONS[n]`` takes a row of version n as a dict of plain values and returns it as version n + 1. Journals are never
rewritten: rows are migrated each time they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from metacog_pipeline.transcripts.schema import SCHEMA_VERSION

Row = dict[str, Any]
Migration = Callable[[Row], Row]

ADDED_IN_2 = (
    *("reasoning_text", "reasoning_tokens", "cached_tokens", "cache_write_tokens", "service_tier", "lane"),
    *("prices_json", "response_id", "system_fingerprint", "finish_detail", "latency_first_ms", "latency_ms"),
    *("attempts_billed", "raw_zstd"),
)


def _reasoning_and_usage(row: Row) -> Row:
    """Version 1 kept none of the reasoning, the usage details or the reply's ids: they are not known. It asked once."""
    return {**row, **dict.fromkeys(ADDED_IN_2), "reask": 0}


MIGRATIONS: Mapping[int, Migration] = {1: _reasoning_and_usage}


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
