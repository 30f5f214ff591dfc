"""What is computed over all benchmarks of one study, and where it is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from metacog_pipeline.benchmark.bound import enabled
from metacog_pipeline.errors import StoreError, StudyError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.scoring import calibration as calibrating
from metacog_pipeline.scoring import correlations as correlating
from metacog_pipeline.scoring import incomplete, people
from metacog_pipeline.scoring.calibration import with_curves
from metacog_pipeline.scoring.correlations import correlations
from metacog_pipeline.scoring.files import pooled_estimates
from metacog_pipeline.scoring.harmonised import answers, paths
from metacog_pipeline.scoring.model_pairs import paired
from metacog_pipeline.scoring.schemas import CALIBRATION as CALIBRATION_SCHEMA
from metacog_pipeline.scoring.schemas import CURVES as CURVES_SCHEMA
from metacog_pipeline.scoring.traits import traits, values
from metacog_pipeline.stats import measured_coverage
from metacog_pipeline.study import Study
from metacog_pipeline.study.frames import mark_of, write_frame
from metacog_pipeline.study.kept import read_rows, write_kept

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

    So a model that is added costs its own: what is kept below ``cache`` may be deleted at any time. Numbers of runs that
    lack answers are withheld, or say so where the benchmark allows them.
    """
    read: dict[str, list[Path]] = {spec.name: [] for spec in study.models}
    for path in paths(study):
        read[path.parent.name.removeprefix("model=")].append(path)
    measured, points = _of_models(study, {model: _made_from(study, own) for model, own in read.items()})
    lacks = incomplete.lacking_of(study)
    measured, points = incomplete.told(measured, lacks), incomplete.without_withheld(points, lacks)
    found = pl.concat([measured, people.measured(study, measured)])
    order = ["benchmark", "dataset", "condition", "model", "source"]
    found = found.sort(order, maintain_order=True)
    write_frame(found, table_path(study, CALIBRATION), "")
    write_frame(points.sort(order, maintain_order=True), table_path(study, CURVES), "")
    return found


def _made_from(study: Study, read: Sequence[Path]) -> str:
    """Return the digest of all that the measures of a model rest on; ``read`` are the files of its answers."""
    made_from = [[study.home.key(path), mark_of(path)] for path in read]
    versions = [calibrating.VERSION, measured_coverage.digest()]
    return sha256_hex(canonical_json([*versions, study.study.seed, made_from]))


def _of_models(study: Study, made_from: Mapping[str, str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the measures and the curves of all models, those kept read together and the others computed and kept."""
    models, digests = list(made_from), list(made_from.values())
    paths = [
        [study.home.cache / name / f"{model}.parquet" for model in models] for name in (CALIBRATION, CURVES)
    ]
    kept = [read_rows(own, digests) for own in paths]
    whole = set[int].intersection(*(set(places) for places, _ in kept))
    own = pl.col("model").is_in([models[place] for place in whole])
    made = [[rows.filter(own)] if whole else [] for _, rows in kept]
    for place in sorted(set(range(len(models))) - whole):
        new = with_curves(answers(study, frozenset((models[place],))), seed=study.study.seed)
        for rows, of_table, all_rows in zip(new, paths, made, strict=True):
            write_kept(rows, of_table[place], digests[place])
            all_rows.append(rows)
    schemas = (CALIBRATION_SCHEMA, CURVES_SCHEMA)
    measured, points = (
        pl.concat([schema.to_frame(), *rows]) for schema, rows in zip(schemas, made, strict=True)
    )
    return measured, points


def _pooled(study: Study) -> dict[str, pl.DataFrame]:
    found = {benchmark: pooled_estimates(benchmark) for benchmark in enabled(study)}
    return {each.name: each.trait_estimates(rows) for each, rows in found.items() if rows.width}
