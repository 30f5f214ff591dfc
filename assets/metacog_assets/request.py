"""What ``metacog run --detach`` asks of the daemon: kept in Dagster's own storage, so every host sees it."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import asdict, dataclass, field

import dagster as dg

KEY = "metacog/request"
ID, TASK, STAGES, BY = "metacog/request", "metacog/task", "metacog/stages", "metacog/launched_by"
QUEUE = "queue"
COMMAND = "metacog run"
ACTIVE = (
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
)
ENDED = (dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)
SILENT_S = 120  # a daemon says every half a minute that it is there


@dataclass(frozen=True, slots=True)
class Request:
    """Which part of the study is wanted; empty lists mean all. ``note`` says what keeps it from going on."""

    benchmarks: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    runs: tuple[int, ...] = ()
    force: bool = False
    id: str = field(default_factory=lambda: f"{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:6]}")
    done: bool = False
    note: str = ""

    def wants(self, model: str, run: int) -> bool:
        """Whether a partition is part of it."""
        return (not self.models or model in self.models) and (not self.runs or run in self.runs)


def commanded(context: dg.AssetExecutionContext) -> bool:
    """Whether a command started the run, now or through the queue: it has looked at what it asks before."""
    return BY in context.run.tags


def write(instance: dg.DagsterInstance, request: Request) -> None:
    """Keep ``request`` as the one that is worked on; an earlier one is not gone on with."""
    instance.run_storage.set_cursor_values({KEY: json.dumps(asdict(request))})


def read(instance: dg.DagsterInstance) -> Request | None:
    """Return the latest request."""
    text = instance.run_storage.get_cursor_values({KEY}).get(KEY)
    if text is None:
        return None
    found = json.loads(text)
    lists = {name: tuple(found[name]) for name in ("benchmarks", "models", "runs")}
    return Request(**{**found, **lists})


def daemon_alive(instance: dg.DagsterInstance) -> bool:
    """Whether a daemon looks at the queue."""
    beats = instance.get_daemon_heartbeats().values()
    return any(time.time() - beat.timestamp < SILENT_S for beat in beats)
