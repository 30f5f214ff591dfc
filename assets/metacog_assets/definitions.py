"""Everything Dagster loads: the assets of the study, six jobs that select among them, five sensors, a schedule."""

from __future__ import annotations

import dagster as dg

from metacog_assets import training
from metacog_assets.automation import ask_models, score_and_publish
from metacog_assets.batch_sensor import batches_ended
from metacog_assets.benchmarks import ASSETS
from metacog_assets.executors import executor
from metacog_assets.jobs import JOBS
from metacog_assets.queue_sensor import queued_study
from metacog_assets.schedules import monthly_rerun
from metacog_assets.sensors import study_models
from metacog_assets.study_file import current_study

jobs = list(JOBS)
if training.ASSETS:
    jobs.append(
        dg.define_asset_job(
            training.JOB, dg.AssetSelection.assets(*training.ASSETS), description="Evolve the model."
        )
    )

defs = dg.Definitions(
    assets=[*ASSETS, *training.ASSETS],
    jobs=jobs,
    sensors=[score_and_publish, ask_models, study_models, batches_ended, queued_study],
    schedules=[monthly_rerun],
    executor=executor(current_study().deploy),
)
