"""Kill a run with SIGKILL at points of its writing, go on with it, and compare with one that was never killed.

One process that forks: torch is imported once. Prints one line of JSON: the points, and those that ended differently.
"""

import json
import os
import pickle
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import torch

from metacog_pipeline.benchmarks.selfknowledge.training import curves
from metacog_pipeline.benchmarks.selfknowledge.training.log import Log
from metacog_pipeline.benchmarks.selfknowledge.training.run import Plan, train
from metacog_pipeline.benchmarks.selfknowledge.training.toy.model import build_model
from metacog_pipeline.benchmarks.selfknowledge.training.toy.recipe import SETTINGS, ToyRecipe, save_toy
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Worker

POINTS = 20
WRITES = {"open", "os.rename", "os.mkdir", "os.symlink", "os.remove", "os.chmod"}
SHORT = replace(SETTINGS, population=4, batch=16, generations=6, schedule="constant")


def apart(function: Callable[[], Any]) -> Any:
    """Return what a function returns in a forked child, None where it was killed.

    The parent itself computes nothing: threads it had started would be missing in the next child.
    """
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        torch.set_num_threads(1)
        with os.fdopen(writer, "wb") as file:
            pickle.dump(function(), file)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        said = file.read()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == (0 if said else -signal.SIGKILL)
    return pickle.loads(said) if said else None


def go(base: Path, folder: Path, kill_at: int = 0) -> int:
    """Run or go on; return how many points were passed."""
    passed = 0

    def count(event: str, given: Any) -> None:
        nonlocal passed
        if event in WRITES and any(str(each).startswith(str(folder)) for each in given):
            passed += 1
            if passed == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    train(SHORT, Plan(folder, 2, 3), Worker(ToyRecipe(0, base, SHORT)), resume=True)
    return passed


def left(folder: Path) -> list[Any]:
    """Return everything of a run that time does not change."""
    log = Log(folder)
    table = pl.read_parquet(folder / curves.FILE).drop("seconds")
    weights = [(log.checkpoint(k) / "model.safetensors").read_bytes() for k in log.checkpoints()]
    commits = [(each.commit, each.outcome, each.held_out) for each in log.read()]
    weights += [path.name for path in (folder / "checkpoints").glob(".*")]
    return [commits, log.checkpoints(), weights, table.to_dicts(), (folder / "last").resolve().name]


def main(where: Path) -> None:
    """Kill, go on, compare."""
    (base := where / "base").mkdir()
    apart(lambda: save_toy(build_model(0), base) or "saved")
    total = apart(lambda: go(base, where / "whole"))
    wanted, different = apart(lambda: left(where / "whole")), []
    points = sorted({max(1, round(k * total / POINTS)) for k in range(1, POINTS + 1)})
    for point in points:
        folder = where / f"killed-{point}"
        assert apart(lambda: go(base, folder, point)) is None  # noqa: B023
        apart(lambda: go(base, folder))  # noqa: B023
        if apart(lambda: left(folder)) != wanted:  # noqa: B023
            different.append(point)
    print(json.dumps({"points": points, "of": total, "different": different}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
