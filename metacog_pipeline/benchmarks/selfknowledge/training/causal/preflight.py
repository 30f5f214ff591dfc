"""Before a run: what it needs, how long it takes, and whether there is anything to be learnt from.

A worker is opened as the run would, the base and a few individuals are asked the first batch, and an update is made and
thrown away with the worker.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from metacog_pipeline.benchmarks.selfknowledge.training import figures, room
from metacog_pipeline.benchmarks.selfknowledge.training.causal.evolve import Means
from metacog_pipeline.benchmarks.selfknowledge.training.causal.recipe import CausalRecipe
from metacog_pipeline.benchmarks.selfknowledge.training.engines import choice
from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings, Tried, commit_of
from metacog_pipeline.benchmarks.selfknowledge.training.figures import shown
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import EpisodeReward
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Worker
from metacog_pipeline.errors import StudyError

MOST_TRIED = 8  # individuals, where the first ones earn the same


@dataclass(frozen=True, slots=True)
class Preflight:
    """What was found."""

    base: EpisodeReward  # counts of the unperturbed model on the first batch
    fitness: tuple[float, ...]  # of the individuals tried
    # host, device: bytes needed and there; None where the system does not say, or the device is the host
    host: tuple[float, float | None]
    device: tuple[float, float] | None
    # generation_s, update_s, validation_s, questions_per_s, hours: of a generation, its update, one look at the
    # questions held out; of the whole plan
    generation_s: float
    update_s: float
    validation_s: float
    questions_per_s: float
    hours: float
    dollars: float | None
    reasons: tuple[str, ...]  # why the run must not be begun; empty where it may

    def numbers(self) -> dict[str, Any]:
        """Return them as JSON values."""
        n = self.base.n
        return {
            "host_needed": self.host[0],
            "host_there": self.host[1],
            "device_needed": None if self.device is None else self.device[0],
            "device_there": None if self.device is None else self.device[1],
            "generation_s": self.generation_s,
            "update_s": self.update_s,
            "validation_s": self.validation_s,
            "questions_per_s": self.questions_per_s,
            "distinct_fitness": figures.distinct(self.fitness),
            "individuals": len(self.fitness),
            "base_accuracy": self.base.correct / n,
            "base_yes_ratio": self.base.yes / n,
            "base_d_type2": figures.estimates(self.base)[figures.D].value,
            "base_parsed": None if self.base.parsed is None else self.base.parsed / n,
            "hours": self.hours,
            "usd": self.dollars,
        }

    def rows(self) -> tuple[tuple[str, str | None, str | None], ...]:
        """Return what is shown: what it is, what is needed, what is there."""
        found, n = figures.estimates(self.base), self.base.n
        unread = None if self.base.parsed is None else f"{n - self.base.parsed} of {n}"
        memory = [("memory of the host", self.host)]
        if self.device is not None:
            memory.append(("memory of the device", self.device))
        return (
            *((what, room.shown(needed), room.shown(there)) for what, (needed, there) in memory),
            ("accuracy of the base", "above 0", shown(found["accuracy"])),
            ("yes ratio of the base", None, shown(found["yes_ratio"])),
            ("d′ of the base", None, shown(found[figures.D]) or found[figures.D].status),
            ("meta replies that say neither", None, unread),
            (
                "individuals with a fitness of their own",
                f"2 of {len(self.fitness)}",
                f"{len(set(self.fitness))}",
            ),
            ("questions per second", None, f"{self.questions_per_s:.3g}"),
            ("a generation", None, figures.duration(self.generation_s)),
            ("of which the update", None, figures.duration(self.update_s)),
            ("a look at the questions held out", None, figures.duration(self.validation_s)),
            ("the whole plan", figures.duration(3600 * self.hours), None),
            *(() if self.dollars is None else (("cost", f"${self.dollars:,.2f}", None),)),
        )


def look(
    recipe: CausalRecipe,
    means: Means,
    *,
    evaluate_every: int = 60,
    individuals: int = 2,
    usd_per_hour: float | None = None,
) -> Preflight:
    """Open the model, try the base and a few individuals, and work out the rest.

    Memory is looked at first: where the weights alone do not fit, nothing is opened.
    """
    settings = recipe.settings
    least = _least_host(recipe, means)
    free = room.host_free()
    if free is not None and least > free:
        raise StudyError(
            f"the weights and their float32 copies take {room.shown(least)} of memory, {room.shown(free)} are free: take "
            "fewer --workers, or --master file"
        )
    scratch = choice.scratch_folder(means.master, recipe.folder, Path.cwd() / "run", recipe.device)
    worker = Worker(recipe, scratch)
    try:
        with torch.no_grad():
            base = worker.trainee.fitness(worker.trainee.model, 0).outcome
        begun = time.perf_counter()
        tried = _tried(worker, recipe, individuals)
        individual_s = (time.perf_counter() - begun) / len(tried)
        update_s = _update_s(worker, recipe, tried)
        device = _device(recipe.device)
    finally:
        worker.close()
    questions_per_s = base.n / individual_s
    validation_s = len(recipe.held_out) / questions_per_s / means.workers
    if choice.shared_weights(means.master, recipe.folder, means.workers, means.engine):
        update_s /= means.workers  # each makes a part
    generation_s = math.ceil(settings.population / means.workers) * individual_s + update_s
    looks = 1 + (settings.generations // evaluate_every if evaluate_every else 1)
    hours = (settings.generations * generation_s + looks * validation_s) / 3600
    # Beside the weights, what asking took: the most memory this process had, its libraries included.
    host = (max(least, means.workers * float(room.peak() or 0)), free)
    fitness = tuple(each.fitness for each in tried)
    together = figures.together([each.outcome for each in tried])
    return Preflight(
        base=base,
        fitness=fitness,
        host=host,
        device=device,
        generation_s=generation_s,
        update_s=update_s,
        validation_s=validation_s,
        questions_per_s=questions_per_s * means.workers,
        hours=hours,
        dollars=None if usd_per_hour is None else usd_per_hour * hours,
        reasons=(
            *_no_room(("host", host), ("device", device)),
            *_nothing_to_learn(settings, fitness, together, base),
        ),
    )


def _tried(worker: Worker, recipe: CausalRecipe, individuals: int) -> list[Tried]:
    """Return so many individuals of the first generation, more while all earn the same."""
    people, sigma = recipe.settings.individuals(0), recipe.settings.sigma
    tried = worker.evaluate(0, people[:individuals], sigma)
    while len({each.fitness for each in tried}) == 1 and len(tried) < min(len(people), MOST_TRIED):
        tried += worker.evaluate(0, people[len(tried) : len(tried) + 2], sigma)
    return tried


def _no_room(*memory: tuple[str, tuple[float, float | None] | None]) -> Iterator[str]:
    for what, bytes_ in memory:
        if bytes_ is not None and bytes_[1] is not None and bytes_[0] > bytes_[1]:
            yield (
                f"the {what} has {room.shown(bytes_[1])} of memory free, {room.shown(bytes_[0])} are needed: take fewer "
                "--workers, or smaller --rows"
            )


def _nothing_to_learn(
    settings: Settings, fitness: Sequence[float], counts: EpisodeReward, base: EpisodeReward
) -> Iterator[str]:
    everything = base + counts
    same, unread = len(set(fitness)) == 1, everything.parsed == 0 and settings.reward != "direct"
    if same or unread or not everything.correct:
        why = figures.cause(counts, settings.reward, settings.sigma, base)
        yield f"all {len(fitness)} individuals tried earned the same: {why}" if same else why


def _least_host(recipe: CausalRecipe, means: Means) -> int:
    """Return the bytes that weights and master copies take of the host at least; a file needs none to speak of."""
    shared = choice.shared_weights(means.master, recipe.folder, means.workers, means.engine)
    count, size = room.weights_of(recipe.folder, recipe.dtype)
    on_card = recipe.device.startswith("cuda")
    scratch = choice.scratch_folder(means.master, recipe.folder, Path.cwd() / "run", recipe.device)
    own = 4 * count if scratch is None and not shared else 0
    return means.workers * ((0 if on_card else size) + own) + 4 * shared


def _update_s(worker: Worker, recipe: CausalRecipe, tried: list[Tried]) -> float:
    """Return the seconds of an update with the whole population, from one with those that were tried."""
    settings, few = recipe.settings, [float(k) for k in range(len(tried))]
    trial = replace(settings, population=len(tried), antithetic=False)
    begun = time.perf_counter()
    worker.digest()
    digest_s = time.perf_counter() - begun
    begun = time.perf_counter()
    worker.commit(commit_of(trial, 0, few))
    noises_s = max(0.0, time.perf_counter() - begun - digest_s)
    return noises_s * settings.population / len(tried) + digest_s


def _device(device: str) -> tuple[float, float] | None:
    """Return the bytes of the graphics card that were taken at most, and how many there were."""
    if not device.startswith("cuda"):
        return None
    free, _ = torch.cuda.mem_get_info(device)
    taken = torch.cuda.max_memory_reserved(device)
    return float(taken), float(free + torch.cuda.memory_reserved(device))
