"""From kept answers to observations, estimates of one run, pooled estimates and comparisons."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from metacog_pipeline.benchmarks.common.asking import asked_now
from metacog_pipeline.benchmarks.common.benchmark import Benchmark
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.querying.asking import source_of
from metacog_pipeline.querying.session import Partition
from metacog_pipeline.study import Study
from metacog_pipeline.study.frames import Shown, mark_of, read_frame, write_frame

UNPARSABLE = ("answer_unparsed", "confidence_unparsed", "meta_invalid")


@dataclass(frozen=True, slots=True)
class Observed(Shown):
    """Parsed answers of one partition."""

    rows: int = 0
    expected_rows: int = 0
    unparsable_share: float = 0.0


def observations_path(partition: Partition) -> Path:
    """Return where the partition's observations are kept."""
    return _run_file(partition.study.home.observations / partition.benchmark, partition)


def estimates_path(partition: Partition) -> Path:
    """Return where the estimates of this one run are kept."""
    return _run_file(partition.study.home.estimates / partition.benchmark / "runs", partition)


def source_word(partition: Partition) -> str:
    """Return what the partition's answers are: measured, imported or simulated."""
    return str(partition.manifest().get("source") or source_of(partition.spec))


def stale(benchmark: Benchmark, partition: Partition) -> tuple[str, ...]:
    """Return which of the partition's assets must run; empty when all are up to date."""
    if partition.manifest().get("fingerprint") != benchmark.fingerprint(partition):
        return benchmark.stages
    if mark_of(observations_path(partition)) != _observed_from(benchmark, partition):
        return benchmark.stages[1:]
    if mark_of(estimates_path(partition)) != _estimated_from(benchmark, partition):
        return benchmark.stages[-1:]
    return ()


def has_answers(partition: Partition) -> bool:
    """Whether there is anything to score: something was answered, or scored before."""
    return bool(partition.manifest().get("n_answered")) or observations_path(partition).exists()


def observe(benchmark: Benchmark, partition: Partition) -> Observed:
    """Parse the partition's answers into one row per item and condition."""
    frame = benchmark.parse(partition, asked_now(benchmark, partition))
    expected = benchmark.expected_rows(partition.study)
    # A file of the wrong length is never taken for up to date: the check that refused it must be met again.
    mark = _observed_from(benchmark, partition) if frame.height == expected else ""
    write_frame(frame, observations_path(partition), mark)
    by_status = dict(frame["status"].value_counts().iter_rows())
    unparsable = sum(by_status.get(name, 0) for name in UNPARSABLE)
    return Observed(
        facts={"rows": frame.height, **by_status},
        frame=frame,
        rows=frame.height,
        expected_rows=expected,
        unparsable_share=unparsable / max(frame.height, 1),
    )


def estimate(benchmark: Benchmark, partition: Partition) -> pl.DataFrame:
    """Score one run: every measure with its interval, or the reason there is none."""
    frame = benchmark.score(partition.study, read_frame(observations_path(partition)))
    write_frame(frame, estimates_path(partition), _estimated_from(benchmark, partition))
    return frame


def summarise(benchmark: Benchmark, study: Study) -> dict[str, int]:
    """Pool each listed model over its runs and compare models; only models whose observations changed are redone."""
    return {**pool_models(benchmark, study), "comparisons": compare_models(benchmark, study)}


def pool_models(benchmark: Benchmark, study: Study) -> dict[str, int]:
    """Pool each listed model over its runs; only models whose observations changed are redone."""
    folder = benchmark.estimates_folder(study) / "models"
    made_from: dict[Path, str] = {}
    observations: list[pl.DataFrame] = []
    listed = set()
    for spec in study.models:
        present = _observed_runs(benchmark, study, spec)
        target = folder / f"{spec.name}.parquet"
        if not present:
            continue
        listed.add(target)
        now = _pooled_from(benchmark, study, present)
        if mark_of(target) != now:
            made_from[target] = now
            observations += [read_frame(observations_path(partition)) for partition in present]
    if made_from:
        # All at once: a group more costs a tenth of a query more.
        pooled = benchmark.pool(study, pl.concat(observations))
        by_model = pooled.partition_by("model", as_dict=True)
        for target, mark in made_from.items():
            write_frame(by_model.get((target.stem,), pooled.clear()), target, mark)
    for retired in set(folder.glob("[a-z0-9]*.parquet")) - listed:
        retired.unlink()
    return {"models": len(listed), "models pooled anew": len(made_from)}


def compare_models(benchmark: Benchmark, study: Study) -> int:
    """Write the tests between models and between conditions; return how many there are."""
    target = benchmark.estimates_folder(study) / "comparisons" / "comparisons.parquet"
    present = [each for spec in study.models for each in _observed_runs(benchmark, study, spec)]
    if not present:
        target.unlink(missing_ok=True)
        return 0
    table = benchmark.compare(study, pl.concat([read_frame(observations_path(each)) for each in present]))
    write_frame(table, target, "")
    return table.height


def scored_from(benchmark: Benchmark, study: Study) -> list[str | None]:
    """Return what the estimates of every run were computed from, to see whether a board is still current."""
    marks = (mark_of(estimates_path(partition)) for partition in benchmark.partitions(study))
    return [benchmark.scoring_version, *marks]


def _observed_runs(benchmark: Benchmark, study: Study, spec: ModelSpec) -> list[Partition]:
    partitions = [benchmark.partition(study, spec, run) for run in study.runs]
    return [partition for partition in partitions if observations_path(partition).exists()]


def _observed_from(benchmark: Benchmark, partition: Partition) -> str:
    manifest = partition.manifest()
    inputs = [benchmark.parsing_version, manifest.get("fingerprint"), manifest.get("finished_at")]
    return sha256_hex(canonical_json(inputs))


def _estimated_from(benchmark: Benchmark, partition: Partition) -> str:
    judged = [_judged_mark(benchmark, partition)] if benchmark.judging is not None else []
    return _scored_from(benchmark, partition.study, [_observed_from(benchmark, partition), *judged])


def _pooled_from(benchmark: Benchmark, study: Study, present: list[Partition]) -> str:
    marks = [mark_of(observations_path(partition)) for partition in present]
    judged = [_judged_mark(benchmark, each) for each in present] if benchmark.judging is not None else []
    return _scored_from(benchmark, study, [*marks, *judged])


def _judged_mark(benchmark: Benchmark, partition: Partition) -> str | None:
    """Return the mark of the judgements that are scored with ``partition``, where the study names judges."""
    judging = benchmark.judged_by(partition.study)
    if judging is None:
        return None
    return mark_of(observations_path(replace(partition, benchmark=judging.name)))


def _scored_from(benchmark: Benchmark, study: Study, observed: list[str | None]) -> str:
    inputs = [benchmark.scoring_version, study.study.seed, benchmark.scoring_inputs(study), observed]
    return sha256_hex(canonical_json(inputs))


def _run_file(folder: Path, partition: Partition) -> Path:
    return folder / f"model={partition.spec.name}" / f"run={partition.run}.parquet"
