"""Workers of one machine with one master copy of the weights, in memory they share.

Each makes a part of every update, so that the noise of an update is made once and not once per worker; all write what they
need of the master into their own models. A worker lost in the middle of an update leaves a master nobody can trust: it is
made again from the base, or the checkpoint that was loaded, and the log.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Sequence
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmarks.selfknowledge.training.engines import pool
from metacog_pipeline.benchmarks.selfknowledge.training.es import Commit
from metacog_pipeline.benchmarks.selfknowledge.training.weights import SharedMaster
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Committed
from metacog_pipeline.errors import MetacogError, StudyError

PLACE = Path("/dev/shm")
Take = Callable[[int, SharedMaster], pool.WorkerHandle]


def fits(weights: int) -> bool:
    """Whether this machine has that many float32 numbers of shared memory free."""
    try:
        return shutil.disk_usage(PLACE).free > 4.2 * weights
    except OSError:
        return False


class SharedPool(pool.Pool):
    """Workers that share a master of at most ``weights`` numbers."""

    def __init__(self, take: Take, workers: int, weights: int) -> None:
        if not fits(weights):
            raise StudyError(
                f"{PLACE}: no room for a shared copy of {weights:,} weights; use --master file, or make it larger"
            )
        self._segment = SharedMemory(create=True, size=4 * weights)
        self._begun = False

        def taken(number: int) -> pool.WorkerHandle:
            return take(number, SharedMaster(self._segment.name, not self._begun))

        super().__init__(taken, workers)
        self._begun = True

    def commit(self, commit: Commit, whole: bool = True) -> Committed:
        """Have each worker make its part of the update, then all take the weights."""
        norm = self._made([commit])
        found: list[Committed] = self._each(
            [("adopt", commit.t, whole)] + [("adopt",)] * (len(self._workers) - 1)
        )
        return Committed(found[0].digest, found[0].sample, norm)

    def replay(self, commits: Sequence[Commit]) -> str:
        """Make updates made before."""
        self._made(commits)
        self._all("adopt")
        digest: str = self._first("check", list(commits))
        return digest

    def load(self, folder: Path) -> str:
        """Take the weights of a checkpoint."""
        self._loaded, self._since = folder, []
        digest: str = self._first("load", folder)
        self._all("adopt")
        return digest

    def digest(self) -> str:
        """Return the digest of the weights, of which there is one copy."""
        if not self._begun:  # all have opened the base by then
            return self._alike(self._all("digest"))
        digest: str = self._first("digest")
        return digest

    def close(self) -> None:
        """End all workers and give the memory back."""
        super().close()
        self._segment.close()
        with contextlib.suppress(FileNotFoundError):
            self._segment.unlink()

    def _made(self, commits: Sequence[Commit]) -> float:
        """Bring the master to the end of the commits; return the norm of the last update."""
        left, losses = list(commits), 0
        norm = 0.0
        self._since.extend(commits)
        while left:
            parts, lost = self._parts(left[0])
            if lost:
                losses += 1
                if losses > pool.MOST_LOSSES:
                    raise MetacogError(
                        f"workers were lost {losses} times in one update; is memory too small?"
                    )
                for number in lost:
                    self._replace(number)
                self._first(*(("load", self._loaded) if self._loaded is not None else ("reset",)))
                left = list(self._since)
                continue
            norm = sum(part**2 for part in parts) ** 0.5
            left.pop(0)
        return norm

    def _parts(self, commit: Commit) -> tuple[list[float], list[int]]:
        many = len(self._workers)
        sent = [self._try_send(g, ("commit_part", commit, g, many)) for g in range(many)]
        parts, lost = [], []
        for number, worker in enumerate(self._workers):
            try:
                if not sent[number]:
                    raise pool.WorkerLost
                parts.append(worker.answer())
            except pool.WorkerLost:
                lost.append(number)
        return parts, lost

    def _first(self, *call: Any) -> Any:
        return self._each([call])[0]

    def _replace(self, number: int) -> None:
        """Start a new worker, which takes its weights from the master."""
        self._workers[number].close()
        self._workers[number] = self._take(number)
