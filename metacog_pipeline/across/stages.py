"""What is computed over all benchmarks of one study, and where it is kept."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from metacog_pipeline.across import alike as measuring
from metacog_pipeline.across import validity as agreeing
from metacog_pipeline.across.alike import ALIKE_SCHEMA, USE_SCHEMA, alike, use
from metacog_pipeline.across.paired import paired
from metacog_pipeline.across.readings import answers, observed_from
from metacog_pipeline.across.traits import VALUE_SCHEMA, values
from metacog_pipeline.across.validity import VALIDITY_SCHEMA, validity
from metacog_pipeline.benchmarks.catalogue import enabled
from metacog_pipeline.benchmarks.common.files import mark_of, read_frame, write_frame
from metacog_pipeline.errors import StoreError, StudyError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.study import Study

FOLDER = "across"  # below the home's estimates
ALIKE, USE, VALUES, VALIDITY = (
    f"{name}/{name}.parquet" for name in ("confidence", "use", "traits", "validity")
)
VERSION = f"{measuring.VERSION}.{agreeing.VERSION}"
SCHEMAS = {ALIKE: ALIKE_SCHEMA, USE: USE_SCHEMA, VALUES: VALUE_SCHEMA, VALIDITY: VALIDITY_SCHEMA}


def publish(study: Study) -> dict[str, int]:
    """Compute what the benchmarks have in common and whether they agree; return rows per table.

    What was computed from the same observations is kept.
    """
    measured = _confidence(study)
    found = values(measured, _pooled(study))
    _write(study, VALUES, found)
    pairs = validity(found, seed=study.study.seed)
    _write(study, VALIDITY, pairs)
    return {"confidence": measured.height, "traits": found.height, "validity": pairs.height}


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


def _confidence(study: Study) -> pl.DataFrame:
    target = _path(study, ALIKE)
    mark = sha256_hex(canonical_json([VERSION, study.study.seed, observed_from(study)]))
    if mark_of(target) == mark and mark_of(_path(study, USE)) == mark:
        return read_frame(target)
    given = answers(study)
    found = alike(given, seed=study.study.seed)
    write_frame(use(given), _path(study, USE), mark)
    write_frame(found, target, mark)
    return found


def _pooled(study: Study) -> dict[str, pl.DataFrame]:
    found: dict[str, pl.DataFrame] = {}
    for benchmark in enabled(study):
        paths = sorted((benchmark.estimates_folder(study) / "models").glob("[a-z0-9]*.parquet"))
        listed = {spec.name for spec in study.models}
        frames = [read_frame(path) for path in paths if path.stem in listed]
        if frames:
            found[benchmark.name] = pl.concat(frames)
    return found


def _write(study: Study, name: str, frame: pl.DataFrame) -> None:
    write_frame(frame, _path(study, name), "")


def _path(study: Study, name: str) -> Path:
    return study.home.estimates / FOLDER / name
