"""Keeps the partitions equal to the study file while the UI is open."""

from __future__ import annotations

import dagster as dg

from metacog_assets.automation import EVERY_S
from metacog_assets.partitions import MODELS
from metacog_assets.study_file import current_study
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.study import Study


def boards() -> list[dg.AssetKey]:
    """Return what stands over all models."""
    from metacog_assets.benchmarks import ASSETS

    return sorted(dg.AssetSelection.tag("layer", "tables").resolve(ASSETS))


def changes(study: Study, instance: dg.DagsterInstance) -> tuple[list[str], list[str]]:
    """Return the models of the study without a partition key yet, and the keys whose model is no longer listed."""
    listed = [spec.name for spec in study.models]
    known = set(instance.get_dynamic_partitions(str(MODELS.name)))
    return [name for name in listed if name not in known], sorted(known - set(listed))


def sync_partitions(study: Study, instance: dg.DagsterInstance) -> None:
    """Make the model partitions equal to the study's models; what a retired model answered stays in the store."""
    added, retired = changes(study, instance)
    if added:
        instance.add_dynamic_partitions(str(MODELS.name), added)
    for name in retired:
        instance.delete_dynamic_partition(str(MODELS.name), name)


@dg.sensor(
    job_name="publish",
    minimum_interval_seconds=EVERY_S,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Adds a partition for each new model of the study file, retires those of others, and renews the boards.",
)
def study_models(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    """Add and retire model partitions as the study file says, and show it on the boards there are."""
    try:
        study = current_study()
        added, retired = changes(study, context.instance)
    except MetacogError as error:
        return dg.SkipReason(str(error))
    if not added and not retired:
        return dg.SkipReason("the partitions are those of the study file")
    requests: list[dg.AddDynamicPartitionsRequest | dg.DeleteDynamicPartitionsRequest] = []
    if added:
        requests.append(MODELS.build_add_request(added))
    if retired:
        requests.append(MODELS.build_delete_request(retired))
    renewed = [dg.RunRequest(asset_selection=boards())] if study.home.leaderboard.exists() else []
    return dg.SensorResult(dynamic_partitions_requests=requests, run_requests=renewed)
