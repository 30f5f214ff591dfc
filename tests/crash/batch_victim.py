"""What a child of ``victim.py`` does that asks a partition through batches and is killed at a chosen step.

Its job names ``items``, how many are asked, and ``die_at``, the number of the step before which the child kills itself,
null for none. Steps are what can be told apart from outside: each call to the provider before it leaves and after its
reply, each change of a batch's record, of what is set aside for it, and each answer before and after it is durable.
"""

import functools
import inspect
import os
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from metacog_pipeline.asking.session import Partition, query_partition
from metacog_pipeline.llm.batch import backends, queue, records
from metacog_pipeline.llm.budget import Budget
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts.store import PartitionStore
from tests.asking.scripted import two_steps

queue.SETTLING_S = 0.4
PAUSE_S = 0.05


def die_at(step: int) -> None:
    """Kill this process before its ``step``-th step (0 first)."""
    taken = 0

    def here() -> None:
        nonlocal taken
        if taken == step:
            os.kill(os.getpid(), signal.SIGKILL)
        taken += 1

    def around(original: Callable[..., Any]) -> Callable[..., Any]:
        async def ended(waited: Awaitable[Any]) -> Any:
            result = await waited
            here()
            return result

        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            here()
            result = original(*args, **kwargs)
            if inspect.isawaitable(result):
                return ended(result)
            here()
            return result

        return call

    for owner, names in (
        (backends.Calls, ("json", "download")), (PartitionStore, ("keep",)), (records.Batch, ("now",)),
        (records, ("create",)), (Budget, ("hold", "release")),
    ):  # fmt: skip
        for name in names:
            setattr(owner, name, around(getattr(owner, name)))


def work(job: dict[str, Any], report: Callable[..., None]) -> bool:
    """Do ``job`` and return whether the partition is complete."""
    if job["die_at"] is not None:
        die_at(job["die_at"])
    study = load_study(Path(job["study"]))
    partition = Partition(study, "metamedqa", study.models[0], 1)
    todo = [two_steps(f"q{number}") for number in range(job["items"])]
    while (outcome := query_partition(partition, todo, ("text",), fingerprint="f")).waiting:
        time.sleep(PAUSE_S)
    if outcome.stopped:
        report("error", outcome.stopped)
    return outcome.complete
