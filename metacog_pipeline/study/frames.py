"""Frames on disk, whole or not at all, each with the digest of everything it was computed from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import replacing

MARK = "metacog_input_digest"  # Parquet metadata: digest of everything a file was computed from


def read_frame(path: Path) -> pl.DataFrame:
    """Read one of our own Parquet files; raises SourceError when it is damaged."""
    try:
        return pl.read_parquet(path, glob=False, hive_partitioning=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise SourceError(
            f"{path}: cannot be read ({error}); delete it and run `metacog run` again, answers are kept elsewhere"
        ) from None


def read_frames(paths: Sequence[Path]) -> pl.DataFrame:
    """Read several of them one below the other; a column that one lacks is null there."""
    return pl.concat([read_frame(path) for path in paths], how="diagonal_relaxed")


def write_frame(frame: pl.DataFrame, path: Path, input_digest: str) -> None:
    """Write ``frame`` whole or not at all, with the digest of what it was made from."""
    with replacing(path) as temporary:
        frame.write_parquet(temporary, metadata={MARK: input_digest})


def mark_of(path: Path) -> str | None:
    """Return the digest of what the file at ``path`` was made from; ``None`` without a readable file."""
    try:
        return pl.read_parquet_metadata(path).get(MARK)
    except (OSError, pl.exceptions.PolarsError):
        return None
