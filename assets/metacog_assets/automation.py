"""Sensors: what happens by itself while Dagster's daemon runs."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg

from metacog_assets.conditions import PAID
from metacog_assets.graph import BENCHMARKS
from metacog_assets.partitions import RUNS, key_of, known_models, sync_partitions
from metacog_assets.study_file import bound, current_study
from metacog_pipeline.asking import batches, judging, tasks
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.scoring import staleness
from metacog_pipeline.study import Study

BOARDS = [*(f"{name}_comparisons" for name in BENCHMARKS), "leaderboard", "report"]
ON, OFF = dg.DefaultSensorStatus.RUNNING, dg.DefaultSensorStatus.STOPPED
ENDED = ("SUCCESS", "FAILURE", "CANCELED", "MANAGED")
UNDER_WAY = [each for each in dg.DagsterRunStatus if each.name not in ENDED]

score_and_publish = dg.AutomationConditionSensorDefinition(
    "score_and_publish",
    target=dg.AssetSelection.all() - PAID,
    default_status=ON,
    minimum_interval_seconds=10,
    description="Builds items, reads, scores and publishes when their inputs change. Asks nobody and costs nothing.",
)
ask_models = dg.AutomationConditionSensorDefinition(
    "ask_models",
    target=PAID,
    default_status=OFF,
    minimum_interval_seconds=30,
    description="Asks models and judges what nobody asked yet; what failed waits for a person. Asking real models costs "
    "money: a person switches it on.",
)


@dg.sensor(
    target=dg.AssetSelection.all() - PAID,
    minimum_interval_seconds=15,
    default_status=ON,
    description="Scores and publishes what a step that failed, was terminated or stopped at the budget has left: such a "
    "step makes no event that could be followed, but its answers are kept and the boards have its reason. Asks nobody.",
)
def stale_files(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    """Request what is stale by the files, once per state of the files, when nothing is under way."""
    if context.instance.get_runs(dg.RunsFilter(statuses=UNDER_WAY), limit=1):
        return dg.SkipReason("runs are under way")
    try:
        wanted = list(_stale(current_study(), known_models(context.instance)))
    except MetacogError as error:
        return dg.SkipReason(str(error))
    # What failed at a state of the files waits for a newer one, or a person.
    begun = {
        each.run_key: context.instance.get_runs(
            dg.RunsFilter(tags={"dagster/run_key": str(each.run_key)}), limit=1
        )
        for each in wanted
    }
    fresh = [each for each in wanted if not begun[each.run_key]]
    numbers = [each for each in fresh if each.partition_key is not None]
    requests = numbers or fresh  # boards are built when the numbers are there
    if not requests:
        return dg.SensorResult(skip_reason="nothing is stale", cursor="")
    state = sha256_hex(canonical_json([each.run_key for each in requests]))
    if context.cursor != state:  # score_and_publish has its turn first
        return dg.SensorResult(skip_reason="something is stale", cursor=state)
    return dg.SensorResult(run_requests=requests, cursor=state)


def _begun(instance: dg.DagsterInstance, request: dg.RunRequest) -> bool:
    """Whether a run was started for this state of the files: what failed at it waits for a newer one, or a person."""
    return bool(instance.get_runs(dg.RunsFilter(tags={"dagster/run_key": str(request.run_key)}), limit=1))


def _stale(study: Study, models: list[str]) -> Iterator[dg.RunRequest]:
    """Yield the runs that make what is stale and costs nothing: first the numbers, then the boards."""
    for name in BENCHMARKS:
        benchmark = bound(name)
        for each in tasks.partitions(benchmark):
            known = each.spec.name in models and str(each.run) in RUNS.get_partition_keys()
            if known and (stages := staleness.free_stages(benchmark, each)):
                judged = judging.judged_as(each).manifest().get("finished_at")
                state = f"{each.manifest().get('finished_at')} {judged}"
                yield dg.RunRequest(
                    run_key=f"{name} {each.spec.name} {each.run} {' '.join(stages)} {state}",
                    asset_selection=[dg.AssetKey(f"{name}_{stage}") for stage in stages],
                    partition_key=key_of(each.spec.name, each.run),
                )
    if study.home.leaderboard.exists() and staleness.boards_stale(study):
        keys = [dg.AssetKey(name) for name in BOARDS]
        yield dg.RunRequest(run_key=f"boards {staleness.leaderboard_digest(study)}", asset_selection=keys)


@dg.sensor(
    target=dg.AssetSelection.assets(*BOARDS),
    minimum_interval_seconds=10,
    default_status=ON,
    description="Adds a partition for each new model of the study file and retires those of others.",
)
def study_models(context: dg.SensorEvaluationContext) -> dg.SkipReason:
    """Add and retire model partitions as the study file says; boards that listed others are stale then."""
    try:
        changed = sync_partitions(current_study(), context.instance)
    except MetacogError as error:
        return dg.SkipReason(str(error))
    return dg.SkipReason(f"the partitions are {'now ' if changed else ''}those of the study file")


@dg.sensor(
    target=PAID,
    minimum_interval_seconds=120,  # a batch takes minutes to hours
    default_status=ON,
    description="Goes on with partitions whose batches have ended; no run stays while a provider works on a batch.",
)
def batches_ended(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    """Start a run for each partition whose batches have ended; it asks what follows from their answers."""
    try:
        study = current_study()
        ended = batches.ended(study)
    except MetacogError as error:
        return dg.SkipReason(str(error))
    requests: dict[str | None, dg.RunRequest] = {}
    for batch in ended:
        kept = batches.folder_of(study, batch)
        name = batches.asked_of(study, kept)
        asked = name in BENCHMARKS and name in study.enabled and kept.run in study.runs
        if asked and kept.model in known_models(context.instance):  # another could only fail, again and again
            stage = "transcripts" if kept.benchmark == name else "judgements"
            request = dg.RunRequest(
                run_key=f"{batch.record.mark}:{batch.record.state}:{batch.record.tries}",
                asset_selection=[dg.AssetKey(f"{name}_{stage}")],
                partition_key=key_of(kept.model, kept.run),
            )
            requests[request.run_key] = request
    if not requests:
        return dg.SkipReason("no batch has ended")
    return dg.SensorResult(run_requests=list(requests.values()))


SENSORS = [score_and_publish, ask_models, stale_files, study_models, batches_ended]
