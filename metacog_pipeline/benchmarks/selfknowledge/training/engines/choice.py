"""Which engine a run gets, and where the master copy of its weights lies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from metacog_pipeline.benchmarks.selfknowledge.training.engines.processes import placed, processes
from metacog_pipeline.benchmarks.selfknowledge.training.engines.ray_actors import ray_actors
from metacog_pipeline.benchmarks.selfknowledge.training.engines.shared import fits
from metacog_pipeline.benchmarks.selfknowledge.training.room import weights_of
from metacog_pipeline.benchmarks.selfknowledge.training.run import Engine
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Recipe, Worker
from metacog_pipeline.errors import StudyError

Kind = Literal["process", "ray"]
Master = Literal["auto", "memory", "file", "shared"]
_SMALL = 64 << 20  # bytes of a model folder below which a second copy in memory is nobody's worry


def open_engine(
    recipe: Recipe,
    workers: int = 1,
    kind: Kind = "process",
    scratch: Path | None = None,
    *,
    address: str | None = None,
    gpus: float | None = None,
    devices: Sequence[str] = (),
    shared: int = 0,
) -> Engine:
    """Return one worker in this process, or a pool of them, on the devices in turn.

    An actor of Ray takes a graphics card of its own where the recipe needs one, and sees no other.
    """
    if kind == "ray":
        on_card = any(each.startswith("cuda") for each in devices)
        one = placed(recipe, ("cuda",) if on_card else (), 0)
        return ray_actors(one, workers, scratch, address, float(on_card) if gpus is None else gpus)
    if workers == 1:
        return Worker(placed(recipe, devices, 0), scratch)
    return processes(recipe, workers, scratch, devices, shared)


def devices_named(text: str) -> tuple[str, ...]:
    """Return devices of a list such as ``cuda:0,cuda:1``; ``auto`` means every graphics card, or the processor.

    Raises StudyError for what is no device, or processor and cards together, whose sums differ in the last digits.
    """
    if text == "auto":
        import torch

        return tuple(f"cuda:{k}" for k in range(torch.cuda.device_count())) or ("cpu",)
    found = tuple(part.strip() for part in text.split(","))
    if not all(re.fullmatch(r"cpu|cuda(:[0-9]{1,2})?", each) for each in found):
        raise StudyError(f'devices "{text}": auto, or a list such as cuda:0,cuda:1 needed')
    if len({each.partition(":")[0] for each in found}) > 1:
        raise StudyError(f'devices "{text}": processor and graphics cards round differently; give one kind')
    return found


def shared_weights(master: Master, model: Path, workers: int, kind: Kind) -> int:
    """Return how many weights the workers of this machine share; 0 where each has its own master copy."""
    if kind == "ray" or workers == 1 or master not in ("auto", "shared"):
        if master == "shared":
            raise StudyError("--master shared: needs several --workers of the engine process")
        return 0
    count, size = weights_of(model)
    return count if master == "shared" or (size >= _SMALL and fits(count)) else 0


def scratch_folder(master: Master, model: Path, run: Path, device: str) -> Path | None:
    """Return where master copies go: an unnamed file beside the run for large models on a processor, else memory.

    On a graphics card they lie in the memory of the host, which holds them without taking any of the card's.
    """
    if master == "auto":
        size = sum(path.stat().st_size for path in model.glob("*.safetensors"))
        master = "memory" if device.startswith("cuda") or size < _SMALL else "file"
    return run.parent if master == "file" else None
