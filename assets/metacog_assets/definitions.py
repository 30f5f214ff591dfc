"""Everything Dagster loads: the assets of the study, a job per benchmark that asks models, sensors."""

from __future__ import annotations

import warnings
from typing import Any

import dagster as dg

from metacog_assets.graph import ASSETS, BENCHMARKS, TRAINING
from metacog_assets.sensors import SENSORS
from metacog_assets.study_file import StudyResource, current_study
from metacog_pipeline.deploy import DeploySection


def _executor(deploy: DeploySection) -> Any:
    """Return the executor that ``[deploy]`` names; an engine is loaded only where it is chosen."""
    deploy.check()
    if deploy.executor == "multiprocess":
        return dg.multiprocess_executor.configured({"max_concurrent": deploy.workers})
    if deploy.executor == "k8s":
        from dagster_k8s import k8s_job_executor

        return k8s_job_executor.configured({"max_concurrent": deploy.workers})
    if deploy.executor == "celery":
        from dagster_celery import celery_executor

        address = {"env": deploy.broker}
        return celery_executor.configured({"broker": address, "backend": address})
    return dg.in_process_executor


def _asking(name: str) -> Any:
    """Return the job of a benchmark whose runs are partitions: `metacog run --detach` starts a backfill of it."""
    # Of assets with other policies the smallest range is taken, which Dagster warns of: here it is what is wanted.
    warnings.filterwarnings("ignore", message="Asset job ask_")
    own = [each for each in BENCHMARKS[name] if each.partitions_def is not None]
    says = f"Ask models what is missing of {name}, read and score the answers."
    return dg.define_asset_job(f"ask_{name}", dg.AssetSelection.assets(*own), description=says)


defs = dg.Definitions(
    assets=ASSETS,
    resources={"study": StudyResource()},
    jobs=[*map(_asking, BENCHMARKS), *(dg.define_asset_job("train", TRAINING) for _ in TRAINING[:1])],
    sensors=SENSORS,
    executor=_executor(current_study().deploy),
)
