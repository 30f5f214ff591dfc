"""The Parquet datasets the SQL files read, with explicit schemas, so that an empty study still has a board.

``STUDY_MODELS`` and ``STUDY_PARTITIONS`` are tables about the study itself, written beside the answers.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
import pyarrow as pa

from metacog_pipeline.benchmarks.metamedqa.construction.files import ITEMS_SCHEMA
from metacog_pipeline.benchmarks.metamedqa.observe import OBSERVATION_SCHEMA
from metacog_pipeline.transcripts.schema import ARROW_SCHEMA as TRANSCRIPTS

#: One row per model ever seen. ``source`` is measured, imported or simulated; ``listed`` whether the study file names
#: it now; ``runs`` how many repeats the study asks of it.
STUDY_MODELS = pa.schema(
    [
        pa.field("model", pa.string(), nullable=False),
        pa.field("provider", pa.string(), nullable=False),
        pa.field("model_id", pa.string()),
        pa.field("source", pa.string(), nullable=False),
        pa.field("listed", pa.bool_(), nullable=False),
        pa.field("runs", pa.int32(), nullable=False),
    ]
)

#: One row per benchmark × model × run the study asks for. ``state`` is complete, incomplete, missing or failed;
#: ``n_expected`` and ``n_answered`` count answers, ``n_failed`` calls without one; ``message`` says why, for people.
STUDY_PARTITIONS = pa.schema(
    [
        pa.field("benchmark", pa.string(), nullable=False),
        pa.field("model", pa.string(), nullable=False),
        pa.field("run", pa.int32(), nullable=False),
        pa.field("state", pa.string(), nullable=False),
        pa.field("n_expected", pa.int64(), nullable=False),
        pa.field("n_answered", pa.int64(), nullable=False),
        pa.field("n_failed", pa.int64(), nullable=False),
        pa.field("message", pa.string()),
        pa.field("updated_at", pa.timestamp("us", tz="UTC")),
    ]
)

#: Polars writes what its owner declares; an empty frame says how that looks in Parquet.
_OBSERVATIONS = OBSERVATION_SCHEMA.to_frame().to_arrow(compat_level=pl.CompatLevel.oldest()).schema

_ESTIMATES = pa.schema(
    [
        pa.field("benchmark", pa.string(), nullable=False),
        pa.field("dataset", pa.string(), nullable=False),
        pa.field("condition", pa.string(), nullable=False),
        pa.field("model", pa.string(), nullable=False),
        pa.field("run", pa.int32()),
        pa.field("measure", pa.string(), nullable=False),
        pa.field("estimate", pa.float64()),
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        pa.field("n", pa.int64(), nullable=False),
        pa.field("n_failed", pa.int64(), nullable=False),
        pa.field("n_unparsable", pa.int64(), nullable=False),
        pa.field("coverage", pa.float64()),
        pa.field("sem", pa.float64()),
        pa.field("method", pa.string()),
        pa.field("status", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
    ]
)

_COMPARISONS = pa.schema(
    [
        pa.field("family", pa.string(), nullable=False),
        pa.field("measure", pa.string(), nullable=False),
        pa.field("a", pa.string()),
        pa.field("b", pa.string()),
        pa.field("statistic", pa.float64()),
        pa.field("p", pa.float64()),
        pa.field("p_adjusted", pa.float64()),
    ]
)

#: File pattern, as the SQL files write it relative to the study home, to the schema of what it matches.
DATASETS: Mapping[str, pa.Schema] = {
    "study/models.parquet": STUDY_MODELS,
    "study/partitions.parquet": STUDY_PARTITIONS,
    "items/metamedqa*.parquet": ITEMS_SCHEMA,
    "transcripts/**/*.parquet": TRANSCRIPTS,
    "observations/metamedqa/**/*.parquet": _OBSERVATIONS,
    "estimates/metamedqa/runs/**/*.parquet": _ESTIMATES,
    "estimates/metamedqa/models/*.parquet": _ESTIMATES,
    "estimates/metamedqa/comparisons/*.parquet": _COMPARISONS,
}
