"""The population on Ray actors, on one machine or many (extra ``ray``). Only seeds, rewards and updates are sent.

Every actor holds a model of its own and makes every update itself, so their digests must agree. An actor that is lost
ends the run with one line; everything durable is in the log, and the same command goes on from there.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmarks.selfknowledge.training.es import Commit, Individual, Tried
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import Counts, together
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Recipe, Worker
from metacog_pipeline.errors import MetacogError, StudyError, one_line


class RayEngine:
    """``workers`` actors that stay alike; methods as of `Worker`. Ray is started on this machine where it does not
    run."""

    def __init__(self, recipe: Recipe, workers: int, address: str | None = None, gpus: float = 0.0) -> None:
        try:
            import ray
        except ImportError:
            raise StudyError('engine = "ray" needs the extra `ray`: install metacog-pipeline[ray]') from None
        self._ray: Any = ray
        if not ray.is_initialized():
            here: dict[str, Any] = {} if address else {"num_cpus": workers, "include_dashboard": False}
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **here)
        # An actor reserves one slot whatever its threads, so that two fit on any machine.
        actor = self._ray.remote(num_cpus=1, num_gpus=gpus)(Worker)
        self._actors = [actor.remote(recipe) for _ in range(workers)]
        self.digest()

    def evaluate(self, t: int, individuals: Sequence[Individual], sigma: float) -> list[Tried]:
        """Return the fitness of each individual, in their order; they are dealt out in turn."""
        many = len(self._actors)
        parts = self._each("evaluate", [(t, individuals[k::many], sigma) for k in range(many)])
        return [parts[i % many][i // many] for i in range(len(individuals))]

    def commit(self, commit: Commit) -> tuple[str, float]:
        """Have all actors make the update."""
        found = self._all("commit", commit)
        return self._alike([digest for digest, _ in found]), found[0][1]

    def replay(self, commits: Sequence[Commit]) -> str:
        """Have all actors make logged updates again."""
        return self._alike(self._all("replay", commits))

    def validate(self) -> Counts | None:
        """Return the counts on the held-out questions; every actor asks its part."""
        many = len(self._actors)
        parts = self._each("validate", [(k, many) for k in range(many)])
        return None if None in parts else together(parts)

    def save(self, folder: Path) -> None:
        """Have one actor write the model."""
        self._each("save", [(folder,)])

    def load(self, folder: Path) -> str:
        """Have all actors take the weights of a checkpoint."""
        return self._alike(self._all("load", folder))

    def digest(self) -> str:
        """Return the digest of the weights."""
        return self._alike(self._all("digest"))

    def close(self) -> None:
        """End the actors."""
        for actor in self._actors:
            self._ray.kill(actor)

    def _all(self, method: str, *given: Any) -> list[Any]:
        return self._each(method, [given] * len(self._actors))

    def _each(self, method: str, given: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method of actor k with ``given[k]``, all at once; raise what went wrong there as one line."""
        calls = [
            getattr(actor, method).remote(*each) for actor, each in zip(self._actors, given, strict=False)
        ]
        try:
            found: list[Any] = self._ray.get(calls)
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, MetacogError | OSError):
                raise error.cause from None
            cause = f"{type(error.cause).__name__}: {one_line(str(error.cause))}"
            raise MetacogError(f"a worker failed: {cause}") from None
        except self._ray.exceptions.RayActorError as error:
            raise MetacogError(
                f"a worker was lost: {one_line(str(error))[:200]}; is there too little memory? The same command goes on"
            ) from None
        return found

    @staticmethod
    def _alike(digests: list[str]) -> str:
        if len(set(digests)) != 1:
            raise MetacogError(
                f"the weights of the workers differ: {', '.join(digests)}; the run cannot go on"
            )
        return digests[0]
