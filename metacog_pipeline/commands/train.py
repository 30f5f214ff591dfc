"""``train``: teach a model what it knows, in a toy world or with a language model of one's own."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from metacog_pipeline.commands.options import quiet_option
from metacog_pipeline.errors import StudyError
from metacog_pipeline.progress import ProgressLine, style_for

NEEDED = ("torch", "transformers", "safetensors")


@click.group()
def train() -> None:
    """Teach a model to know what it knows, by an evolution strategy (needs the extra `train`)."""


@train.command()
@click.option(
    "--output",
    type=click.Path(path_type=Path),
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

    from metacog_pipeline.training.toy.demo import BOARD, demonstrate
    from metacog_pipeline.training.toy.recipe import SETTINGS
    from metacog_pipeline.warehouse.output import render

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
    click.echo(render(made.board, "table"), nl=False)
    for path in (*made.figures, output / BOARD):
        click.echo(f"wrote {path}")


def need_torch() -> None:
    """Say what to install where the extra is missing.

    Raises
    ------
    StudyError
        When one of its packages is not there.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise StudyError(
            f"training needs {', '.join(missing)}: install the extra `train`, metacog-pipeline[train]"
        )
