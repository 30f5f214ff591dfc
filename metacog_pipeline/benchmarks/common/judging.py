"""From observations to judgements: what other models say of a model's answers, kept and read like answers themselves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from metacog_pipeline.benchmarks.common.benchmark import Benchmark, Judging
from metacog_pipeline.benchmarks.common.files import mark_of, read_frame, write_frame
from metacog_pipeline.benchmarks.common.scoring import observations_path
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.querying.session import Partition


def judged_partition(judging: Judging, partition: Partition) -> Partition:
    """Return the partition of the judgements about ``partition``'s model and run."""
    return replace(partition, benchmark=judging.name)


def judgements_path(judging: Judging, partition: Partition) -> Path:
    """Return where the judgements of one model and run are kept, read."""
    return observations_path(judged_partition(judging, partition))


def judgements_current(benchmark: Benchmark, partition: Partition) -> bool:
    """Whether nothing is left to ask the judges, or nobody is to judge."""
    judging = benchmark.judged_by(partition.study)
    if judging is None:
        return True
    seat = judged_partition(judging, partition)
    asked = seat.manifest().get("fingerprint") == judging.fingerprint(partition)
    return asked and mark_of(judgements_path(judging, partition)) == _read_from(judging, partition)


def read_judgements(judging: Judging, partition: Partition) -> pl.DataFrame:
    """Read what the judges said and write it down."""
    frame = judging.read(partition)
    write_frame(frame, judgements_path(judging, partition), _read_from(judging, partition))
    return frame


def kept_judgements(judging: Judging, partition: Partition) -> pl.DataFrame | None:
    """Return the judgements of a model and run; None before there are any."""
    path = judgements_path(judging, partition)
    return read_frame(path) if path.exists() else None


def _read_from(judging: Judging, partition: Partition) -> str:
    manifest = judged_partition(judging, partition).manifest()
    observed = mark_of(observations_path(partition))
    inputs = [judging.version, manifest.get("fingerprint"), manifest.get("finished_at"), observed]
    return sha256_hex(canonical_json(inputs))
