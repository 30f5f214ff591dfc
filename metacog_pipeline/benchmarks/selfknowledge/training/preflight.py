"""Before a run: what it needs, how long it takes, and whether there is anything to learn.

A worker is opened as the run would, the base and a few individuals are asked the first batch, and an update is made
and thrown away with the worker.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch

from metacog_pipeline.benchmarks.selfknowledge.training import figures
from metacog_pipeline.benchmarks.selfknowledge.training.chain import Chain
from metacog_pipeline.benchmarks.selfknowledge.training.es import Tried, commit_of
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import Counts, together
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Worker
from metacog_pipeline.errors import StoreError, StudyError, one_line

# individuals tried at first, and where the first ones earn the same
FIRST, MOST = 2, 8
_CGROUP = Path("/sys/fs/cgroup")


class Preflight(NamedTuple):
    """What was found; ``rows`` hold the quantity, what is needed and what is free."""

    rows: list[tuple[str, str | None, str | None]]
    numbers: dict[str, Any]
    # why the run must not be begun; empty where it may
    reasons: list[str]


def look(chain: Chain) -> Preflight:
    """Open the model, try the base and a few individuals, and work out the rest."""
    # Memory comes first: where the weights alone do not fit, nothing is opened.
    recipe, section, settings = chain.recipe, chain.section, chain.settings
    needed, free = weights_memory(recipe.folder, section.dtype), host_free()
    if free is not None and needed > free:
        raise StudyError(
            f"the weights and their float32 copy take {_gb(needed)} of memory, {_gb(free)} are free"
        )
    worker = Worker(recipe)
    with torch.no_grad():
        base = worker.trainee.fitness(0).counts
    begun = time.perf_counter()
    tried = _tried(worker, settings)
    individual_s = (time.perf_counter() - begun) / len(tried)
    begun = time.perf_counter()
    trial = settings.model_copy(update={"population": len(tried), "antithetic": False})
    worker.commit(commit_of(trial, 0, [float(k) for k in range(len(tried))]))
    update_s = (time.perf_counter() - begun) * settings.population / len(tried)
    questions_per_s = base.n / individual_s * section.workers
    generation_s = math.ceil(settings.population / section.workers) * individual_s + update_s
    looks = 1 + (settings.generations // section.evaluate_every if section.evaluate_every else 1)
    hours = (settings.generations * generation_s + looks * len(recipe.held_out) / questions_per_s) / 3600
    card = _card(section.device)
    memory = {"host": (float(max(needed, peak() or 0)), free), **({} if card is None else {"device": card})}
    found, distinct = figures.estimates(base), len({each.fitness for each in tried})
    numbers: dict[str, Any] = {f"{name}_needed": each[0] for name, each in memory.items()}
    numbers |= {f"{name}_free": each[1] for name, each in memory.items()}
    numbers |= {
        "generation_s": generation_s,
        "update_s": update_s,
        "questions_per_s": questions_per_s,
        "hours": hours,
    }
    numbers |= {"individuals": len(tried), "distinct": distinct}
    numbers |= {f"base_{name}": found[name].value for name in ("accuracy", "yes_ratio", figures.D)}
    rows: list[tuple[str, str | None, str | None]] = [
        *((f"memory of the {name}", _gb(each[0]), _gb(each[1])) for name, each in memory.items()),
        ("accuracy of the base", "above 0", figures.shown(found["accuracy"])),
        ("yes ratio of the base", None, figures.shown(found["yes_ratio"])),
        ("d′ of the base", None, figures.shown(found[figures.D]) or found[figures.D].status),
        ("individuals with a fitness of their own", f"2 of {len(tried)}", str(distinct)),
        ("questions per second", None, f"{questions_per_s:.3g}"),
        ("a generation, of which the update", None, f"{generation_s:.1f} s, {update_s:.1f} s"),
        ("the whole run", f"{hours:.2f} h", None),
    ]
    return Preflight(rows, numbers, [*_no_room(memory), *_nothing_to_learn(chain, tried, base)])


def _tried(worker: Worker, settings: Any) -> list[Tried]:
    """Return a few individuals of the first generation, more while all earn the same."""
    people = settings.individuals(0)
    tried = worker.evaluate(0, people[:FIRST], settings.sigma)
    while len({each.fitness for each in tried}) == 1 and len(tried) < min(len(people), MOST):
        tried += worker.evaluate(0, people[len(tried) : len(tried) + FIRST], settings.sigma)
    return tried


def _no_room(memory: dict[str, tuple[float, float | None]]) -> Iterator[str]:
    for name, (needed, free) in memory.items():
        if free is not None and needed > free:
            yield f"the {name} has {_gb(free)} of memory free, {_gb(needed)} are needed: take smaller rows"


def _nothing_to_learn(chain: Chain, tried: list[Tried], base: Counts) -> Iterator[str]:
    counts, reward = together([each.counts for each in tried]), chain.settings.reward
    everything, same = together([base, counts]), len({each.fitness for each in tried}) == 1
    if same or not everything.correct or (everything.parsed == 0 and reward != "direct"):
        why = figures.cause(counts, reward, chain.settings.sigma, base)
        yield f"all {len(tried)} individuals tried earned the same: {why}" if same else why


def weights_memory(folder: Path, dtype: str = "auto") -> int:
    """Return the bytes that the weights of a folder take once opened, with their float32 master; headers are read
    only."""
    from safetensors import safe_open

    sizes = {"F64": 8, "F32": 4, "BF16": 2, "F16": 2, "float32": 4, "bfloat16": 2, "float16": 2}
    opener: Any = safe_open
    total = 0
    for path in sorted(folder.glob("*.safetensors")):
        if path.name == "master.safetensors":
            continue
        try:
            with opener(path, framework="pt") as file:
                for name in file.keys():  # noqa: SIM118  # no mapping
                    part = file.get_slice(name)
                    own = sizes.get(part.get_dtype() if dtype == "auto" else dtype, 4)
                    total += math.prod(part.get_shape()) * (own + 4)
        except Exception as error:  # the library raises its own kind for a torn file
            raise StoreError(f"{path}: no readable safetensors file: {one_line(str(error))}") from None
    if not total:
        raise StudyError(f"{folder}: no weights here (*.safetensors); give the folder of a model")
    return total


def host_free() -> int | None:
    """Return the bytes this process may still take; None where the system does not say."""
    found = []
    # a machine without limits of its own has no such files
    with contextlib.suppress(OSError, ValueError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
        most, taken = (int((_CGROUP / name).read_text()) for name in ("memory.max", "memory.current"))
        found.append(most - taken)
    return min(found, default=None)


def peak() -> int | None:
    """Return the most memory this process has had resident, in bytes."""
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    return None


def _card(device: str) -> tuple[float, float | None] | None:
    """Return the bytes of the graphics card that were taken at most, and how many there were."""
    if not device.startswith("cuda"):
        return None
    free, _ = torch.cuda.mem_get_info(device)
    return float(torch.cuda.max_memory_reserved(device)), float(free + torch.cuda.memory_reserved(device))


def _gb(size: float | None) -> str | None:
    return None if size is None else f"{size / 1e9:.2f} GB"
