"""What is computed over all benchmarks of one study, and where it is kept."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from metacog_pipeline.benchmark.bound import enabled
from metacog_pipeline.errors import StoreError, StudyError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.scoring import calibration as calibrating
from metacog_pipeline.scoring import correlations as correlating
from metacog_pipeline.scoring.calibration import calibration
from metacog_pipeline.scoring.correlations import correlations
from metacog_pipeline.scoring.files import model_estimates_path
from metacog_pipeline.scoring.harmonised import answers, paths
from metacog_pipeline.scoring.model_pairs import paired
from metacog_pipeline.scoring.traits import traits, values
from metacog_pipeline.study import Study
from metacog_pipeline.study.frames import mark_of, read_frame, write_frame

CALIBRATION, TRAITS, CORRELATIONS = "calibration", "traits", "correlations"
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
    known = [spec.name for spec in study.models]
    for name in (a, b):
        if name not in known:
            raise StudyError(f'{study.path.name}: models: no "{name}"; there are: {", ".join(known)}')
    if a == b:
        raise StudyError(f'compare: "{a}" twice; name two models')
    found = paired(answers(study, frozenset((a, b))), a, b, seed=study.study.seed)
    if not found.height:
        raise StoreError(f"compare: no answers of {a} or {b} yet; run `metacog run {study.path.name}` first")
    return found


def table_path(study: Study, name: str) -> Path:
    """Return where a table over all benchmarks is kept."""
    return study.home.path / "cross_benchmark" / f"{name}.parquet"


def _calibration(study: Study) -> pl.DataFrame:
    target = table_path(study, CALIBRATION)
    made_from = [[str(path.relative_to(study.home.path)), mark_of(path)] for path in paths(study)]
    mark = sha256_hex(canonical_json([VERSION, study.study.seed, made_from]))
    if mark_of(target) == mark:
        return read_frame(target)
    found = calibration(answers(study), seed=study.study.seed)
    write_frame(found, target, mark)
    return found


def _pooled(study: Study) -> dict[str, pl.DataFrame]:
    found: dict[str, pl.DataFrame] = {}
    for benchmark in enabled(study):
        kept = [model_estimates_path(benchmark, spec.name) for spec in study.models]
        frames = [read_frame(path) for path in kept if path.exists()]
        if frames:
            found[benchmark.name] = benchmark.trait_estimates(pl.concat(frames))
    return found
