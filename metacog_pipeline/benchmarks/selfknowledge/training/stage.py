"""Training as a part of a study: base, checkpoint and evaluation, each made from the one before, kept in the home.

::

    training/base/            the toy's base model (a model of one's own stays where it is)
    training/run/             log, curves, checkpoints; ``last`` leads to the newest, a model folder
    training/evaluation.parquet

A finished checkpoint is measured like any model: ``provider = "transformers"`` and ``model = ".../training/run/last"``.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.benchmarks.selfknowledge.training import curves
from metacog_pipeline.benchmarks.selfknowledge.training.causal.evaluate import Setting, hear, measured
from metacog_pipeline.benchmarks.selfknowledge.training.causal.evolve import Means, open_worker_pool
from metacog_pipeline.benchmarks.selfknowledge.training.causal.evolve import about as about_of
from metacog_pipeline.benchmarks.selfknowledge.training.causal.interview import Asking
from metacog_pipeline.benchmarks.selfknowledge.training.causal.opening import open_model
from metacog_pipeline.benchmarks.selfknowledge.training.causal.questions import (
    answerable,
    apart,
    load_questions,
    split,
)
from metacog_pipeline.benchmarks.selfknowledge.training.causal.recipe import CausalRecipe
from metacog_pipeline.benchmarks.selfknowledge.training.engines.choice import devices_named, open_engine
from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings
from metacog_pipeline.benchmarks.selfknowledge.training.figures import Figures
from metacog_pipeline.benchmarks.selfknowledge.training.log import LAST, Log
from metacog_pipeline.benchmarks.selfknowledge.training.run import Engine, Plan, Trained, train
from metacog_pipeline.benchmarks.selfknowledge.training.settings import TrainingSection
from metacog_pipeline.benchmarks.selfknowledge.training.toy import asking, demo
from metacog_pipeline.benchmarks.selfknowledge.training.toy.recipe import SETTINGS, ToyRecipe, open_toy
from metacog_pipeline.benchmarks.selfknowledge.training.toy.world import build_world
from metacog_pipeline.benchmarks.selfknowledge.training.weights import Weights
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import replacing, sha256_hex
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.study import Study

FOLDER, BASE, RUN, EVALUATION = "training", "base", "run", "evaluation.parquet"

Facts = dict[str, int | float | str]
Progress = Callable[[int], None]
Recipe = ToyRecipe | CausalRecipe


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a stage made: its digest, figures to show, and a table where there is one."""

    digest: str
    facts: Facts
    table: pl.DataFrame | None = None


def section(study: Study) -> TrainingSection:
    """Return the study's ``[training]``; raise `StudyError` where it has none."""
    if not isinstance(study.training, TrainingSection):
        raise StudyError(f"{study.path.name}: the study trains nothing; add a [training] section")
    return study.training


def folder(study: Study) -> Path:
    """Return where training is kept."""
    return study.home / FOLDER


def settings(study: Study) -> Settings:
    """Return the settings of the run: what the section says, the rest as published or as fits the toy."""
    chosen = section(study)
    usual = SETTINGS if chosen.model is None else Settings()
    named = {each.name: getattr(chosen, each.name, None) for each in fields(Settings)}
    said: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    return replace(usual, **{**said, "seed": study.study.seed})


def make_base(study: Study, done: Progress | None = None) -> StepResult:
    """Train the toy's base model where it is missing, or look at the model that is there."""
    chosen, base = section(study), folder(study) / BASE
    settings(study)  # read before anything is made
    if chosen.model is None:
        demo.make_base(base, study.study.seed, done=done)
        weights = Weights(open_toy(base))
    else:
        weights = Weights(open_model(_model(study), chosen.device, chosen.dtype).model)
    return StepResult(weights.digest(), {"weights": weights.size, "tensors": len(weights.shapes)})


def make_checkpoint(
    study: Study, done: Progress | None = None, tell: Callable[[Figures], None] | None = None
) -> StepResult:
    """Run what is missing of the training and return the last checkpoint; a run of other settings is made anew.

    An older run is set aside under a name with a number, never removed.
    """
    there, (recipe, about) = folder(study) / RUN, recipe_of(study)
    made = evolve_in(study, there, recipe, about, done, tell)
    table = pl.read_parquet(there / curves.FILE, glob=False)
    facts: Facts = {"generations": recipe.settings.generations, "checkpoint": str(made.checkpoint)}
    return StepResult(made.digest, {**facts, **_moved(table)}, table)


def evolve_in(
    study: Study,
    there: Path,
    recipe: Recipe,
    about: Mapping[str, Any],
    done: Progress | None = None,
    tell: Callable[[Figures], None] | None = None,
) -> Trained:
    """Run what is missing of a run in a folder; one of other settings that is there is set aside."""
    chosen = section(study)
    plan = Plan(there, chosen.checkpoint_every, chosen.evaluate_every, about, patience=chosen.patience)
    engine = _engine(chosen, recipe, there)
    try:
        if _other_run(there, recipe.settings, about, engine.digest()):
            _set_aside(there)
        return train(recipe.settings, plan, engine, resume=True, done=done, tell=tell)
    finally:
        engine.close()


