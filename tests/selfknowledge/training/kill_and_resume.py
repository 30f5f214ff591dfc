"""Kill a run with SIGKILL at points of its writing, go on with it, and compare with one that was never killed.

One process that forks: torch is imported once. Prints one line of JSON: the points, and those that ended differently.
"""

import json
import os
import pickle
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import torch

from metacog_pipeline.benchmarks.selfknowledge.training import small
from metacog_pipeline.benchmarks.selfknowledge.training.causal import CausalRecipe
from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings
from metacog_pipeline.benchmarks.selfknowledge.training.interview import Asking
from metacog_pipeline.benchmarks.selfknowledge.training.questions import load_questions
from metacog_pipeline.benchmarks.selfknowledge.training.run import (
    CURVES,
    Plan,
    checkpoint,
    checkpoints,
    read_log,
    train,
)
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Worker

POINTS = 20
WRITES = {"open", "os.rename", "os.mkdir", "os.symlink", "os.remove", "os.chmod"}
SHORT = Settings(sigma=0.02, alpha=0.01, population=4, batch=16, generations=6)


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


def go(world: Path, folder: Path, kill_at: int = 0) -> int:
    """Run or go on; return how many points were passed."""
    passed = 0

    def count(event: str, given: Any) -> None:
        nonlocal passed
        if event in WRITES and any(str(each).startswith(str(folder)) for each in given):
            passed += 1
            if passed == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

    asked = (tuple(load_questions(str(world / name))) for name in (small.QUESTIONS, small.HELD_OUT))
    recipe = CausalRecipe(world / small.MODEL, *asked, Asking(meta="threshold", max_tokens=1), SHORT)
    sys.addaudithook(count)
    train(SHORT, Plan(folder, 2, 3), Worker(recipe))
    return passed


def left(folder: Path) -> list[Any]:
    """Return everything of a run that time does not change."""
    table = pl.read_parquet(folder / CURVES).drop("seconds")
    weights = [(checkpoint(folder, k) / "model.safetensors").read_bytes() for k in checkpoints(folder)]
    commits = [(commit, made.counts, made.held_out) for commit, made in read_log(folder)]
    hidden = [path.name for path in (folder / "checkpoints").glob(".*")]
    return [commits, checkpoints(folder), weights, hidden, table.to_dicts(), (folder / "last").resolve().name]


def main(where: Path) -> None:
    """Kill, go on, compare."""
    small.STEPS = 50
    apart(lambda: small.make_world(where / "world", 0) or "made")
    total = apart(lambda: go(where / "world", where / "whole"))
    wanted, different = apart(lambda: left(where / "whole")), []
    points = sorted({max(1, round(k * total / POINTS)) for k in range(1, POINTS + 1)})
    for point in points:
        folder = where / f"killed-{point}"
        assert apart(lambda: go(where / "world", folder, point)) is None  # noqa: B023
        apart(lambda: go(where / "world", folder))  # noqa: B023
        if apart(lambda: left(folder)) != wanted:  # noqa: B023
            different.append(point)
    print(json.dumps({"points": points, "of": total, "different": different}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
