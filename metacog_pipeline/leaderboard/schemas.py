"""The Parquet datasets the SQL files read, with explicit schemas, so that an empty study still has a board.

``STUDY_MODELS`` and ``STUDY_PARTITIONS`` are tables about the study itself, written beside the answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pyarrow as pa

from metacog_pipeline.across import stages as across
from metacog_pipeline.benchmark.schema import arrow_schema_of
from metacog_pipeline.benchmarks.common.auditing import AUDIT_SCHEMA
from metacog_pipeline.benchmarks.medley import instance_scores as medley_instances
from metacog_pipeline.benchmarks.medley import rows as medley_comparisons
from metacog_pipeline.benchmarks.medley import scoring as medley_scoring
from metacog_pipeline.benchmarks.medley.construction import files as medley_items
from metacog_pipeline.benchmarks.medley.construction import tables as medley_gates
from metacog_pipeline.benchmarks.medley.judging import agreement as medley_agreement
from metacog_pipeline.benchmarks.metacogbench import lengths as metacogbench_lengths
from metacog_pipeline.benchmarks.metacogbench import observe as metacogbench_observe
from metacog_pipeline.benchmarks.metacogbench import reliability as metacogbench_reliability
from metacog_pipeline.benchmarks.metacogbench import rows as metacogbench_comparisons
from metacog_pipeline.benchmarks.metacogbench import scoring as metacogbench_scoring
from metacog_pipeline.benchmarks.metacogbench import sensitivity as metacogbench_sensitivity
from metacog_pipeline.benchmarks.metacogbench.construction import files as metacogbench_items
from metacog_pipeline.benchmarks.metacogbench.judging import agreement as metacogbench_judges
from metacog_pipeline.benchmarks.metacogbench.judging import observe as metacogbench_judgements
from metacog_pipeline.benchmarks.metamedqa import comparisons as metamedqa_comparisons
from metacog_pipeline.benchmarks.metamedqa import observe as metamedqa_observe
from metacog_pipeline.benchmarks.metamedqa import scoring as metamedqa_scoring
from metacog_pipeline.benchmarks.metamedqa.construction import files as metamedqa_items
from metacog_pipeline.benchmarks.selfknowledge import layout as selfknowledge_tables
from metacog_pipeline.benchmarks.selfknowledge import observe as selfknowledge_observe
from metacog_pipeline.benchmarks.selfknowledge import published as selfknowledge_published
from metacog_pipeline.benchmarks.selfknowledge.construction import files as selfknowledge_items
from metacog_pipeline.benchmarks.signaldetection import SignalDetection
from metacog_pipeline.scoring.schemas import COMPARISON, ESTIMATE, response_schema
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

#: One row per benchmark that lets the study decide under which condition a model stands before it is scored.
STUDY_BOARDS = pa.schema(
    [pa.field("benchmark", pa.string(), nullable=False), pa.field("condition", pa.string(), nullable=False)]
)


def _arrow(schema: pl.Schema) -> pa.Schema:
    """Return what Polars writes for ``schema``."""
    return schema.to_frame().to_arrow(compat_level=pl.CompatLevel.oldest()).schema


# Columns of version 0.1 beside those of now: files are read by either name.
OLD_OR_NEW_ESTIMATE = pl.Schema([*ESTIMATE.items(), ("n_unparsable", pl.Int64())])
_REFIT: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(("published", "recomputed", "difference", "tolerance", "low", "high"), pl.Float64),
    **{"follows": pl.Boolean, "n": pl.Int64, "note": pl.String, "status": pl.String},
}
_OF: dict[str, pl.DataType | type[pl.DataType]] = dict.fromkeys(("task", "model"), pl.String)
REFIT_SENSITIVITY = pl.Schema({**_OF, "quantity": pl.String, "method": pl.String, **_REFIT})
REFIT_CRITERIA = pl.Schema({**_OF, "condition": pl.String, "quantity": pl.String, **_REFIT})
REFIT_CONTRASTS = pl.Schema(
    {"difference" if name == "value" else name: kind for name, kind in COMPARISON.items()}
)

#: File pattern, as the SQL files write it relative to the study home, to the schema of what it matches.
DATASETS: Mapping[str, pa.Schema] = {
    "study/models.parquet": STUDY_MODELS,
    "study/partitions.parquet": STUDY_PARTITIONS,
    "study/helpers*.parquet": STUDY_PARTITIONS,
    "study/boards*.parquet": STUDY_BOARDS,
    "transcripts/**/*.parquet": TRANSCRIPTS,
    "items/metamedqa*.parquet": metamedqa_items.ITEMS_SCHEMA,
    "observations/metamedqa/**/*.parquet": _arrow(metamedqa_observe.OBSERVATION_SCHEMA),
    "estimates/metamedqa/runs/**/*.parquet": _arrow(metamedqa_scoring.ESTIMATE_SCHEMA),
    "estimates/metamedqa/models/*.parquet": _arrow(metamedqa_scoring.ESTIMATE_SCHEMA),
    "estimates/metamedqa/comparisons/*.parquet": _arrow(metamedqa_comparisons.COMPARISON_SCHEMA),
    "items/signaldetection*.parquet": arrow_schema_of(SignalDetection.Item).append(
        pa.field("item_hash", pa.string())
    ),
    "observations/signaldetection/**/*.parquet": _arrow(
        pl.Schema([*response_schema(SignalDetection).items(), ("answer_id", pl.String())])
    ),
    "estimates/signaldetection/runs/**/*.parquet": _arrow(OLD_OR_NEW_ESTIMATE),
    "estimates/signaldetection/models/*.parquet": _arrow(OLD_OR_NEW_ESTIMATE),
    "estimates/signaldetection/comparisons/*.parquet": _arrow(
        pl.Schema([*COMPARISON.items(), ("difference", pl.Float64())])
    ),
    "estimates/signaldetection/published/metad*.parquet": _arrow(REFIT_SENSITIVITY),
    "estimates/signaldetection/published/criteria*.parquet": _arrow(REFIT_CRITERIA),
    "estimates/signaldetection/published/contrasts*.parquet": _arrow(REFIT_CONTRASTS),
    "items/medley*.parquet": medley_items.ITEMS_SCHEMA,
    "estimates/medley/instances/**/*.parquet": _arrow(medley_instances.INSTANCE_SCHEMA),
    "estimates/medley/runs/**/*.parquet": _arrow(medley_scoring.ESTIMATE_SCHEMA),
    "estimates/medley/models/*.parquet": _arrow(medley_scoring.ESTIMATE_SCHEMA),
    "estimates/medley/comparisons/*.parquet": _arrow(medley_comparisons.COMPARISON_SCHEMA),
    "estimates/medley/agreement/*.parquet": _arrow(medley_agreement.AGREEMENT_SCHEMA),
    "estimates/medley/gates/*.parquet": _arrow(medley_gates.KEPT_GATES),
    "estimates/medley/published/audit*.parquet": _arrow(AUDIT_SCHEMA),
    "items/metacogbench*.parquet": metacogbench_items.ITEMS_SCHEMA,
    "observations/metacogbench/**/*.parquet": _arrow(metacogbench_observe.OBSERVATION_SCHEMA),
    "observations/metacogbench_judgements/**/*.parquet": _arrow(metacogbench_judgements.JUDGEMENT_SCHEMA),
    "estimates/metacogbench/runs/**/*.parquet": _arrow(metacogbench_scoring.ESTIMATE_SCHEMA),
    "estimates/metacogbench/models/*.parquet": _arrow(metacogbench_scoring.ESTIMATE_SCHEMA),
    "estimates/metacogbench/comparisons/*.parquet": _arrow(metacogbench_comparisons.COMPARISON_SCHEMA),
    "estimates/metacogbench/sensitivity/*.parquet": _arrow(metacogbench_sensitivity.SENSITIVITY_SCHEMA),
    "estimates/metacogbench/reliability/*.parquet": _arrow(metacogbench_reliability.RELIABILITY_SCHEMA),
    "estimates/metacogbench/lengths/*.parquet": _arrow(metacogbench_lengths.LENGTHS_SCHEMA),
    "estimates/metacogbench/judges/*.parquet": _arrow(metacogbench_judges.AGREEMENT_SCHEMA),
    "estimates/metacogbench/published/audit*.parquet": _arrow(AUDIT_SCHEMA),
    "items/selfknowledge*.parquet": selfknowledge_items.ITEMS_SCHEMA,
    "observations/selfknowledge/**/*.parquet": _arrow(selfknowledge_observe.OBSERVATION_SCHEMA),
    "estimates/selfknowledge/runs/**/*.parquet": _arrow(selfknowledge_tables.ESTIMATE_SCHEMA),
    "estimates/selfknowledge/models/*.parquet": _arrow(selfknowledge_tables.ESTIMATE_SCHEMA),
    "estimates/selfknowledge/comparisons/*.parquet": _arrow(selfknowledge_tables.COMPARISON_SCHEMA),
    "estimates/selfknowledge/curves/*.parquet": _arrow(selfknowledge_tables.CURVE_SCHEMA),
    "estimates/selfknowledge/published/audit*.parquet": _arrow(AUDIT_SCHEMA),
    "estimates/selfknowledge/published/rates*.parquet": _arrow(selfknowledge_published.RATES_SCHEMA),
    **{
        f"estimates/{across.FOLDER}/{Path(name).parent}/*.parquet": _arrow(schema)
        for name, schema in across.SCHEMAS.items()
    },
}
