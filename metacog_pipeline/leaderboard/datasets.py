"""The files the SQL reads: the shipped tables brought into the home, empty datasets given a shape, torn files named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.errors import StoreError, one_line
from metacog_pipeline.files import replacing, shipped
from metacog_pipeline.leaderboard.schemas import DATASETS

PUBLISHED = "published"


def prepare(home: Path, patterns: Iterable[str], schemas: Mapping[str, pa.Schema] = DATASETS) -> None:
    """Make every pattern match at least one file, so that a study without answers still has a board.

    Published tables are copied from the package to ``<home>/published/``. A dataset with a schema gets a file without
    rows; its name sorts and globs with the rest.

    Raises
    ------
    StoreError
        If nothing matches a pattern and its schema is not known, or the home cannot be written.
    """
    try:
        _copy_published(home)
        for pattern in sorted(set(patterns)):
            if schema := schemas.get(pattern):
                _write_shape(home / shape_path(pattern), schema)
            elif not any(True for _ in home.glob(pattern)):
                raise StoreError(
                    f"{home / pattern}: no such file, and no SQL file may read what is not described"
                )
    except OSError as error:
        raise StoreError(
            f"{home}: cannot be written ({error.strerror or error}); free space or check the study's home"
        ) from None


def shape_path(pattern: str) -> PurePosixPath:
    """Return where the file without rows of ``pattern`` stands: ``a/**/*.parquet`` gives ``a/_schema.parquet``."""
    path = PurePosixPath(pattern)
    folders = [part for part in path.parent.parts if part != "**"]
    if any("*" in part for part in folders):
        raise StoreError(f"{pattern}: only ** may stand for folders in a pattern read by SQL")
    return PurePosixPath(*folders, path.name.replace("*", "_schema"))


def first_unreadable(home: Path, patterns: Iterable[str]) -> tuple[Path, str] | None:
    """Return the first Parquet file matching ``patterns`` that cannot be read to its end, and why.

    Every byte is decoded: a file may be torn in the middle and still have a whole footer.
    """
    for pattern in sorted(set(patterns)):
        for path in sorted(home.glob(pattern)):
            if path.suffix == ".parquet" and (reason := _fault(path)):
                return path, reason
    return None


def torn_file_error(home: Path, patterns: Iterable[str]) -> StoreError | None:
    """Return the error naming the first unreadable Parquet file and what to do about it; None when all can be read."""
    found = first_unreadable(home, patterns)
    if not found:
        return None
    path, reason = found
    if path.relative_to(home).parts[0] == "transcripts":
        again = "it is written again from the journal beside it"
    else:
        again = "it is made again from the kept answers, nothing is asked twice"
    return StoreError(
        f"{path}: not a readable Parquet file ({reason}); move it away and run metacog run STUDY: {again}"
    )


def _fault(path: Path) -> str | None:
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=65_536):
                batch.validate(full=True)
    except (OSError, ValueError, pa.ArrowException) as error:
        return one_line(str(error).replace(str(path), "the file"), 160)
    return None


def _write_shape(path: Path, schema: pa.Schema) -> None:
    # A file in a name without wildcards is data; the shape of a glob is refreshed, so that a column added to a schema
    # is there (as nulls) for files written before.
    if path.exists() and (not path.stem.endswith("_schema") or _has_schema(path, schema)):
        return
    with replacing(path) as temporary:
        pq.write_table(schema.empty_table(), temporary)


def _has_schema(path: Path, schema: pa.Schema) -> bool:
    try:
        return bool(pq.read_schema(path).equals(schema))
    except (OSError, pa.ArrowException):
        return False


def _copy_published(home: Path) -> None:
    root = shipped("data", PUBLISHED)
    for source in sorted(root.glob("*/*.csv")):
        target = home / PUBLISHED / source.relative_to(root)
        content = source.read_bytes()
        if not target.is_file() or target.read_bytes() != content:
            with replacing(target) as temporary:
                temporary.write_bytes(content)
