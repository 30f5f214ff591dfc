"""A process that asks a partition through batches and is killed at a chosen step: run by the tests here.

As ``victim.py`` it imports once and forks for every job. A job is one line of JSON: ``study`` the study file, ``items``
how many are asked, ``die_at`` the number of the step before which the child kills itself, null for none. Steps are what
can be told apart from outside: each call to the provider before it leaves and after its reply, each change of a batch's
record, of what is set aside for it, and each answer before and after it is durable. The exit code is printed: -9 when
killed, 0 when the partition is complete, 3 when it is not, 4 for a one-line error, which is printed before it.
"""

import functools
import gc
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

import metacog_pipeline.benchmarks.metamedqa.benchmark  # noqa: F401  (once, not in every child)
from metacog_pipeline.asking.session import Partition, query_partition
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.llm.batch import backends, queue, records
from metacog_pipeline.llm.budget import Budget
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts.store import PartitionStore
from tests.asking.scripted import two_steps

INCOMPLETE, REFUSED = 3, 4
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
        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            here()
            result = original(*args, **kwargs)
            here()
            return result

        return call

    def around_async(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        async def call(*args: Any, **kwargs: Any) -> Any:
            here()
            result = await original(*args, **kwargs)
            here()
            return result

        return call

    for owner, name in ((backends.Calls, "json"), (backends.Calls, "download"), (PartitionStore, "keep")):
        setattr(owner, name, around_async(getattr(owner, name)))
    for owner, name in ((records.Batch, "now"), (records, "create"), (Budget, "hold"), (Budget, "release")):
        setattr(owner, name, around(getattr(owner, name)))


def work(job: dict[str, Any]) -> int:
    """Do ``job`` and return the exit code."""
    if job["die_at"] is not None:
        die_at(job["die_at"])
    try:
        study = load_study(Path(job["study"]))
        partition = Partition(study, "metamedqa", study.models[0], 1)
        todo = [two_steps(f"q{number}") for number in range(job["items"])]
        while (outcome := query_partition(partition, todo, ("text",), fingerprint="f")).waiting:
            time.sleep(PAUSE_S)
    except MetacogError as error:
        print(f"error {error}", flush=True)
        return REFUSED
    if outcome.stopped:
        print(f"error {outcome.stopped}", flush=True)
    return 0 if outcome.complete else INCOMPLETE


def main() -> None:
    engine: Any = httpx
    engine.create_ssl_context = functools.cache(httpx.create_ssl_context)
    engine.create_ssl_context()  # authorities are read once, not by every child
    gc.freeze()
    while line := sys.stdin.readline():
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = work(json.loads(line))
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
