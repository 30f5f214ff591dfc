"""What a paper prints, on disk: values in the units of the boards, and claims computed again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Benchmark, Contrast, Stage
from metacog_pipeline.files import canonical_json, sha256_hex, shipped
from metacog_pipeline.scoring import comparisons
from metacog_pipeline.scoring.comparisons import as_table, judged, primary_named
from metacog_pipeline.scoring.schemas import PUBLISHED_CLAIM, PUBLISHED_VALUE
from metacog_pipeline.study.frames import mark_of, read_frame, write_frame

Bound = Benchmark[Any, Any, Any]
VERSION = "2"  # of what is claimed; another makes kept tables anew
FILES = ("published_values.parquet", "published_claims.parquet", "contrasts.parquet")


def folder(benchmark: Bound) -> Path:
    """Return where the printed numbers are kept."""
    return benchmark.context.home.estimates / benchmark.name / "published"


def write(benchmark: Bound) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Write what is printed, and tests between published models; return values and claims. Made again only where stale."""
    declared = benchmark.published
    if declared is None:
        return pl.DataFrame(schema=PUBLISHED_VALUE), pl.DataFrame(schema=PUBLISHED_CLAIM)

    values, claims, contrasts = (folder(benchmark) / name for name in FILES)
    if stale(benchmark):
        tests = () if declared.contrasts is None else declared.contrasts(benchmark)
        made = {
            values: fitted(benchmark, declared.values(benchmark), PUBLISHED_VALUE),
            claims: fitted(benchmark, declared.claims(benchmark), PUBLISHED_CLAIM),
            contrasts: _told(benchmark, as_table(benchmark, tests)),
        }
        for path, frame in made.items():
            write_frame(frame, path, _made_from(benchmark))
    return read_frame(values), read_frame(claims)


def marks(benchmark: Bound) -> list[str | None]:
    """Return what is to be printed and what is, to see whether a board is still current; nothing where nothing is."""
    if benchmark.published is None:
        return []
    return [_made_from(benchmark), *(mark_of(folder(benchmark) / name) for name in FILES)]


def stale(benchmark: Bound) -> bool:
    """Whether what is printed was made from other tables, or is missing."""
    found = marks(benchmark)
    return any(mark != found[0] for mark in found)


def _told(benchmark: Bound, rows: pl.DataFrame) -> pl.DataFrame:
    """Return tests between published models with the size of their family and whether they are primary."""
    families = {each.family: each for each in benchmark.contrasts}
    parts = [
        judged(families.get(str(own["family"][0]), Contrast("", tuple)), own)
        for own in rows.partition_by("family", maintain_order=True)
    ]
    return primary_named(benchmark, pl.concat(parts) if parts else rows)


def fitted(benchmark: Bound, frame: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """Return ``frame`` as it is kept: every column of ``schema`` in its type, null where it has none."""
    whole = frame.with_columns(benchmark=pl.lit(benchmark.name))
    missing = [pl.lit(None, kind).alias(name) for name, kind in schema.items() if name not in whole.columns]
    return whole.with_columns(missing).select(pl.col(name).cast(kind) for name, kind in schema.items())


def _made_from(benchmark: Bound) -> str:
    tables = shipped("data", "published", benchmark.name)
    files = [[path.name, sha256_hex(path.read_bytes())] for path in sorted(tables.glob("*.csv"))]
    versions = [VERSION, benchmark.versions[Stage.SCORING], comparisons.VERSION]
    return sha256_hex(canonical_json([*versions, benchmark.context.seed, files]))
