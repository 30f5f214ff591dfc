"""What papers print, in two shapes for every benchmark: values beside the board, and claims computed again.

A benchmark that ships ``data/published/<name>/`` has a module ``published_rows`` with two functions: ``values(tables)``
returns `VALUES`, ``claims(tables, computed)`` returns `CLAIMS`; ``tables`` reads a CSV file by its name, ``computed`` a
Parquet file that an audit has left below ``estimates/<name>/published``, or None before it ran.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from metacog_pipeline.files import canonical_json, sha256_hex, shipped
from metacog_pipeline.study.frames import mark_of, write_frame

VERSION = "1"
MARK = "rows:"  # of files that were written here
VALUES = pl.Schema(
    {
        **dict.fromkeys(
            ("benchmark", "place", "dataset", "task", "condition", "model", "measure"), pl.String
        ),
        **dict.fromkeys(("value", "low", "high", "sd"), pl.Float64),
        "n": pl.Int64,
        **dict.fromkeys(("unit", "note"), pl.String),
    }
)
CLAIMS = pl.Schema(
    {
        **dict.fromkeys(("benchmark", "place", "subject", "quantity", "method"), pl.String),
        **dict.fromkeys(("published", "recomputed", "low", "high", "difference", "tolerance"), pl.Float64),
        **dict.fromkeys(("verdict", "note"), pl.String),
    }
)
FILES = ("published_values.parquet", "published_claims.parquet")
Tables = Callable[[str], pl.DataFrame]
Computed = Callable[[str], pl.DataFrame | None]


def published_frames(name: str, home: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the published values and claims of benchmark ``name``; both empty where nothing is shipped.

    Claims that need an audit have the verdict ``not computed`` until its files are below ``home``.
    """
    if not _ships(name):
        return VALUES.to_frame(), CLAIMS.to_frame()
    module = importlib.import_module(_module(name))
    shipped_tables, computed_in = shipped("data", "published", name), home / "estimates" / name / "published"

    def tables(stem: str) -> pl.DataFrame:
        return pl.read_csv(shipped_tables / f"{stem}.csv", infer_schema_length=None)

    def computed(stem: str) -> pl.DataFrame | None:
        path = computed_in / f"{stem}.parquet"
        return pl.read_parquet(path, hive_partitioning=False) if path.is_file() else None

    values, claims = module.values(tables), module.claims(tables, computed)
    return fitted(values, VALUES, name), fitted(claims, CLAIMS, name)


def write_published(home: Path, names: Sequence[str]) -> None:
    """Write the values and claims of ``names`` below ``home`` where anything they are made of has changed."""
    for name in names:
        if not _ships(name):
            continue
        folder = home / "estimates" / name / "published"
        made_from = _made_from(name, folder)
        marks = [mark_of(folder / file) for file in FILES]
        # Files with another sort of mark were written by the benchmark itself.
        if any(mark != made_from and (mark or MARK).startswith(MARK) for mark in marks):
            for file, frame in zip(FILES, published_frames(name, home), strict=True):
                write_frame(frame, folder / file, made_from)


def fitted(frame: pl.DataFrame, schema: pl.Schema, name: str) -> pl.DataFrame:
    """Return ``frame`` with every column of ``schema`` in its type, null where it has none."""
    whole = frame.with_columns(pl.lit(name).alias("benchmark"))
    missing = [pl.lit(None, kind).alias(each) for each, kind in schema.items() if each not in whole.columns]
    return whole.with_columns(missing).select(pl.col(each).cast(kind) for each, kind in schema.items())


def audited(frame: pl.DataFrame | None) -> pl.DataFrame:
    """Return the claims an audit has checked: ``follows`` told as a verdict."""
    if frame is None:
        return CLAIMS.to_frame()
    verdict = pl.when("follows").then(pl.lit("follows")).otherwise(pl.lit("differs"))
    return frame.with_columns(verdict=verdict)


def hundredth(name: str) -> pl.Expr:
    """Return column ``name`` divided by 100, rounded once: by a number Polars multiplies with its inverse instead."""
    return pl.col(name).map_batches(
        lambda points: pl.Series(points.to_numpy() / 100), return_dtype=pl.Float64
    )


def long(frame: pl.DataFrame, measures: Sequence[str], *, value: str = "value") -> pl.DataFrame:
    """Return one row per ``measure`` that has a value; the other columns are repeated."""
    index = [column for column in frame.columns if column not in measures]
    found = frame.with_columns(pl.col(list(measures)).cast(pl.Float64)).unpivot(
        list(measures), index=index, variable_name="measure", value_name=value
    )
    return found.drop_nulls(value)


def _module(name: str) -> str:
    return f"metacog_pipeline.benchmarks.{name}.published_rows"


def _ships(name: str) -> bool:
    package = _module(name).rpartition(".")[0]
    if importlib.util.find_spec(package) is None:
        return False
    return importlib.util.find_spec(_module(name)) is not None


def _made_from(name: str, folder: Path) -> str:
    sources = sorted(shipped("data", "published", name).glob("*.csv"))
    audits = sorted(path for path in folder.glob("*.parquet") if path.name not in FILES)
    code = Path(str(importlib.import_module(_module(name)).__file__))
    return MARK + sha256_hex(
        canonical_json(
            [VERSION, *([path.name, sha256_hex(path.read_bytes())] for path in (code, *sources, *audits))]
        )
    )
