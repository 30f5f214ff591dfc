"""Sensors: what happens by itself while Dagster's daemon runs. They ask `staleness.stale`, as ``metacog run`` does.

Not automation conditions: a step that failed, was terminated or stopped at the budget makes no event that a condition could
follow, but its answers are kept, and the boards have its reason. What costs money is asked by a person.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime, timedelta

import dagster as dg

from metacog_assets.benchmark_assets import assets_of, keys
from metacog_assets.graph import BENCHMARKS, BOARDS
from metacog_assets.partitions import RUNS, Key, key_of, known_models, sync_partitions
from metacog_assets.study_file import current_study
from metacog_pipeline.asking import batches, construction
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.scoring import files, staleness
from metacog_pipeline.study import Study

PAID = dg.AssetSelection.tag("cost", "paid")
ENDED = ("SUCCESS", "FAILURE", "CANCELED", "MANAGED")
UNDER_WAY = [each for each in dg.DagsterRunStatus if each.name not in ENDED]
# one that began earlier and has not ended was killed
LONGEST_RUN = timedelta(days=1)
Evaluated = dg.SensorResult | dg.SkipReason


@dg.sensor(
    target=dg.AssetSelection.all() - PAID,
    minimum_interval_seconds=15,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Keeps the partitions those of the study file; builds items, reads, scores and publishes what is stale. "
    "Asks no model and costs nothing.",
)
def score_and_publish(context: dg.SensorEvaluationContext) -> Evaluated:
    """Launch what is stale and costs nothing."""
    recently = dg.RunsFilter(statuses=UNDER_WAY, created_after=datetime.now(UTC) - LONGEST_RUN)
    busy = {run.tags.get("dagster/partition") for run in context.instance.get_runs(recently)}
    if None in busy:  # a command, or the boards
        return dg.SkipReason("a run over several partitions is under way")
    try:
        study = current_study()
        sync_partitions(study, context.instance)
        requests = [each for each in _stale(study) if each.partition_key not in busy]
    except MetacogError as error:
        return dg.SkipReason(str(error))
    return _launched(context.instance, requests)


@dg.sensor(
    target=PAID,
    # a batch takes minutes to hours
    minimum_interval_seconds=120,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Goes on with partitions whose batches have ended; no run stays while a provider works on a batch.",
)
def batches_ended(context: dg.SensorEvaluationContext) -> Evaluated:
    """Launch each partition of the study whose batches have ended: it asks what follows from their answers."""
    requests = []
    try:
        study = current_study()
        for batch in batches.ended(study):
            kept = batches.folder_of(study, batch)
            name = batches.asked_of(study, kept)
            stage = "transcripts" if kept.benchmark == name else "judgements"
            state = f"{batch.record.mark}:{batch.record.state}:{batch.record.remote}"
            if name in BENCHMARKS and name in study.enabled:
                requests.append(_request([f"{name}/{stage}"], state, (kept.model, kept.run)))
    except MetacogError as error:
        return dg.SkipReason(str(error))
    return _launched(context.instance, requests)


SENSORS = [score_and_publish, batches_ended]


def _stale(study: Study) -> Iterator[dg.RunRequest]:
    """Yield the runs that make what is stale and asks no model."""
    found = staleness.stale(study)
    for benchmark in (bound(study, name) for name in study.enabled if name in BENCHMARKS):
        steps = [construction.step_of(benchmark, name) for name in found.steps.get(benchmark.name, ())]
        if steps:
            # of a source, say: the step reports it
            with contextlib.suppress(MetacogError):
                state = construction.input_digest(benchmark, steps[0])
                yield _request(assets_of(benchmark, [step.name for step in steps]), state)
        for each in (each for each, _ in found.partitions if each.benchmark == benchmark.name):
            if stages := staleness.free_stages(benchmark, each):
                state = files.response_digest(benchmark, each) + files.scoring_digest(benchmark, each)
                yield _request(assets_of(benchmark, stages), state, (each.spec.name, each.run))
    if found.compared or found.leaderboard or found.report:
        yield _request(BOARDS, staleness.leaderboard_digest(study))


def _request(assets: Collection[str], state: str = "", key: Key | None = None) -> dg.RunRequest:
    """Return a request that is launched once for a ``state`` of what it is made from: what failed waits for a newer one."""
    partition = None if key is None else key_of(*key)
    run_key = sha256_hex(canonical_json([sorted(assets), state, partition]))
    return dg.RunRequest(run_key=run_key, asset_selection=keys(assets), partition_key=partition)


def _launched(instance: dg.DagsterInstance, requests: Iterable[dg.RunRequest]) -> Evaluated:
    """Return the requests for known partitions that were not launched before; the boards where there are no others."""
    models, runs = known_models(instance), RUNS.get_partition_keys()
    known = {None, *(str(key_of(name, int(run))) for name in models for run in runs)}
    fresh = [each for each in requests if each.partition_key in known and not _tried(instance, each)]
    if not fresh:
        return dg.SkipReason("there is nothing to launch")
    boards = keys(BOARDS)
    return dg.SensorResult(run_requests=[each for each in fresh if each.asset_selection != boards] or fresh)


def _tried(instance: dg.DagsterInstance, request: dg.RunRequest) -> bool:
    same = dg.RunsFilter(tags={"dagster/run_key": str(request.run_key)})
    return bool(instance.get_runs(same, limit=1))
