"""Where the temporary folders of tests lie: in memory where there is room, so that no test waits for a disk.

What a kill leaves behind is the same in memory. Whoever wants a disk sets ``PYTEST_DEBUG_TEMPROOT`` or ``--basetemp``.
"""

import fcntl
import os
import re
from collections.abc import Callable
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM = 6 << 30  # bytes; the folders of all tests were seen to take 2.4 GB


def _free_memory() -> int:
    found = re.search(r"^MemAvailable:\s+(\d+) kB$", Path("/proc/meminfo").read_text("ascii"), re.MULTILINE)
    return int(found[1]) << 10 if found else 0


def in_memory() -> Path | None:
    """Return a folder whose files are kept in memory; ``None`` where there is none or too little room."""
    try:
        there = os.statvfs(MEMORY)
        room = min(there.f_bavail * there.f_frsize, _free_memory())
    except OSError:
        return None
    programs_run = not there.f_flag & getattr(os, "ST_NOEXEC", 8)
    return MEMORY if room >= ROOM and programs_run and os.access(MEMORY, os.W_OK) else None


def made_once(base: Path, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that one worker of `make test` makes for all: nobody may change it; ``base`` is a worker's own."""
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / name).exists():
            being_made = shared / f"{name}-being-made"
            being_made.mkdir()
            make(being_made)
            being_made.rename(shared / name)
    return shared / name
