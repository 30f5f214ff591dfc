"""Everything Dagster loads."""

from __future__ import annotations

from dagster import AssetSelection, Definitions, define_asset_job, in_process_executor

from assets import metamedqa, warehouse
from assets.automation import automation
from assets.sensors import study_models

CONSTRUCT = "metamedqa_construct"
MEASURE = "metamedqa_measure"
PUBLISH = "publish_boards"

construct = define_asset_job(
    CONSTRUCT,
    AssetSelection.assets(*metamedqa.CONSTRUCTION),
    description="Build the questions from their sources.",
)
measure = define_asset_job(
    MEASURE,
    AssetSelection.assets(*metamedqa.MEASUREMENT),
    description="Ask one model in one run, parse, score.",
)
publish = define_asset_job(
    PUBLISH,
    AssetSelection.assets(metamedqa.metamedqa_comparisons, *warehouse.ASSETS),
    description="Compare models and rebuild the boards.",
)

defs = Definitions(
    assets=[*metamedqa.ASSETS, *warehouse.ASSETS],
    jobs=[construct, measure, publish],
    sensors=[automation, study_models],
    executor=in_process_executor,  # partitions are few and large; a process per step costs more than the step
)
