"""``python -m metacog_assets`` that writes down which stage it begins: ``BEGUN`` names a file that gets a line for each."""

import functools
import os
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

from metacog_assets import benchmark_assets, boards, stages

STAGES = {
    benchmark_assets: {"_run_step": "make", "_compared": "compare"},
    stages: {"answer": "answer", "read": "read", "estimate": "estimate"},
    boards: {"build_boards": "board", "build_report": "report"},
}


def _watched(name: str, done: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(done)
    def watched(*args: Any, **named: Any) -> Any:
        with Path(os.environ["BEGUN"]).open("a", encoding="utf-8") as file:
            file.write(f"{name} {os.getpid()}\n")
        return done(*args, **named)

    return watched


if __name__ == "__main__":
    for module, names in STAGES.items():
        for function, name in names.items():
            setattr(module, function, _watched(name, getattr(module, function)))
    runpy.run_module("metacog_assets", run_name="__main__", alter_sys=True)
