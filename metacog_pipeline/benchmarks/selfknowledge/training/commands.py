"""``train``: teach a model what it knows, in a toy world or with a language model of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metacog_pipeline.benchmarks.selfknowledge.training.command_options import (
    FOLDER,
    asking_from,
    asking_options,
    held_out_options,
    model_options,
    need_torch,
    question_options,
    questions_from,
)
from metacog_pipeline.benchmarks.selfknowledge.training.more_commands import evaluate, patch, sft, train_study
from metacog_pipeline.commands import printing
from metacog_pipeline.commands.options import quiet_option
from metacog_pipeline.leaderboard.read import Rows
from metacog_pipeline.progress import ProgressLine, style_for

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.selfknowledge.training.run import Trained


@click.group()
def train() -> None:
    """Teach a model to know what it knows, by an evolution strategy (needs the extra `train`)."""


@train.command()
@click.option(
    "--output",
    type=FOLDER,
    default="metacog-toy",
    show_default=True,
    help="Folder for everything made.",
)
@click.option("--seed", type=click.IntRange(0, 2**31), default=0, show_default=True, help="Of world and run.")
@click.option(
    "--reward",
    "rewards",
    multiple=True,
    default=("joint",),
    show_default=True,
    help="joint, direct, meta, dprime or four numbers; may be repeated, the first is drawn.",
)
@click.option("--generations", type=click.IntRange(0), help="Of the evolution.  [default: 120]")
@click.option(
    "--sft",
    "sft_steps",
    type=click.IntRange(0),
    default=0,
    help="Also train on meta answers, that many steps.",
)
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes.")
@click.option("--resume", is_flag=True, help="Go on with what is in the folder.")
@quiet_option
@printing.json_option
def toy(
    output: Path,
    seed: int,
    rewards: tuple[str, ...],
    generations: int | None,
    sft_steps: int,
    workers: int,
    resume: bool,
    quiet: bool,
) -> None:
    """Base model, evolution, board and picture in a world of invented people: about a minute on one core."""
    need_torch()
    from dataclasses import replace

    from metacog_pipeline.benchmarks.selfknowledge.training.toy.demo import BOARD, demonstrate
    from metacog_pipeline.benchmarks.selfknowledge.training.toy.recipe import SETTINGS

    settings = SETTINGS if generations is None else replace(SETTINGS, generations=generations)
    lines: dict[str, ProgressLine] = {}

    def show(label: str, done: int, total: int) -> None:
        if label not in lines:
            for earlier in lines.values():
                earlier.__exit__(None, None, None)
            lines[label] = ProgressLine(label, total, style_for(quiet), priced=False)
        lines[label].update(done)

    try:
        made = demonstrate(
            output,
            seed,
            rewards,
            settings=settings,
            sft_steps=sft_steps,
            workers=workers,
            resume=resume,
            progress=show,
        )
    finally:
        for line in lines.values():
            line.__exit__(None, None, None)
    printing.table("board", made.board)
    for path in (*made.figures, output / BOARD):
        printing.written(path)


@train.command()
@click.option("--model", "folder", type=FOLDER, required=True, help="Folder of a causal language model.")
@click.option(
    "--output", type=FOLDER, required=True, help="Folder of the run; its checkpoints are model folders."
)
@question_options
@held_out_options
@asking_options
@model_options
@click.option(
    "--reward", default="joint", show_default=True, help="joint, direct, meta, dprime or four numbers."
)
@click.option("--sigma", type=float, default=1e-3, show_default=True, help="Size of the noise.")
@click.option("--alpha", type=float, default=5e-4, show_default=True, help="Size of a step.")
@click.option("--population", type=int, default=32, show_default=True, help="Individuals of a generation.")
@click.option("--batch", type=int, default=256, show_default=True, help="Questions of a generation.")
@click.option("--generations", type=int, default=750, show_default=True)
@click.option("--antithetic", is_flag=True, help="Individuals in pairs: noise added and subtracted.")
@click.option("--shaping", type=click.Choice(("zscore", "ranks")), default="zscore", show_default=True)
@click.option(
    "--schedule",
    type=click.Choice(("constant", "linear", "cosine")),
    default="constant",
    show_default=True,
    help="Of alpha.",
)
@click.option(
    "--seed", type=int, default=42, show_default=True, help="Of noise, batches and what is held out."
)
@click.option(
    "--workers", type=click.IntRange(1, 1024), default=1, show_default=True, help="Models at work at once."
)
@click.option("--engine", type=click.Choice(("process", "ray")), default="process", show_default=True)
@click.option("--ray-address", "address", help="Of a Ray cluster; without it one is started here.")
@click.option(
    "--gpus-per-worker", "gpus", type=float, default=0.0, help="For Ray: graphics cards of each actor."
)
@click.option(
    "--master",
    type=click.Choice(("auto", "memory", "file")),
    default="auto",
    show_default=True,
    help="Where the float32 copy of the weights lies; auto: on disk for large models on a processor.",
)
@click.option(
    "--checkpoint-every", type=click.IntRange(0), default=60, show_default=True, help="0: at the end only."
)
@click.option(
    "--evaluate-every", type=click.IntRange(0), default=60, show_default=True, help="0: at the end only."
)
@click.option("--resume", is_flag=True, help="Go on with the run in the folder.")
@click.option(
    "--from-checkpoint", type=click.IntRange(0), help="Go on from this one although there are later ones."
)
@quiet_option
@printing.json_option
def esma(folder: Path, output: Path, seed: int, quiet: bool, **given: Any) -> None:
    """Evolve a language model so that its yes and no go with what it knows.

    Any folder in the layout of Hugging Face will do. Each checkpoint is such a folder too: measure it as a model with
    provider = "transformers".
    """
    need_torch()
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.evolve import Means, evolve
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.recipe import CausalRecipe
    from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings

    def taken(*names: str) -> dict[str, Any]:
        return {name: given.pop(name) for name in names}

    asking = asking_from(given)
    training, held_out = questions_from(given, asking.language, seed)
    settings = Settings(
        seed=seed,
        **taken(
            "sigma",
            "alpha",
            "population",
            "batch",
            "generations",
            "reward",
            "antithetic",
            "shaping",
            "schedule",
        ),
    )
    recipe = CausalRecipe(
        folder.absolute(), training, held_out, asking, settings, **taken("device", "dtype", "threads")
    )
    means = Means(**taken("workers", "engine", "master", "address", "gpus"))
    with ProgressLine("evolution", settings.generations, style_for(quiet), priced=False) as line:
        made = evolve(recipe, output.absolute(), means, done=line.update, **given)
    printing.table("measures", _before_and_after(made))
    printing.written(made.checkpoint)


def _before_and_after(made: Trained) -> Rows:
    """Return the questions held out, before and after."""
    from metacog_pipeline.benchmarks.selfknowledge.training.curves import measures

    both = [("base", made.base), ("trained", made.held_out)]
    found = [(name, None if held is None else held.n, measures(held)) for name, held in both]
    names = list(found[0][2])
    return Rows(("model", "n", *names), tuple((name, n, *each.values()) for name, n, each in found))


for _each in (sft, patch, evaluate, train_study):
    train.add_command(_each)
