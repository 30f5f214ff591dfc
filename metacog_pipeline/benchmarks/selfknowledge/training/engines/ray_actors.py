"""Workers as Ray actors, on one machine or many (needs the extra ``ray``). Only seeds, rewards and commits travel."""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmarks.selfknowledge.training.engines.pool import Pool, Served, WorkerLost, returned
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Recipe
from metacog_pipeline.errors import StudyError


class ActorWorker:
    """A worker in an actor."""

    def __init__(self, ray: Any, recipe: Recipe, scratch: Path | None, gpus: float) -> None:
        self._ray, self._answer = ray, None
        # Threads of a worker are its own affair: an actor reserves one slot, so that two fit on any machine.
        self.actor = ray.remote(num_cpus=1, num_gpus=gpus)(Served).remote(recipe, scratch)

    def send(self, method: str, *arguments: Any) -> None:
        """Ask the worker to call one of its methods."""
        self._answer = self.actor.call.remote(method, arguments)

    def answer(self) -> Any:
        """Return what the last call returned."""
        try:
            told = self._ray.get(self._answer)
        except self._ray.exceptions.RayActorError:
            raise WorkerLost from None
        return returned(told)

    def close(self) -> None:
        """End the actor."""
        with contextlib.suppress(Exception):
            self._ray.kill(self.actor)


def ray_actors(
    recipe: Recipe, workers: int, scratch: Path | None = None, address: str | None = None, gpus: float = 0.0
) -> Pool:
    """Return that many workers as actors; Ray is started on this machine where it does not run."""
    try:
        import ray
    except ImportError:
        raise StudyError("engine ray needs the extra `ray`: install metacog-pipeline[ray]") from None
    if not ray.is_initialized():
        ray.init(
            address=address,
            num_cpus=None if address else workers,
            include_dashboard=None if address else False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    return Pool(lambda _: ActorWorker(ray, recipe, scratch, gpus), workers)
