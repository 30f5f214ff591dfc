"""The gates of the set that a study asks, kept for the board: those on judges are decided when answers have been judged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from metacog_pipeline.benchmarks.common.files import read_frame, write_frame
from metacog_pipeline.benchmarks.medley.aggregate import DIMENSIONS
from metacog_pipeline.benchmarks.medley.construction import tables
from metacog_pipeline.benchmarks.medley.construction.gates import Evidence, Gate, with_judges
from metacog_pipeline.benchmarks.medley.judging.agreement import ALL_DIMENSIONS
from metacog_pipeline.benchmarks.medley.stages.settings import BENCHMARK, judges, settings
from metacog_pipeline.errors import SourceError
from metacog_pipeline.study import Study

_SOPHISTRY = tuple(DIMENSIONS["digital_sophistry"])


def gates(study: Study) -> tuple[Gate, ...]:
    """Return the gates of the study's set as last decided; SourceError before there are instances."""
    path = _gates_file(study)
    if not path.exists():
        raise SourceError(
            f"{path}: the gates are not evaluated yet; run `metacog run`, or build the items in the UI"
        )
    return tables.gates_of(read_frame(path))


def keep_gates(study: Study, found: Sequence[Gate]) -> None:
    """Keep the gates of a set that was just built."""
    frame = tables.gate_frame(found).with_row_index("place", 1)
    frame = frame.with_columns(benchmark=pl.lit(BENCHMARK), dataset=pl.lit(settings(study).dataset))
    write_frame(
        frame.select(pl.col(name).cast(kind) for name, kind in tables.KEPT_GATES.items()),
        _gates_file(study),
        "",
    )


def judge_gates(study: Study, agreement: pl.DataFrame) -> None:
    """Decide the gates on judges of answers by how far they agree, rows of ``AGREEMENT_SCHEMA``.

    Judgements of measured models count where there are any, else those of simulated ones.
    """
    if not _gates_file(study).exists():
        return
    kappas = agreement.filter(
        pl.col("measure") == "fleiss_kappa", pl.col("dataset") == settings(study).dataset
    ).sort("source")
    rows = {row["dimension"]: row for row in reversed(kappas.to_dicts())}
    known = [
        row["estimate"] for name in _SOPHISTRY if (row := rows.get(name)) and row["estimate"] is not None
    ]
    overall = rows.get(ALL_DIMENSIONS, {"estimate": None, "status": Evidence().not_judged})
    why = overall["status"] if judges(study) else "the study names no judges"
    sophistry = sum(known) / len(known) if known else None
    keep_gates(study, with_judges(gates(study), overall["estimate"], sophistry, why))


def _gates_file(study: Study) -> Path:
    return study.home.estimates / BENCHMARK / "gates" / "gates.parquet"