def _engine(chosen: TrainingSection, recipe: Recipe, there: Path) -> Engine:
    """Return who does the work: one worker, or one per device, or as many as the section says."""
    if not isinstance(recipe, CausalRecipe):
        return open_engine(recipe, max(1, chosen.workers), chosen.engine)
    devices = () if chosen.devices is None else devices_named(chosen.devices)
    recipe, means = Means(chosen.workers, chosen.engine, devices=devices).placed(recipe)
    return open_worker_pool(recipe, means, there)


def make_evaluation(study: Study) -> StepResult:
    """Ask base and trained model about the questions held out, and write the numbers with their intervals."""
    recipe, _ = recipe_of(study)
    both = {"base": recipe.folder, "trained": folder(study) / RUN / LAST}
    told = [
        (model, measure, each)
        for model, where in both.items()
        for measure, each in numbers(recipe, opened(recipe, where)).items()
    ]
    columns: dict[str, Any] = {
        **dict.fromkeys(("model", "measure"), pl.String),
        **dict.fromkeys(("estimate", "low", "high"), pl.Float64),
        **{"n": pl.Int64, "method": pl.String, "status": pl.String},
    }
    rows = [
        (model, measure, each.value, each.low, each.high, each.n, each.method, each.status)
        for model, measure, each in told
    ]
    table = pl.DataFrame(rows, schema=columns, orient="row")
    with replacing(folder(study) / EVALUATION) as temporary:
        table.write_parquet(temporary)
    facts: Facts = {
        f"{measure}, {model}": round(each.value, 4) for model, measure, each in told if each.value is not None
    }
    return StepResult(sha256_hex(table.write_csv())[:32], facts, table)


def recipe_of(study: Study) -> tuple[Recipe, dict[str, Any]]:
    """Return how the study's model is opened and asked, and what a run of it depends on."""
    chosen = section(study)
    if chosen.model is None:
        base = folder(study) / BASE
        return ToyRecipe(study.study.seed, base, settings(study), chosen.threads), {"world": study.study.seed}
    found = tuple(answerable(load_questions(_beside(study, chosen.questions), chosen.language)))
    if chosen.held_out is None:
        training, held_out = split(found, chosen.held_out_share, study.study.seed)
    else:
        training = found
        named = _beside(study, chosen.held_out)
        held_out = apart(load_questions(named, chosen.language), training, named)
    recipe = CausalRecipe(
        _model(study),
        training,
        held_out,
        Asking(**{each.name: getattr(chosen, each.name) for each in fields(Asking)}),
        settings(study),
        chosen.device,
        chosen.dtype,
        chosen.threads,
        chosen.trainee,
    )
    return recipe, about_of(recipe)


def opened(recipe: Recipe, where: Path) -> Any:
    """Return the model in a folder as the recipe's workers have it: a toy, or a `Loaded` one."""
    if isinstance(recipe, ToyRecipe):
        return open_toy(where, recipe.dtype)
    return open_model(where, recipe.device, recipe.dtype)


def numbers(recipe: Recipe, model: Any) -> Mapping[str, Estimate]:
    """Return the measures of an opened model on the questions held out."""
    if isinstance(recipe, ToyRecipe):
        world = build_world(recipe.world_seed)
        return asking.measured(asking.Questionnaire(world, world.held_out).answers(model))
    return measured(hear(model, recipe.held_out, recipe.asking, setting(recipe)))


def setting(recipe: CausalRecipe) -> Setting:
    """Return the setting in which the meta question is asked as in training."""
    return "threshold" if recipe.asking.meta == "threshold" else "dual"


def _model(study: Study) -> Path:
    chosen = section(study).model
    assert chosen is not None
    return study.beside(chosen)


def _beside(study: Study, named: str) -> str:
    return named if named == "sample" else str(study.path.parent / Path(named).expanduser())


def _other_run(there: Path, wanted: Settings, about: Mapping[str, Any], base: str) -> bool:
    """Whether the folder holds a run that cannot be gone on with; a shorter one of constant step can be."""
    known = Log(there).about()
    if known is None:
        return False
    same = {**asdict(Settings()), **known["settings"]}  # older runs have fewer
    longer = wanted.schedule == "constant" and same.get("generations", 0) <= wanted.generations
    if longer:
        same["generations"] = wanted.generations
    return (same, known["base"], known.get("about")) != (asdict(wanted), base, dict(about))


def _set_aside(there: Path) -> None:
    number = 1
    while (aside := there.with_name(f"{there.name}-{number}")).exists():
        number += 1
    shutil.move(there, aside)


def _moved(table: pl.DataFrame) -> Facts:
    """Return the held-out measures of the base and of the last weights."""
    held = table.drop_nulls("held_out_n")
    facts: Facts = {}
    for measure in ("d_type2", "accuracy"):
        values = held[f"held_out_{measure}"].drop_nulls().to_list()
        if values:
            facts |= {f"{measure}, base": round(values[0], 4), f"{measure}, last": round(values[-1], 4)}
    return facts
