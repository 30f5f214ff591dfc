"""Everything Dagster loads: the assets of the study, six jobs that select among them, four sensors, a schedule."""

from __future__ import annotations

from dagster import AssetSelection, Definitions, define_asset_job, in_process_executor

from metacog_assets import training
from metacog_assets.automation import PAID_ASSETS, ask_models, score_and_publish
from metacog_assets.batch_sensor import batches_ended
from metacog_assets.benchmarks import ASSETS
from metacog_assets.schedules import monthly_rerun
from metacog_assets.sensors import study_models


def _of(*layers: str) -> AssetSelection:
    found = AssetSelection.tag("layer", layers[0])
    for layer in layers[1:]:
        found = found | AssetSelection.tag("layer", layer)
    return found


_SAYS = {
    "build_items": (_of("items") - PAID_ASSETS, "Make the items from their sources; asks nobody."),
    "generate_items": (
        _of("items"),
        "Make the items, asking the models that help what they have not answered yet.",
    ),
    "ask": (
        _of("answers", "judgements", "scores"),
        "Ask models and judges what is missing, read and score the answers.",
    ),
    "score": (_of("scores"), "Read and score what was answered; asks nobody."),
    "publish": (_of("tables"), "Pool, compare, and rebuild the boards and the report."),
}
jobs = [define_asset_job(name, selection, description=says) for name, (selection, says) in _SAYS.items()]
if training.ASSETS:
    jobs.append(
        define_asset_job(
            training.JOB, AssetSelection.assets(*training.ASSETS), description="Evolve the model."
        )
    )

defs = Definitions(
    assets=[*ASSETS, *training.ASSETS],
    jobs=jobs,
    sensors=[score_and_publish, ask_models, study_models, batches_ended],
    schedules=[monthly_rerun],
    executor=in_process_executor,  # partitions are few and large; a process per step costs more than the step
)
