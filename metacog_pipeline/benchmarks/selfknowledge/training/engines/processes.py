"""Workers as processes of this machine, started afresh (not forked), each with its own copy of the model."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmarks.selfknowledge.training.engines.pool import Pool, WorkerLost
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Recipe, Worker
from metacog_pipeline.errors import MetacogError, one_line

_PATIENCE_S = 10.0


class ProcessWorker:
    """A worker in a process of its own, reached through a pipe."""

    def __init__(self, recipe: Recipe, scratch: Path | None) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, recipe, scratch), daemon=True)
        self.process.start()
        theirs.close()

    def send(self, method: str, *arguments: Any) -> None:
        """Ask the worker to call one of its methods."""
        try:
            self._pipe.send((method, arguments))
        except (OSError, ValueError):
            raise WorkerLost from None

    def answer(self) -> Any:
        """Return what the last call returned."""
        try:
            kind, value = self._pipe.recv()
        except (EOFError, OSError):
            raise WorkerLost from None
        if kind == "error":
            raise MetacogError(value)
        return value

    def close(self) -> None:
        """End the process."""
        with contextlib.suppress(OSError, ValueError):
            self._pipe.close()
        self.process.join(_PATIENCE_S)
        if self.process.is_alive():
            self.process.kill()
            self.process.join(_PATIENCE_S)


def serve(pipe: Connection, recipe: Recipe, scratch: Path | None) -> None:
    """Answer calls until the pipe closes; what runs in the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    worker: Worker | None = None
    with contextlib.suppress(EOFError, OSError):
        while True:
            method, arguments = pipe.recv()
            try:
                if worker is None:
                    worker = Worker(recipe, scratch)
                found = ("ok", getattr(worker, method)(*arguments))
            except MetacogError as error:
                found = ("error", str(error))
            except Exception as error:  # whatever it is, the parent must hear of it
                found = ("error", f"a worker failed: {type(error).__name__}: {one_line(str(error))}")
            pipe.send(found)
    if worker is not None:
        worker.close()


def processes(recipe: Recipe, workers: int, scratch: Path | None = None) -> Pool:
    """Return that many workers, each in its own process."""
    return Pool(lambda _: ProcessWorker(recipe, scratch), workers)
