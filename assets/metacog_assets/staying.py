"""``metacog run`` on a study with batches: submit all of them, wait, go on with the partitions whose batches have ended.

No partition waits for another: all batches are submitted before any is waited for.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from metacog_assets.launch import Launcher, launch
from metacog_assets.reporting import SOME_FAILED
from metacog_pipeline.asking import batches
from metacog_pipeline.asking.endings import INTERRUPTED
from metacog_pipeline.asking.variables import LEAVE_BATCHES, WATCH_PARENT
from metacog_pipeline.llm.batch import desk


def launch_until_answered(
    launcher: Callable[[bool], Launcher],
    benchmarks: Sequence[str],
    models: Sequence[str],
    runs: Sequence[int],
    force: bool,
) -> int:
    """Launch as `launch` does until no batch is under way; with ``METACOG_LEAVE_BATCHES`` only once.

    ``launcher`` gives a fresh launcher, told whether it is the first.
    """
    stay = os.environ.get(LEAVE_BATCHES) != "1"
    os.environ[LEAVE_BATCHES] = "1"
    current = launcher(True)
    current.stay = stay
    code = launch(current, benchmarks, models, runs, force)
    failed = code
    while stay and current.waiting and not INTERRUPTED.is_set():
        _wait(current)
        waiting = batches.waiting(current.study)
        current = launcher(False)
        current.stay = True
        only = sorted({model for _, model, _ in waiting}), sorted({run for _, _, run in waiting})
        named = [name for name in current.study.enabled if name in {benchmark for benchmark, _, _ in waiting}]
        code = launch(current, named, *only) if waiting else launch(current, benchmarks, models, runs)
        failed = code if failed in (0, code) else SOME_FAILED
    return code if INTERRUPTED.is_set() else failed


def _wait(launcher: Launcher) -> None:
    """Wait until a batch can go on, or whoever started this process is gone."""
    parent, pause = os.getppid(), desk.PACE.first_s
    launcher.say("waiting for batches (see: metacog status STUDY --batches; stop and run again as you like)")
    while not batches.ended(launcher.study):
        if os.environ.get(WATCH_PARENT) and os.getppid() != parent:
            raise KeyboardInterrupt
        time.sleep(pause)
        pause = min(pause * desk.PACE.factor, desk.PACE.most_s)
