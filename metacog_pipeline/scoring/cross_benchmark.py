"""What is computed over all benchmarks of one study, and where it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from metacog_pipeline.benchmark.bound import enabled
from metacog_pipeline.errors import StoreError, StudyError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.scoring import calibration as calibrating
from metacog_pipeline.scoring import correlations as correlating
from metacog_pipeline.scoring import people
from metacog_pipeline.scoring.calibration import CALIBRATION as CALIBRATION_SCHEMA
from metacog_pipeline.scoring.calibration import with_curves
from metacog_pipeline.scoring.confidence_curves import CURVES as CURVES_SCHEMA
from metacog_pipeline.scoring.correlations import correlations
from metacog_pipeline.scoring.files import model_estimates_path
from metacog_pipeline.scoring.harmonised import answers, paths
from metacog_pipeline.scoring.model_pairs import paired
from metacog_pipeline.scoring.traits import traits, values
from metacog_pipeline.stats import measured_coverage
from metacog_pipeline.study import Study
from metacog_pipeline.study.frames import mark_of, read_frame, write_frame
from metacog_pipeline.study.kept import computed_once

CALIBRATION, CURVES, TRAITS, CORRELATIONS = "calibration", "curves", "traits", "correlations"
VERSION = f"{calibrating.VERSION}.{correlating.VERSION}"


def publish(study: Study) -> dict[str, int]:
    """Compute what the benchmarks have in common and whether they agree; return rows per table.

    What was computed from the same responses is kept.
    """
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
    """Return the measures of every model and write them, with the curves; those of a model rest on its answers alone.

    So a model that is added costs its own: what is kept below ``cache`` may be deleted at any time.
    """
    read: dict[str, list[Path]] = {spec.name: [] for spec in study.models}
    for path in paths(study):
        read[path.parent.name.removeprefix("model=")].append(path)
    made = [_of_model(study, model, own) for model, own in read.items()]
    found = pl.concat([CALIBRATION_SCHEMA.to_frame(), *(measured for measured, _ in made)])
    found = pl.concat([found, people.measured(study, found)])
    points = pl.concat([CURVES_SCHEMA.to_frame(), *(drawn for _, drawn in made)])
    order = ["benchmark", "dataset", "condition", "model", "source"]
    found = found.sort(order, maintain_order=True)
    write_frame(found, table_path(study, CALIBRATION), "")
    write_frame(points.sort(order, maintain_order=True), table_path(study, CURVES), "")
    return found


def _of_model(study: Study, model: str, read: Sequence[Path]) -> tuple[pl.DataFrame, pl.DataFrame]:
    made_from = [[study.home.key(path), mark_of(path)] for path in read]
    versions = [calibrating.VERSION, measured_coverage.digest()]
    mark = sha256_hex(canonical_json([*versions, study.study.seed, made_from]))
    kept = [study.home.cache / name / f"{model}.parquet" for name in (CALIBRATION, CURVES)]

    def compute() -> tuple[pl.DataFrame, pl.DataFrame]:
        return with_curves(answers(study, frozenset((model,))), seed=study.study.seed)

    measured, drawn = computed_once(kept, mark, compute)
    return measured, drawn


def _pooled(study: Study) -> dict[str, pl.DataFrame]:
    found: dict[str, pl.DataFrame] = {}
    for benchmark in enabled(study):
        kept = [model_estimates_path(benchmark, spec.name) for spec in study.models]
        frames = [read_frame(path) for path in kept if path.exists()]
        if frames:
            found[benchmark.name] = benchmark.trait_estimates(pl.concat(frames))
    return found
