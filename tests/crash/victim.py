"""A process that is killed while it queries a partition: run by the tests here, told its jobs on standard input.

Imports are most of what a start costs, so this process imports once and forks for every job. A job is one line of
JSON: ``study`` the study file, ``events`` a file for what the child reports, ``environment`` that of the child, ``die``
either null or ``[function, step]``: once ``function`` has begun, the child kills itself before its ``step``-th step on
the disk. One with ``items`` is done by ``batch_victim.py``. For each job the process prints the child's id; told so by
an empty line, it waits for the child to end and prints its exit code (-9 when killed). Until then the id cannot become
another process's.

The child appends to ``events``, one unbuffered write a line, so that a kill loses none::

    asked ANSWER DIGEST   an answer is wanted; DIGEST is the SHA-256 of the request body
    sent DIGEST           an attempt leaves
    back DIGEST           the attempt ended without an answer
    kept ANSWER           the answer is durable: from now on it must never be asked for again
"""

import functools
import gc
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pyarrow.parquet as pq

from metacog_pipeline.asking import session, tasks
from metacog_pipeline.benchmarks.metamedqa import MetaMedQA
from metacog_pipeline.errors import MetacogError, one_line
from metacog_pipeline.files import sha256_hex
from metacog_pipeline.llm import client
from metacog_pipeline.llm import open as opening
from metacog_pipeline.llm.retry import RetryPolicy
from metacog_pipeline.llm.spec import IN_PROCESS, ModelSpec
from metacog_pipeline.llm.transport import Reply, SendFailure
from metacog_pipeline.llm.types import ChatModel, ChatRequest, Completion, Status
from metacog_pipeline.llm.wire import wire_for
from metacog_pipeline.llm.wire.events import HttpCall
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts import parquet, store
from metacog_pipeline.transcripts.schema import Record, answer_id
from tests.crash import batch_victim

# Patient, so that no call of a run fails for good by chance.
QUICK_RETRIES = RetryPolicy(
    transient_attempts=12, billed_attempts=12, backoff_base_s=0.01, backoff_cap_s=0.05
)
INCOMPLETE, REFUSED = 3, 4  # exit codes: items without an answer remain; a one-line error, written to events


class Reporter:
    """Appends events to a file."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def __call__(self, *words: str) -> None:
        os.write(self._file, (" ".join(words) + "\n").encode())


class Watched:
    """A model that reports what is wanted of it."""

    def __init__(self, model: Any, report: Reporter) -> None:
        self._model = model
        self._report = report

    async def complete(self, request: ChatRequest) -> Completion:
        spec = self._model.spec
        body = wire_for(spec.provider).build(spec, request, None).body
        self._report("asked", answer_id(spec, request), sha256_hex(body))
        completion: Completion = await self._model.complete(request)
        return completion

    async def close(self) -> None:
        await self._model.close()


def holds_an_answer(reply: Reply) -> bool:
    """Whether this was a whole answer; every other reply leads to another attempt or to a failure."""
    spec = ModelSpec(name="m", provider="openai", model="m")
    read = wire_for("openai").read(spec, reply.status, reply.headers, reply.body, closed=reply.closed)
    return read.status is not Status.FAILED


def watch(report: Reporter) -> None:
    """Have everything that happens to a call reported; only watches, and makes waiting between attempts short."""
    engine: Any = opening
    http: Any = client
    open_model, send, keep = engine.open_model, http.send, store.PartitionStore.keep

    def watched_model(*args: Any, **kwargs: Any) -> ChatModel:
        model = open_model(*args, **kwargs)
        return model if model.spec.provider in IN_PROCESS else Watched(model, report)

    async def watched_send(connections: object, call: HttpCall, *args: Any, **kwargs: Any) -> Reply:
        digest = sha256_hex(call.body)
        report("sent", digest)
        try:
            reply: Reply = await send(connections, call, *args, **kwargs)
        except SendFailure:
            report("back", digest)
            raise
        if not holds_an_answer(reply):
            report("back", digest)
        return reply

    async def watched_keep(self: store.PartitionStore, record: Record) -> None:
        await keep(self, record)
        if record.status != "failed":
            report("kept", record.answer_id)

    engine.open_model = watched_model
    engine.Clients = functools.partial(engine.Clients, retries=QUICK_RETRIES)
    http.send = watched_send
    store.PartitionStore.keep = watched_keep  # type: ignore[method-assign]


def die_within(function: str, step: int) -> None:
    """Kill this process before the ``step``-th (0 first) step on the disk that ``function`` takes."""
    begun, taken = False, 0

    def counted(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal taken
            if begun and taken == step:
                os.kill(os.getpid(), signal.SIGKILL)
            taken += begun
            return original(*args, **kwargs)

        return call

    def begins(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal begun
            begun = True
            result = original(*args, **kwargs)
            counted(lambda: None)()  # the last step is to return
            begun = False
            return result

        return call

    for name in ("open", "write", "fsync", "close", "replace", "rename", "unlink", "chmod"):
        setattr(os, name, counted(getattr(os, name)))
    pq.ParquetWriter.write_table = counted(pq.ParquetWriter.write_table)
    pq.ParquetWriter.close = counted(pq.ParquetWriter.close)
    owner: Any = {"compact_folder": parquet, "write_manifest": session}[function]
    setattr(owner, function, begins(getattr(owner, function)))


def work(job: dict[str, Any], report: Reporter) -> bool:
    """Do ``job`` and return whether the partition is complete."""
    watch(report)
    if job["die"] is not None:
        die_within(*job["die"])
    study = load_study(Path(job["study"]))
    partition = session.Partition(study, MetaMedQA.name, study.models[0], 1)
    benchmark, spec = MetaMedQA.of(study), partition.spec
    now = tasks.fingerprint(benchmark, partition)
    todo = tasks.tasks(benchmark, spec)
    return session.query_partition(partition, todo, benchmark.modes(spec), fingerprint=now).complete


def exit_code(job: dict[str, Any]) -> int:
    report = Reporter(Path(job["events"]))
    try:
        complete = batch_victim.work(job, report) if "items" in job else work(job, report)
    except MetacogError as error:
        report("error", one_line(str(error)))
        return REFUSED
    return 0 if complete else INCOMPLETE


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
                job = json.loads(line)
                os.environ.clear()
                os.environ.update(job["environment"])
                code = exit_code(job)
            finally:
                os._exit(code)
        print(child, flush=True)
        sys.stdin.readline()
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
