"""What is computed over all benchmarks of one study, and where it is kept."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from metacog_pipeline.benchmark.bound import enabled
from metacog_pipeline.errors import StoreError, StudyError
from metacog_pipeline.scoring import calibration as calibrating
from metacog_pipeline.scoring import correlations as correlating
from metacog_pipeline.scoring import incomplete, people
from metacog_pipeline.scoring.calibration import with_curves
from metacog_pipeline.scoring.correlations import correlations
from metacog_pipeline.scoring.files import pooled_estimates
from metacog_pipeline.scoring.harmonised import answers
from metacog_pipeline.scoring.model_pairs import paired
from metacog_pipeline.scoring.traits import traits, values
from metacog_pipeline.study import Study
from metacog_pipeline.study.frames import write_frame

CALIBRATION, CURVES, TRAITS, CORRELATIONS = "calibration", "curves", "traits", "correlations"
VERSION = f"{calibrating.VERSION}.{correlating.VERSION}"


def publish(study: Study) -> dict[str, int]:
    """Compute what the benchmarks have in common and whether they agree; return rows per table."""
    measured = _calibration(study)
    found = values(traits(enabled(study)), measured, _pooled(study))
    pairs = correlations(found, seed=study.study.seed)
    write_frame(found, table_path(study, TRAITS), "")
    write_frame(pairs, table_path(study, CORRELATIONS), "")
    return {CALIBRATION: measured.height, TRAITS: found.height, CORRELATIONS: pairs.height}


def compare(study: Study, a: str, b: str) -> pl.DataFrame:
    """Return the paired comparison of two models of the study over every benchmark with right and wrong answers.

    Raises
    ------
    StudyError
        A name the study does not list, or one name twice.
    StoreError
        Nothing both answered.
    """
    for name in (a, b):
        study.model(name)
    if a == b:
        raise StudyError(f'compare: "{a}" twice; name two models')
    found = paired(answers(study, frozenset((a, b))), a, b, seed=study.study.seed)
    if not found.height:
        raise StoreError(f"compare: no answers of {a} or {b} yet; run `metacog run {study.path.name}` first")
    return found


def table_path(study: Study, name: str) -> Path:
    """Return where a table over all benchmarks is kept."""
    return study.home.cross_benchmark / f"{name}.parquet"


def _calibration(study: Study) -> pl.DataFrame:
    """Return the measures of every model and write them, with the curves.

    Numbers of runs that lack answers are withheld, or their status names what lacks where the benchmark allows them.
    """
    measured, points = with_curves(answers(study), seed=study.study.seed)
    lacks = incomplete.lacking_of(study)
    measured, points = incomplete.labelled(measured, lacks), incomplete.without_withheld(points, lacks)
    found = pl.concat([measured, people.measured(study, measured)])
    order = ["benchmark", "dataset", "condition", "model", "source"]
    found = found.sort(order, maintain_order=True)
    write_frame(found, table_path(study, CALIBRATION), "")
    write_frame(points.sort(order, maintain_order=True), table_path(study, CURVES), "")
    return found


def _pooled(study: Study) -> dict[str, pl.DataFrame]:
    found = {benchmark: pooled_estimates(benchmark) for benchmark in enabled(study)}
    return {each.name: each.trait_estimates(rows) for each, rows in found.items() if rows.width}
