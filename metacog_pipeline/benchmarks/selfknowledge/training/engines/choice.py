"""Which engine a run gets, and where the master copy of its weights lies."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from metacog_pipeline.benchmarks.selfknowledge.training.engines.processes import processes
from metacog_pipeline.benchmarks.selfknowledge.training.engines.ray_actors import ray_actors
from metacog_pipeline.benchmarks.selfknowledge.training.run import Engine
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Recipe, Worker

Kind = Literal["process", "ray"]
Master = Literal["auto", "memory", "file"]
_SMALL = 64 << 20  # bytes of a model folder below which a second copy in memory is nobody's worry


def open_engine(
    recipe: Recipe,
    workers: int = 1,
    kind: Kind = "process",
    scratch: Path | None = None,
    *,
    address: str | None = None,
    gpus: float = 0.0,
) -> Engine:
    """Return one worker in this process, or a pool of them."""
    if kind == "ray":
        return ray_actors(recipe, workers, scratch, address, gpus)
    return Worker(recipe, scratch) if workers == 1 else processes(recipe, workers, scratch)


def scratch_folder(master: Master, model: Path, run: Path, device: str) -> Path | None:
    """Return where master copies go: an unnamed file beside the run for large models on a processor, else memory.

    On a graphics card they lie in the memory of the host, which holds them without taking any of the card's.
    """
    if master == "auto":
        size = sum(path.stat().st_size for path in model.glob("*.safetensors"))
        master = "memory" if device.startswith("cuda") or size < _SMALL else "file"
    return run.parent if master == "file" else None
