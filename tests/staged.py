"""``python -m metacog_assets`` whose workers say what they begin, and of which one is killed at its work.

``BEGUN`` names a file that gets a line for each piece of work: its name, the process. ``KILLED`` names the work whose
process is killed when it has done it: what it made is there, and nobody was told.
"""

import functools
import os
import runpy
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from metacog_assets import parts, work

STAGES = {
    work: ("make", "answer", "read", "judge", "estimate"),
    parts: ("scores", "published", "all_benchmarks", "board", "report"),
}


def _watched(done: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(done)
    def watched(*args: Any, **named: Any) -> Any:
        name = done.__name__
        if told := os.environ.get("BEGUN"):
            with Path(told).open("a", encoding="utf-8") as file:
                file.write(f"{name} {os.getpid()}\n")
        found = done(*args, **named)
        if os.environ.get("KILLED") == name:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    return watched


if __name__ == "__main__":
    for module, names in STAGES.items():
        for each in names:
            setattr(module, each, _watched(getattr(module, each)))
    runpy.run_module("metacog_assets", run_name="__main__", alter_sys=True)
