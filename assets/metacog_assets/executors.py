"""Who works on the steps of a run, as ``[deploy]`` says; an engine is loaded only where it is chosen."""

from __future__ import annotations

import dagster as dg

from metacog_pipeline.deploy import DeploySection


def executor(deploy: DeploySection) -> dg.ExecutorDefinition:
    """Return the executor of all jobs.

    Partitions are few and large, and a process per step costs more than the step: a Celery worker takes a whole run, so
    that within it nothing is spread any more (see ``celery_runs``).
    """
    deploy.check()
    if deploy.executor == "multiprocess":
        return dg.multiprocess_executor.configured({"max_concurrent": deploy.workers})
    if deploy.executor == "k8s":
        from dagster_k8s import k8s_job_executor

        return k8s_job_executor.configured({"max_concurrent": deploy.workers})
    return dg.in_process_executor
