"""Workers as processes of this machine, started afresh (not forked), each with its own copy of the model."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmarks.selfknowledge.training.engines.pool import Pool, Served, WorkerLost, returned
from metacog_pipeline.benchmarks.selfknowledge.training.engines.shared import SharedPool
from metacog_pipeline.benchmarks.selfknowledge.training.weights import SharedMaster
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Recipe

_PATIENCE_S = 10.0


class ProcessWorker:
    """A worker in a process of its own, reached through a pipe."""

    def __init__(self, recipe: Recipe, scratch: Path | None, shared: SharedMaster | None = None) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, recipe, scratch, shared), daemon=True)
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
            told = self._pipe.recv()
        except (EOFError, OSError):
            raise WorkerLost from None
        return returned(told)

    def close(self) -> None:
        """End the process."""
        with contextlib.suppress(OSError, ValueError):
            self._pipe.close()
        self.process.join(_PATIENCE_S)
        if self.process.is_alive():
            self.process.kill()
            self.process.join(_PATIENCE_S)


def serve(pipe: Connection, recipe: Recipe, scratch: Path | None, shared: SharedMaster | None = None) -> None:
    """Answer calls until the pipe closes; what runs in the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    served = Served(recipe, scratch, shared)
    with contextlib.suppress(EOFError, OSError):
        while True:
            pipe.send(served.call(*pipe.recv()))
    served.close()


def processes(
    recipe: Recipe, workers: int, scratch: Path | None = None, devices: Sequence[str] = (), shared: int = 0
) -> Pool:
    """Return that many workers, each in its own process, on the devices in turn.

    With ``shared`` they have one master copy of that many weights.
    """
    if not shared:
        return Pool(lambda number: ProcessWorker(placed(recipe, devices, number), scratch), workers)

    def take(number: int, master: SharedMaster) -> ProcessWorker:
        return ProcessWorker(placed(recipe, devices, number), None, master)

    return SharedPool(take, workers, shared)


def placed(recipe: Recipe, devices: Sequence[str], number: int) -> Recipe:
    """Return the recipe of a worker, on its device."""
    if not devices:
        return recipe
    changed: Any = recipe  # recipes that know devices are data classes
    found: Recipe = replace(changed, device=devices[number % len(devices)])
    return found
