"""Everything Dagster loads."""

from __future__ import annotations

from dagster import AssetSelection, Definitions, define_asset_job, in_process_executor

from metacog_assets import across, training, warehouse
from metacog_assets.automation import ask_models, score_and_publish
from metacog_assets.benchmarks import ENABLED
from metacog_assets.sensors import study_models

PUBLISH = "publish_boards"

generate = [
    define_asset_job(
        each.generate_job,
        AssetSelection.assets(*each.generation.assets),
        description="Make new questions: designers, analysts and judges are asked what they have not answered yet.",
    )
    for each in ENABLED
    if each.generation is not None
]
construct = [
    define_asset_job(
        each.construct_job,
        AssetSelection.assets(*each.construction),
        description="Build the questions from their sources.",
    )
    for each in ENABLED
]
measure = [
    define_asset_job(
        each.measure_job,
        AssetSelection.assets(*each.measured.partitioned),
        description="Ask one model in one run, parse, score.",
    )
    for each in ENABLED
]
train = (
    [
        define_asset_job(
            training.JOB, AssetSelection.assets(*training.ASSETS), description="Evolve the study's model."
        )
    ]
    if training.ASSETS
    else []
)
publish = define_asset_job(
    PUBLISH,
    AssetSelection.assets(
        *(made for each in ENABLED for made in each.published), *across.ASSETS, *warehouse.ASSETS
    ),
    description="Compare models and rebuild the boards.",
)

defs = Definitions(
    assets=[
        *(made for each in ENABLED for made in each.assets),
        *training.ASSETS,
        *across.ASSETS,
        *warehouse.ASSETS,
    ],
    jobs=[*generate, *construct, *measure, *train, publish],
    sensors=[score_and_publish, ask_models, study_models],
    executor=in_process_executor,  # partitions are few and large; a process per step costs more than the step
)
