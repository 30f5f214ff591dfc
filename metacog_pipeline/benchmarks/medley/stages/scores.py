"""From observations to scores of single instances: kept per model and run, so that estimates of runs, of models and
comparisons rest on the same numbers, computed once.
"""

from __future__ import annotations

from dataclasses import astuple

import polars as pl

from metacog_pipeline.benchmarks.common.files import mark_of, read_frame, write_frame
from metacog_pipeline.benchmarks.common.judging import judgements_path
from metacog_pipeline.benchmarks.common.scoring import observations_path
from metacog_pipeline.benchmarks.medley.instance_scores import INSTANCE_SCHEMA, score_instances
from metacog_pipeline.benchmarks.medley.stages.construction import instances, instances_digest
from metacog_pipeline.benchmarks.medley.stages.judging import JUDGING, judged
from metacog_pipeline.benchmarks.medley.stages.settings import BENCHMARK, judges, masking, settings
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.querying.session import Partition
from metacog_pipeline.study import Study

VERSION = "1"  # of the scores of instances; raised when the same observations would be scored otherwise


def instance_scores(study: Study, observations: pl.DataFrame) -> pl.DataFrame:
    """Return one row per observation in `INSTANCE_SCHEMA`, of the models and runs of ``observations``.

    Read from ``<home>/estimates/medley/instances/`` where they were computed from these observations and judgements.
    """
    folder = study.home.estimates / BENCHMARK / "instances"
    parts = []
    runs = dict.fromkeys(zip(observations["model"], observations["run"], strict=True))
    for model, run in runs:
        target = folder / f"model={model}" / f"run={run}.parquet"
        made_from = _made_from(study, Partition(study, BENCHMARK, study.model(model), run))
        if made_from and mark_of(target) == made_from:
            parts.append(read_frame(target))
            continue
        own = observations
        if len(runs) > 1:
            own = observations.filter(pl.col("model") == model, pl.col("run") == run)
        found = score_instances(
            own,
            instances(study),
            judged(study, own),
            variant=settings(study).variant,
            masking=masking(study),
        )
        write_frame(found, target, made_from)
        parts.append(found)
    return pl.concat(parts) if parts else INSTANCE_SCHEMA.to_frame()


def _made_from(study: Study, partition: Partition) -> str:
    """Return the digest of what the scores depend on; empty where the observations are not to be relied on."""
    observed = mark_of(observations_path(partition))
    if not observed:
        return ""
    grades = mark_of(judgements_path(JUDGING, partition)) if judges(study) else None
    hidden = list(astuple(masking(study)))
    inputs = [VERSION, settings(study).variant, hidden, instances_digest(study), observed, grades]
    return sha256_hex(canonical_json(inputs))
