"""What processes there are below one, and what they were doing: computing, waiting for a processor, waiting for a disk."""

import contextlib
import time
from pathlib import Path


def _fields(path: Path) -> list[str]:
    """Return the fields after the name of a process or thread, from its state on; empty where it is gone."""
    with contextlib.suppress(OSError):
        return path.read_text().rpartition(")")[2].split()
    return []


def below(process: int) -> list[int]:
    """Return the processes that descend from ``process``, those nearer to it first."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        if fields := _fields(path):
            children.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found = list(children.get(process, ()))
    for each in found:
        found += children.get(each, ())
    return found


def parent(process: int) -> int:
    """Return the process that started ``process``; 0 where it is gone."""
    return int((_fields(Path(f"/proc/{process}/stat")) or ["", "0"])[1])


def runs(process: int) -> bool:
    """Whether ``process`` has not ended."""
    return (_fields(Path(f"/proc/{process}/stat")) or ["Z"])[0] != "Z"


def alive(processes: list[int], for_s: float = 1.0) -> list[int]:
    """Return those that have not ended ``for_s`` seconds later."""
    until = time.monotonic() + for_s
    while (left := [each for each in processes if runs(each)]) and time.monotonic() < until:
        time.sleep(0.02)
    return left


def _tasks(process: int) -> list[Path]:
    with contextlib.suppress(OSError):
        return list(Path(f"/proc/{process}/task").iterdir())
    return []


class Watched:
    """A process and those below it, from now on.

    Seconds: ``computed`` on a processor and ``queued`` for one, summed over threads; ``disk`` is how long at least one
    thread waited for a disk, as seen at each look.
    """

    def __init__(self, process: int) -> None:
        self._process = process
        self._first: dict[str, tuple[int, int]] = {}
        self._last: dict[str, tuple[int, int]] = {}
        self.disk = 0.0
        self._looked = time.monotonic()
        self._look()
        self._first = dict(self._last)

    def look(self) -> None:
        """Note what there is now."""
        before, self._looked = self._looked, time.monotonic()
        if self._look():
            self.disk += self._looked - before

    def _look(self) -> bool:
        waits = False
        for process in (self._process, *below(self._process)):
            for task in _tasks(process):
                with contextlib.suppress(OSError):
                    ran, queued, _ = map(int, (task / "schedstat").read_text().split())
                    self._last[task.name] = ran, queued
                    waits |= _fields(task / "stat")[:1] == ["D"]
        return waits

    @property
    def computed(self) -> float:
        return self._since(0)

    @property
    def queued(self) -> float:
        return self._since(1)

    def _since(self, which: int) -> float:
        return (
            sum(now[which] - self._first.get(task, (0, 0))[which] for task, now in self._last.items()) / 1e9
        )
