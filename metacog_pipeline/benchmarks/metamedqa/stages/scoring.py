"""From kept answers to observations, estimates and comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from metacog_pipeline.benchmarks.metamedqa import scoring
from metacog_pipeline.benchmarks.metamedqa.comparisons import compare
from metacog_pipeline.benchmarks.metamedqa.observe import observe as parse_answers
from metacog_pipeline.benchmarks.metamedqa.stages.asking import fingerprint, tasks
from metacog_pipeline.benchmarks.metamedqa.stages.construction import selected_items
from metacog_pipeline.benchmarks.metamedqa.stages.settings import (
    BENCHMARK,
    Shown,
    conditions,
    mark_of,
    read_frame,
    settings,
    write_frame,
)
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.querying.asking import source_of
from metacog_pipeline.querying.planning import identities
from metacog_pipeline.querying.session import (
    Partition,
)
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.store import read_partition

PARSING_VERSION = "1"
SCORING_VERSION = "1"
STAGES = ("metamedqa_transcripts", "metamedqa_observations", "metamedqa_estimates")
OBSERVATION_PREVIEW = ("item_id", "condition", "kind", "target", "answer", "confidence", "correct", "status")
ESTIMATE_PREVIEW = ("condition", "measure", "estimate", "low", "high", "n", "status")


@dataclass(frozen=True, slots=True)
class Observed(Shown):
    """Parsed answers of one partition."""

    rows: int = 0
    expected_rows: int = 0
    unparsable_share: float = 0.0


def observations_path(partition: Partition) -> Path:
    """Return where the partition's observations are kept."""
    return _run_file(partition.study.home.observations / BENCHMARK, partition)


def estimates_path(partition: Partition) -> Path:
    """Return where the estimates of this one run are kept."""
    return _run_file(partition.study.home.estimates / BENCHMARK / "runs", partition)


def stale(partition: Partition) -> tuple[str, ...]:
    """Return which of the partition's assets must run; empty when all are up to date."""
    if partition.manifest().get("fingerprint") != fingerprint(partition):
        return STAGES
    if mark_of(observations_path(partition)) != _observed_from(partition):
        return STAGES[1:]
    if mark_of(estimates_path(partition)) != _estimated_from(partition):
        return STAGES[2:]
    return ()


def has_answers(partition: Partition) -> bool:
    """Whether there is anything to score: something was answered, or scored before."""
    return bool(partition.manifest().get("n_answered")) or observations_path(partition).exists()


def observe(partition: Partition) -> Observed:
    """Parse the partition's answers into one row per item and condition."""
    study = partition.study
    items = selected_items(study)
    names = conditions(study)
    frame = parse_answers(
        items,
        _asked_now(partition),
        conditions=names,
        model=partition.spec.name,
        run=partition.run,
        source=_source(partition),
    )
    expected = len(items) * len(names)
    # A file of the wrong length is never taken for up to date: the check that refused it must be met again.
    write_frame(
        frame, observations_path(partition), _observed_from(partition) if frame.height == expected else ""
    )
    by_status = dict(frame["status"].value_counts().iter_rows())
    unparsable = sum(by_status.get(name, 0) for name in ("answer_unparsed", "confidence_unparsed"))
    return Observed(
        facts={"rows": frame.height, **by_status},
        frame=frame,
        rows=frame.height,
        expected_rows=expected,
        unparsable_share=unparsable / max(frame.height, 1),
    )


def _asked_now(partition: Partition) -> pl.DataFrame:
    """Return the partition's transcripts without answers to questions that are worded otherwise now.

    A complete partition has marked those itself. In one that stopped early, items not reached yet still hold their
    old answers, which must not be mixed with the new ones.
    """
    frame = pl.DataFrame(pl.from_arrow(read_partition(partition.folder)))
    profile = partition.known_profile()
    if partition.manifest().get("state") == "complete" or profile is None or profile.mode == "import":
        return frame
    now = identities(partition, profile, tasks(partition.study, partition.spec))
    return frame.filter(pl.col("answer_id").is_in(now))


