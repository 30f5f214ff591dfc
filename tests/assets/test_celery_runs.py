"""What Dagster is told of a run on a Celery worker: a lost worker ends it, a broker that is away does not."""

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("dagster_celery", reason="the extra celery is not installed")

from dagster import DagsterRun
from dagster._core.launcher import WorkerStatus
from dagster_celery.tags import DAGSTER_CELERY_TASK_ID_TAG

from metacog_assets.celery_runs import Workers

RUN = DagsterRun(job_name="ask", tags={DAGSTER_CELERY_TASK_ID_TAG: "t1"})


@pytest.fixture
def workers():
    return Workers(default_queue="dagster", broker="memory://", backend="cache+memory://")


def known(workers: Workers, monkeypatch: pytest.MonkeyPatch, states: list[str], active: Any) -> WorkerStatus:
    """Return what is said when the task has these states, one after another, and workers answer ``active``."""
    left = iter([*states, *states[-1:] * 3])

    def inspect(timeout: float) -> Any:
        if isinstance(active, Exception):
            raise active
        return SimpleNamespace(active=lambda: active)

    monkeypatch.setattr(workers.celery, "AsyncResult", lambda task: SimpleNamespace(state=next(left)))
    monkeypatch.setattr(workers.celery.control, "inspect", inspect)
    return workers.check_run_worker_health(RUN).status


@pytest.mark.parametrize(
    ("states", "active", "said"),
    [
        (["STARTED"], {"w@host": [{"id": "t1"}]}, WorkerStatus.RUNNING),
        (["STARTED"], {"w@host": []}, WorkerStatus.FAILED),
        (["STARTED"], None, WorkerStatus.FAILED),
        (["PENDING"], {"w@host": [{"id": "t1"}]}, WorkerStatus.RUNNING),  # Redis forgot the state
        (["STARTED", "SUCCESS"], {}, WorkerStatus.SUCCESS),
        (["FAILURE"], None, WorkerStatus.FAILED),
        (["STARTED"], ConnectionError("away"), WorkerStatus.RUNNING),
        (["STARTED"], RuntimeError("of the client of Redis"), WorkerStatus.RUNNING),
    ],
    ids=["at-work", "lost", "no-worker", "forgotten", "just-done", "failed", "broker-away", "client-fails"],
)
def test_the_health_of_a_run(workers, monkeypatch, states, active, said):
    assert known(workers, monkeypatch, states, active) is said


def test_a_run_is_run_again_and_not_resumed(workers):
    assert not workers.supports_resume_run
    assert workers.config_source["task_track_started"] is True
