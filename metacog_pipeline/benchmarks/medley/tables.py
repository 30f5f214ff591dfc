"""The benchmark's own tables, in addition to the shared ones: agreement of judges, and gates of the set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import polars as pl

from metacog_pipeline.asking.construction import KeptInputs
from metacog_pipeline.benchmark.contract import Scored, Table
from metacog_pipeline.benchmarks.medley.aggregate import DIMENSIONS
from metacog_pipeline.benchmarks.medley.construction import gates as of_set
from metacog_pipeline.benchmarks.medley.judging.agreement import ALL_DIMENSIONS, Agreement, agreements


@dataclass(frozen=True, slots=True)
class GateRow:
    """One gate a set of instances must pass to be released, and what was found."""

    benchmark: str
    dataset: str
    place: Annotated[int, "order of the gates"]
    name: Annotated[str, "G1 to G15 of the published design, X1, X4 and X8 of this project"]
    rule: str
    severity: Annotated[str, "a gate that blocks keeps a set from being released unless it is passed"]
    status: Annotated[str, "not_evaluated where what it needs is not there; found says why"]
    found: str
    wanted: str


def gates(benchmark: Any, scored: Scored) -> pl.DataFrame:
    """Return the gates of the whole set, those on judges decided by how far they agree.

    Judgements of measured models count where there are any, else those of simulated ones.
    """
    dataset = benchmark.settings.dataset
    agreed = agreements(benchmark, scored).filter(measure="fleiss_kappa", dataset=dataset).sort("source")
    rows = {row["dimension"]: row for row in reversed(agreed.to_dicts())}
    known = [rows[name]["estimate"] for name in DIMENSIONS["digital_sophistry"] if name in rows]
    sophistry = [each for each in known if each is not None]
    overall = rows.get(ALL_DIMENSIONS, {"estimate": None, "status": of_set.NOT_JUDGED})
    why = overall["status"] if benchmark.judges else "the study names no judges"
    kept = KeptInputs(benchmark).frame("gates")
    mean = sum(sophistry) / len(sophistry) if sophistry else None
    decided = of_set.with_judges(kept, overall["estimate"], mean, why).with_row_index("place", 1)
    return decided.with_columns(benchmark=pl.lit(benchmark.name), dataset=pl.lit(dataset))


TABLES = (
    Table(
        "agreement", Agreement, agreements,
        "How far the judges agree: all of them (Krippendorff's alpha, Fleiss' kappa) or two (Cohen's).",
        ("dataset", "source", "reading", "measure", "dimension", "a", "b"),
    ),
    Table("gates", GateRow, gates, "Whether the set of instances is fit to be released.", ("dataset", "name")),
)  # fmt: skip
