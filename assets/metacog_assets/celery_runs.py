"""Runs as tasks of Celery workers: a whole run per task, in the worker's own process, which is warm.

A task per step would need a process per run that waits for it, beside the worker that does the work.
"""

from __future__ import annotations

import sys
import uuid
from importlib import import_module
from typing import Any

import dagster as dg
from celery import Celery, signals
from dagster._core.launcher import CheckRunHealthResult, WorkerStatus
from dagster_celery.launcher import CeleryRunLauncher
from dagster_celery.make_app import make_app
from dagster_celery.tags import DAGSTER_CELERY_TASK_ID_TAG
from dagster_celery.tasks import create_execute_job_task

from metacog_assets.study_file import current_study
from metacog_pipeline.deploy import DeploySection

ANSWER_S = 3.0  # a worker that is alive says within this what it works on
SETTINGS = {
    "task_track_started": True,
    "broker_connection_retry_on_startup": True,
    # A new process loads the study before it says that it is there; on a busy host that takes more than Celery's 4 s.
    "worker_proc_alive_timeout": 300.0,
}


class Workers(CeleryRunLauncher):
    """Sends whole runs to Celery workers, and notices when the worker of a run is gone."""

    def __init__(self, *, config_source: dict[str, Any] | None = None, **more: Any) -> None:
        super().__init__(config_source={**SETTINGS, **(config_source or {})}, **more)

    @property
    def supports_resume_run(self) -> bool:
        """Whether a run goes on in another worker: no, it is run again, and what was answered is not asked again."""
        return False

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Return how a run that has begun does; Dagster ends it unless it is said to be at work or done.

        A task that no worker has any more has died with its worker. Where the broker does not answer nothing is known of
        the worker, which goes on without it.
        """
        task = run.tags.get(DAGSTER_CELERY_TASK_ID_TAG)
        try:
            for _ in range(2):  # it may end between the two questions
                found = super().check_run_worker_health(run) if task else None
                if found is not None and found.status in (WorkerStatus.SUCCESS, WorkerStatus.FAILED):
                    return found
                active = self.celery.control.inspect(timeout=ANSWER_S).active() or {}
                if task is None or any(each["id"] == task for tasks in active.values() for each in tasks):
                    return CheckRunHealthResult(WorkerStatus.RUNNING)
        except Exception as error:  # of Celery, kombu or the client of Redis, which share no base
            return CheckRunHealthResult(WorkerStatus.RUNNING, f"the broker does not answer: {error}")
        return CheckRunHealthResult(
            WorkerStatus.FAILED, "no worker has its task any more: it was ended or lost"
        )


def app_of(deploy: DeploySection) -> Celery:
    """Return the Celery app whose tasks are runs."""
    broker = deploy.address("broker")
    return make_app({"broker": broker, "backend": broker, "config_source": SETTINGS})  # type: ignore[no-untyped-call]


def work(processes: int) -> None:
    """Work on runs until told to stop, ``processes`` at once, each in a process that has loaded the study already."""
    app = app_of(current_study().deploy)
    create_execute_job_task(app)
    signals.worker_process_init.connect(_load, weak=False)
    name = f"metacog-{uuid.uuid4().hex[:6]}@%h"
    settings = ["--prefetch-multiplier=1", "--loglevel=WARNING", "-Q", "dagster"]
    app.worker_main(["--quiet", "worker", f"--concurrency={processes}", *settings, "-n", name])


def _load(**_: object) -> None:
    """Load the definitions before the first run is there; after the fork, since threads do not live through one."""
    import_module("metacog_assets.definitions")


if __name__ == "__main__":
    work(int(sys.argv[1]))
