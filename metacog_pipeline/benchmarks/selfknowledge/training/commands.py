"""``train``: teach a model what it knows, in a toy world or with a language model of one's own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metacog_pipeline.benchmarks.selfknowledge.training import more_commands
from metacog_pipeline.benchmarks.selfknowledge.training.command_options import (
    FOLDER,
    Number,
    folder_option,
    need_torch,
)
from metacog_pipeline.benchmarks.selfknowledge.training.evolution_options import OPTIONS, evolution_from
from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import quiet_option
from metacog_pipeline.leaderboard.output import Rows
from metacog_pipeline.progress import ProgressLine, style_for

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.selfknowledge.training.figures import Figures


@click.group()
def train() -> None:
    """Teach a model to know what it knows, by an evolution strategy (needs the extra `train`)."""


@train.command()
@click.option("--output", type=FOLDER, default="metacog-toy", help="Folder for everything made.")
@click.option("--seed", type=click.IntRange(0, 2**31), default=0, help="Of world and run.")
@click.option(
    "--reward",
    "rewards",
    multiple=True,
    default=("joint",),
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
@click.option("--workers", type=click.IntRange(1, 64), default=1, help="Processes.")
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
@folder_option
@click.option(
    "--output", type=FOLDER, required=True, help="Folder of the run; its checkpoints are model folders."
)
@OPTIONS
@click.option("--checkpoint-every", type=click.IntRange(0), default=60, help="0: at the end only.")
@click.option("--evaluate-every", type=click.IntRange(0), default=60, help="0: at the end only.")
@click.option(
    "--digest-every",
    type=click.IntRange(0),
    default=10,
    help="Generations between digests of all weights; of a sample after each.",
)
@click.option(
    "--patience",
    type=click.IntRange(0),
    default=5,
    help="Stop after so many generations in a row without an update. 0: never.",
)
@click.option("--resume", is_flag=True, help="Go on with the run in the folder.")
@click.option(
    "--from-checkpoint", type=click.IntRange(0), help="Go on from this one although there are later ones."
)
@quiet_option
@printing.json_option
def esma(folder: Path, output: Path, quiet: bool, **given: Any) -> None:
    """Evolve a language model so that its yes and no go with what it knows.

    Any folder in the layout of Hugging Face will do. Each checkpoint is such a folder too: measure it as a model with
    provider = "transformers".
    """
    need_torch()
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.evolve import evolve
    from metacog_pipeline.benchmarks.selfknowledge.training.figures import estimates

    recipe, means = evolution_from(folder, given)
    with ProgressLine("evolution", recipe.settings.generations, style_for(quiet), priced=False) as line:

        def tell(figures: Figures) -> None:
            line.note = figures.line()

        made = evolve(recipe, output.absolute(), means, done=line.update, tell=tell, **given)
    more_commands.print_estimates("model", {name: estimates(held) for name, held in made.models()})
    printing.written(made.checkpoint)


@train.command()
@folder_option
@OPTIONS
@click.option("--evaluate-every", type=click.IntRange(0), default=60)
@click.option("--individuals", type=click.IntRange(2), default=2, help="Tried at first.")
@click.option("--usd-per-hour", type=Number(0, 10**6), help="Of all machines together, for the cost.")
@quiet_option
@printing.json_option
def preflight(folder: Path, quiet: bool, **given: Any) -> None:
    """Try a few individuals, and say what a run needs, takes and can learn, before it is begun.

    The options of the run are those of `train esma`. Exits with 1 where nothing can be learnt or memory is too small.
    """
    need_torch()
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.preflight import look

    recipe, means = evolution_from(folder, given)
    with ProgressLine("questions", 1, style_for(quiet), priced=False):
        found = look(recipe, means, **given)
    printing.table("preflight", Rows(("what", "needed", "there"), found.rows()))
    printing.say(**found.numbers())
    for reason in found.reasons:
        printing.say(f"cannot go: {reason}", reasons=[reason])
    if found.reasons:
        sys.exit(1)
    printing.say("ready: the population differs, and the run fits", reasons=[])


for _each in (more_commands.sft, more_commands.patch, more_commands.evaluate, more_commands.train_study):
    train.add_command(_each)
