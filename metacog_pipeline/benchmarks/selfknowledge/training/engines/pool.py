"""Many workers that stay alike: individuals are dealt out, commits go to all, a lost worker is replaced and caught up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from metacog_pipeline.benchmarks.selfknowledge.training.es import Commit, Tried
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import NOTHING, EpisodeReward
from metacog_pipeline.benchmarks.selfknowledge.training.seeds import Individual
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Committed, Worker
from metacog_pipeline.errors import MetacogError, one_line

MOST_LOSSES = 3


class WorkerLost(Exception):
    """A worker is gone: killed, out of memory, its machine away."""


class WorkerHandle(Protocol):
    """A worker elsewhere. A call is sent, then its answer awaited."""

    def send(self, method: str, *arguments: Any) -> None:
        """Ask the worker to call one of its methods; raises `WorkerLost`."""

    def answer(self) -> Any:
        """Return what the last call returned; raises `WorkerLost`, or the error of the worker."""

    def close(self) -> None:
        """End the worker; never raises."""


class Served:
    """A worker, made with its first call; whatever goes wrong is told to whoever called, not raised here."""

    def __init__(self, *made_of: Any) -> None:
        self._made_of = made_of
        self._worker: Worker | None = None

    def call(self, method: str, arguments: tuple[Any, ...]) -> tuple[Exception | None, Any]:
        """Return what went wrong, None where nothing did, and what a method of the worker returned."""
        try:
            if self._worker is None:
                self._worker = Worker(*self._made_of)
            return None, getattr(self._worker, method)(*arguments)
        except MetacogError as error:
            return error, None
        except Exception as error:  # whatever it is, the coordinator must hear of it
            if isinstance(error, OSError) and error.strerror:  # the machine's: a disk, a memory
                return error, None
            return MetacogError(f"a worker failed: {type(error).__name__}: {one_line(str(error))}"), None

    def close(self) -> None:
        """Let go of the worker."""
        if self._worker is not None:
            self._worker.close()


def returned(told: tuple[Exception | None, Any]) -> Any:
    """Return what a served worker returned; raise what went wrong there."""
    wrong, value = told
    if wrong is not None:
        raise wrong
    return value


class Pool:
    """Workers that ``take`` provides; every one follows the same commits."""

    def __init__(self, take: Callable[[int], WorkerHandle], workers: int) -> None:
        self._take = take
        self._loaded: Path | None = None
        self._since: list[Commit] = []  # commits after what was loaded
        self._workers: list[WorkerHandle] = []
        try:
            for number in range(workers):
                self._workers.append(take(number))
            self._alike(self._all("digest"))
        except BaseException:
            self.close()
            raise

    def evaluate(self, t: int, individuals: Sequence[Individual], sigma: float) -> list[Tried]:
        """Return what became of each individual, in their order; they are dealt out in turn."""
        many = len(self._workers)
        parts = self._each([("evaluate", t, individuals[g::many], sigma) for g in range(many)])
        found: list[Tried] = [parts[i % many][i // many] for i in range(len(individuals))]
        return found

    def commit(self, commit: Commit, whole: bool = True) -> Committed:
        """Have all workers make the update; return what it left."""
        found: list[Committed] = self._all("commit", commit, whole)
        self._alike([each.digest or each.sample for each in found])
        self._since.append(commit)
        return found[0]

    def replay(self, commits: Sequence[Commit]) -> str:
        """Have all workers make updates made before."""
        digest = self._alike(self._all("replay", list(commits)))
        self._since.extend(commits)
        return digest

    def validate(self) -> EpisodeReward | None:
        """Return what the model does on questions held out; every worker asks its part."""
        many = len(self._workers)
        parts = self._each([("validate", g, many) for g in range(many)])
        return None if None in parts else sum(parts, NOTHING)

    def save(self, folder: Path) -> None:
        """Have one worker write the model."""
        self._each([("save", folder)])

    def load(self, folder: Path) -> str:
        """Have all workers take the weights of a checkpoint."""
        digest = self._alike(self._all("load", folder))
        self._loaded, self._since = folder, []
        return digest

    def digest(self) -> str:
        """Return the digest of the weights."""
        return self._alike(self._all("digest"))

    def close(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.close()
        self._workers = []

    def _all(self, *call: Any) -> list[Any]:
        return self._each([call] * len(self._workers))

    def _each(self, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Send call k to worker k, all at once, and return the answers."""
        sent = [self._try_send(number, call) for number, call in enumerate(calls)]
        return [self._answer(number, call, sent[number]) for number, call in enumerate(calls)]

    def _try_send(self, number: int, call: tuple[Any, ...]) -> bool:
        try:
            self._workers[number].send(*call)
        except WorkerLost:
            return False
        return True

    def _answer(self, number: int, call: tuple[Any, ...], sent: bool) -> Any:
        for _ in range(MOST_LOSSES + 1):
            try:
                if not sent:
                    self._replace(number)
                    self._workers[number].send(*call)
                return self._workers[number].answer()
            except WorkerLost:
                sent = False
        raise MetacogError(
            f"worker {number + 1} of {len(self._workers)} was lost {MOST_LOSSES + 1} times in a row; is there too "
            "little memory? Take fewer workers"
        )

    def _replace(self, number: int) -> None:
        """Start a new worker and bring it to where the others are before the call that was lost."""
        self._workers[number].close()
        self._workers[number] = fresh = self._take(number)
        if self._loaded is not None:
            fresh.send("load", self._loaded)
            fresh.answer()
        if self._since:
            fresh.send("replay", self._since)
            fresh.answer()

    @staticmethod
    def _alike(digests: list[str]) -> str:
        if len(set(digests)) != 1:
            raise MetacogError(
                f"the weights of the workers differ: {', '.join(digests)}; the run cannot go on"
            )
        return digests[0]
