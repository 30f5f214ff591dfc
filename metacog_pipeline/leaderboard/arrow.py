"""A query's answer as an Arrow table that Polars and Parquet take: names differ, and intervals are durations."""

from __future__ import annotations

import pyarrow as pa

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.leaderboard.output import unique

_DURATION = pa.duration("us")
_DAY_US = 86_400_000_000
_DAYS_A_MONTH = 30  # as DuckDB compares intervals, and as they are printed


def plain(table: pa.Table) -> pa.Table:
    """Return ``table`` with repeated names numbered and every interval as a duration.

    Raises
    ------
    StudyError
        A column holds a union, or intervals within lists or structs: there is no such column in a frame.
    """
    names = unique(table.column_names)
    columns = [_plain(name, column) for name, column in zip(names, table.columns, strict=True)]
    return pa.table(columns, names=names)


def _plain(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_interval(column.type):
        return pa.chunked_array([[_duration(each) for each in column.to_pylist()]], type=_DURATION)
    if not _fits(column.type):
        raise StudyError(
            f'query: column "{name}" holds {one_line(str(column.type), 60)}, which fits no frame; select its parts, or '
            f'"{name}"::varchar'
        )
    return column


def _fits(kind: pa.DataType) -> bool:
    if pa.types.is_interval(kind) or pa.types.is_union(kind):
        return False
    return all(_fits(kind.field(place).type) for place in range(kind.num_fields))


def _duration(interval: pa.MonthDayNano | None) -> int | None:
    if interval is None:
        return None
    days = interval.months * _DAYS_A_MONTH + interval.days
    return int(days * _DAY_US + interval.nanoseconds // 1000)
