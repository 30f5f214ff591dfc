"""What a command takes, started by a small process: a child counts as its own peak what its parent held when it forked.

Also run as that small process: ``spending.py FILE COMMAND…`` writes processor seconds and peak megabytes to FILE.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple


class Spent(NamedTuple):
    """Processor seconds of a command and of all it started, the largest peak of one of them in MB, and what it said."""

    seconds: float
    megabytes: float
    done: "subprocess.CompletedProcess[str]"


def spent(command: Sequence[str | Path]) -> Spent:
    """Run ``command`` and return what it took; how it ended is for the caller to judge."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "told.json"
        words = [sys.executable, "-S", "-E", __file__, str(told), *map(str, command)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return Spent(*json.loads(told.read_text("utf-8")), done)


def least(run: Callable[[], object], times: int = 1, before: Callable[[], object] = lambda: None) -> float:
    """Return the least processor seconds of ``run`` after ``before``: whatever else the machine does only adds to it."""
    found = []
    for _ in range(times):
        before()
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return min(found)


def main() -> None:
    process = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
    _, status, used = os.wait4(process, 0)
    told = json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss / 1024])
    Path(sys.argv[1]).write_text(told, "utf-8")
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
