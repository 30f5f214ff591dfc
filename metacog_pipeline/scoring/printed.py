"""What a paper prints, on disk: values in the units of the boards, and claims computed again."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.benchmark.contract import Contrast, Stage
from metacog_pipeline.files import canonical_json, sha256_hex, shipped
from metacog_pipeline.scoring import comparisons
from metacog_pipeline.scoring.comparisons import as_table, judged, primary_named
from metacog_pipeline.scoring.schemas import PUBLISHED_CLAIM, PUBLISHED_VALUE
from metacog_pipeline.study.frames import mark_of, write_frame

VERSION = "2"  # of what is claimed; tables made by another are stale
FILES = ("published_values.parquet", "published_claims.parquet", "contrasts.parquet")


def paths(benchmark: Bound) -> list[Path]:
    """Return where the printed numbers are kept."""
    return [benchmark.study.home.estimates / benchmark.name / "published" / name for name in FILES]


def write(benchmark: Bound) -> None:
    """Write what is printed, and tests between published models, where that is stale."""
    declared = benchmark.published
    if declared is None or not stale(benchmark):
        return
    contrasts = () if declared.contrasts is None else declared.contrasts(benchmark)
    frames = (
        fitted(benchmark, declared.values(benchmark), PUBLISHED_VALUE),
        fitted(benchmark, declared.claims(benchmark), PUBLISHED_CLAIM),
        _in_families(benchmark, as_table(benchmark, contrasts)),
    )
    for frame, path in zip(frames, paths(benchmark), strict=True):
        write_frame(frame, path, _input_digest(benchmark))


def marks(benchmark: Bound) -> list[str | None]:
    """Return the digests of what is to be printed and of what is."""
    if benchmark.published is None:
        return []
    return [_input_digest(benchmark), *map(mark_of, paths(benchmark))]


def stale(benchmark: Bound) -> bool:
    """Whether what is printed was made from other tables, or is missing."""
    return len(set(marks(benchmark))) > 1


def _in_families(benchmark: Bound, rows: pl.DataFrame) -> pl.DataFrame:
    """Return tests between published models with the size of their family and whether they are primary."""
    families = {each.family: each for each in benchmark.contrasts}
    parts = [
        judged(families.get(str(family), Contrast("", tuple)), own)
        for (family,), own in rows.partition_by("family", as_dict=True, maintain_order=True).items()
    ]
    return primary_named(benchmark, pl.concat(parts) if parts else rows)


def fitted(benchmark: Bound, frame: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """Return ``frame`` as it is kept: every column of ``schema`` in its type, null where it has none."""
    whole = frame.with_columns(benchmark=pl.lit(benchmark.name))
    missing = [pl.lit(None, kind).alias(name) for name, kind in schema.items() if name not in whole.columns]
    return whole.with_columns(missing).select(pl.col(name).cast(kind) for name, kind in schema.items())


def _input_digest(benchmark: Bound) -> str:
    tables = shipped("data", "published", benchmark.name)
    files = [[path.name, sha256_hex(path.read_bytes())] for path in sorted(tables.glob("*.csv"))]
    versions = [VERSION, benchmark.versions[Stage.SCORING], comparisons.VERSION]
    return sha256_hex(canonical_json([*versions, benchmark.seed, files]))
