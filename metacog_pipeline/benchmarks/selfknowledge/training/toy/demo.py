"""Base, evolution, board: the whole demonstration in one folder.

::

    base/                   the base model
    joint/ (direct/ …)      one run per reward: log, curves, checkpoints
    board.csv               every model on people held out
    before_after.svg, .png  base against the first reward
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import torch

from metacog_pipeline.benchmarks.selfknowledge.training import curves
from metacog_pipeline.benchmarks.selfknowledge.training.engines.processes import processes
from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings
from metacog_pipeline.benchmarks.selfknowledge.training.run import Engine, Plan, Trained, train
from metacog_pipeline.benchmarks.selfknowledge.training.toy import figure
from metacog_pipeline.benchmarks.selfknowledge.training.toy.asking import Answers, Questionnaire, board
from metacog_pipeline.benchmarks.selfknowledge.training.toy.base import STEPS, train_base, train_meta
from metacog_pipeline.benchmarks.selfknowledge.training.toy.recipe import (
    SETTINGS,
    ToyRecipe,
    open_toy,
    save_toy,
)
from metacog_pipeline.benchmarks.selfknowledge.training.toy.world import build_world
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Worker
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import making_folder, write_text
from metacog_pipeline.leaderboard.output import Rows, to_csv

BASE, BOARD, SFT = "base", "board.csv", "sft"
EVALUATE_EVERY, CHECKPOINT_EVERY = 10, 50

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Demonstration:
    """What came out: the board, what each model said (the base first), the runs by reward, the pictures."""

    board: Rows
    answers: tuple[tuple[str, Answers], ...]
    runs: dict[str, Trained]
    figures: tuple[Path, ...]


def demonstrate(
    folder: Path,
    seed: int = 0,
    rewards: Sequence[str] = ("joint",),
    *,
    settings: Settings = SETTINGS,
    sft_steps: int = 0,
    workers: int = 1,
    resume: bool = False,
    progress: Progress | None = None,
) -> Demonstration:
    """Train a base model, evolve it under each reward, ask all about people held out, draw before and after.

    Parameters
    ----------
    folder
        For everything made; new or empty, unless ``resume``.
    seed
        Of world, base model, noise and batches.
    sft_steps
        Also train a copy of the base on meta answers for that many steps; 0 leaves it out.
    progress
        Told label, units done and units in all.

    Raises StudyError when the folder holds something already.
    """
    torch.set_num_threads(1)
    # Read before anything is made: a reward that is none leaves nothing behind.
    wanted = {reward: replace(settings, reward=reward, seed=seed) for reward in rewards}
    if folder.exists() and any(folder.iterdir()) and not resume:
        raise StudyError(f"{folder}: not empty; go on with what is there (--resume) or take another folder")
    world = build_world(seed)
    make_base(folder / BASE, seed, done=_told(progress, "base model", STEPS))
    held_out = Questionnaire(world, world.held_out)
    answers = [(BASE, held_out.answers(open_toy(folder / BASE)))]
    runs: dict[str, Trained] = {}
    for reward, chosen in wanted.items():
        recipe = ToyRecipe(seed, folder / BASE, chosen)
        plan = Plan(folder / reward, CHECKPOINT_EVERY, EVALUATE_EVERY, {"world": seed})
        told = _told(progress, f"evolution, {reward} reward", chosen.generations)
        engine: Engine = Worker(recipe) if workers == 1 else processes(recipe, workers)
        try:
            runs[reward] = train(chosen, plan, engine, resume=resume, done=told)
        finally:
            engine.close()
        answers.append((reward, held_out.answers(open_toy(runs[reward].checkpoint))))
    if sft_steps:
        told = _told(progress, "training on meta answers", sft_steps)
        tuned = train_meta(open_toy(folder / BASE), world, seed, sft_steps, told)
        answers.append((f"{SFT}, {sft_steps} steps", held_out.answers(tuned)))
    rows = board(answers)
    write_text(folder / BOARD, to_csv(rows))
    return Demonstration(rows, tuple(answers), runs, _pictures(folder, answers, runs))


def make_base(folder: Path, seed: int, steps: int = STEPS, done: Callable[[int], None] | None = None) -> None:
    """Train the base model unless it is there; its folder is whole or absent. On one thread: more only wait here."""
    if folder.is_dir():
        return
    torch.set_num_threads(1)
    with making_folder(folder) as temporary:
        save_toy(train_base(build_world(seed), seed, steps, done), temporary)


def _pictures(
    folder: Path, answers: Sequence[tuple[str, Answers]], runs: dict[str, Trained]
) -> tuple[Path, ...]:
    if not runs:
        return ()
    first = next(iter(runs.values()))
    return figure.draw(
        folder, answers[0][1], answers[1][1], pl.read_parquet(first.folder / curves.FILE, glob=False)
    )


def _told(progress: Progress | None, label: str, total: int) -> Callable[[int], None] | None:
    if progress is None:
        return None
    told = progress
    return lambda done: told(label, done, total)