def _source(partition: Partition) -> str:
    return str(partition.manifest().get("source") or source_of(partition.spec))


def estimate(partition: Partition) -> pl.DataFrame:
    """Score one run: every measure with its interval, or the reason there is none."""
    frame = scoring.score(
        read_frame(observations_path(partition)),
        seed=partition.study.study.seed,
        allow_incomplete=settings(partition.study).allow_incomplete,
    )
    write_frame(frame, estimates_path(partition), _estimated_from(partition))
    return frame


def calibration(partition: Partition) -> pl.DataFrame:
    """Return accuracy by confidence level of one run, for the plot."""
    return scoring.by_confidence(read_frame(observations_path(partition)))


def summarise(study: Study) -> dict[str, int]:
    """Pool each listed model over its runs and compare models; only models whose observations changed are redone."""
    models = pool_models(study)
    return {**models, "comparisons": compare_models(study)}


def pool_models(study: Study) -> dict[str, int]:
    """Pool each listed model over its runs; only models whose observations changed are redone."""
    stale: dict[Path, str] = {}
    observations: list[pl.DataFrame] = []
    listed = set()
    for spec in study.models:
        present = _observed_runs(study, spec)
        target = study.home.estimates / BENCHMARK / "models" / f"{spec.name}.parquet"
        if not present:
            continue
        listed.add(target)
        made_from = sha256_hex(canonical_json([SCORING_VERSION, study.study.seed, *map(mark_of, present)]))
        if mark_of(target) != made_from:
            stale[target] = made_from
            observations += [read_frame(path) for path in present]
    if stale:
        # All at once: a group more costs a tenth of a query more.
        pooled = scoring.pool(
            pl.concat(observations),
            seed=study.study.seed,
            allow_incomplete=settings(study).allow_incomplete,
        )
        by_model = pooled.partition_by("model", as_dict=True)
        for target, made_from in stale.items():
            write_frame(by_model.get((target.stem,), pooled.clear()), target, made_from)
    for retired in set((study.home.estimates / BENCHMARK / "models").glob("[a-z0-9]*.parquet")) - listed:
        retired.unlink()
    return {"models": len(listed), "models pooled anew": len(stale)}


def compare_models(study: Study) -> int:
    """Write the tests between models and between conditions; return how many there are."""
    target = study.home.estimates / BENCHMARK / "comparisons" / "comparisons.parquet"
    present = [path for spec in study.models for path in _observed_runs(study, spec)]
    if not present:
        target.unlink(missing_ok=True)
        return 0
    table = compare(pl.concat([read_frame(path) for path in present]), seed=study.study.seed)
    write_frame(table, target, "")
    return table.height


def _observed_runs(study: Study, spec: ModelSpec) -> list[Path]:
    paths = [observations_path(Partition(study, BENCHMARK, spec, run)) for run in study.runs]
    return [path for path in paths if path.exists()]


def scored_from(study: Study) -> list[str | None]:
    """Return what the estimates of every run were computed from, to see whether a board is still current."""
    partitions = [Partition(study, BENCHMARK, spec, run) for spec in study.models for run in study.runs]
    return [SCORING_VERSION, *(mark_of(estimates_path(partition)) for partition in partitions)]


def _observed_from(partition: Partition) -> str:
    manifest = partition.manifest()
    return sha256_hex(
        canonical_json([PARSING_VERSION, manifest.get("fingerprint"), manifest.get("finished_at")])
    )


def _estimated_from(partition: Partition) -> str:
    section = settings(partition.study)
    inputs = [
        SCORING_VERSION,
        partition.study.study.seed,
        section.allow_incomplete,
        _observed_from(partition),
    ]
    return sha256_hex(canonical_json(inputs))


def _run_file(folder: Path, partition: Partition) -> Path:
    return folder / f"model={partition.spec.name}" / f"run={partition.run}.parquet"
