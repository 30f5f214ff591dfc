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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import replacing
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.study import Study, TrainingSection

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.interview import Asking
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.recipe import CausalRecipe
    from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings
    from metacog_pipeline.benchmarks.selfknowledge.training.figures import Figures
    from metacog_pipeline.benchmarks.selfknowledge.training.run import Engine, Trained
    from metacog_pipeline.benchmarks.selfknowledge.training.toy.recipe import ToyRecipe

FOLDER, BASE, RUN, EVALUATION = "training", "base", "run", "evaluation.parquet"
VERSION = "1"
_OF_SETTINGS = ("sigma", "alpha", "population", "batch", "generations", "antithetic", "shaping", "schedule")
_OF_ASKING = ("language", "matching", "yes_no", "meta", "meta_chat", "max_tokens", "rows")

Facts = dict[str, int | float | str]
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a stage made: its digest, figures to show, and a table where there is one."""

    digest: str
    facts: Facts
    table: pl.DataFrame | None = None


def section(study: Study) -> TrainingSection:
    """Return the study's ``[training]``; raise `StudyError` where it has none."""
    if study.training is None:
        raise StudyError(f"{study.path.name}: the study trains nothing; add a [training] section")
    return study.training


def folder(study: Study) -> Path:
    """Return where training is kept."""
    return study.home / FOLDER


def settings(study: Study) -> Settings:
    """Return the settings of the run: what the section says, the rest as published or as fits the toy."""
    from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings
    from metacog_pipeline.benchmarks.selfknowledge.training.toy.recipe import SETTINGS

    chosen = section(study)
    said: dict[str, Any] = {
        name: getattr(chosen, name) for name in _OF_SETTINGS if getattr(chosen, name) is not None
    }
    return replace(
        SETTINGS if chosen.model is None else Settings(), reward=chosen.reward, seed=study.study.seed, **said
    )


def make_base(study: Study, done: Progress | None = None) -> StepResult:
    """Train the toy's base model where it is missing, or look at the model that is there."""
    from metacog_pipeline.benchmarks.selfknowledge.training.weights import Weights

    chosen = section(study)
    if chosen.model is None:
        from metacog_pipeline.benchmarks.selfknowledge.training.toy.demo import make_base as make
        from metacog_pipeline.benchmarks.selfknowledge.training.toy.recipe import open_toy

        make(folder(study) / BASE, study.study.seed, done=done)
        weights = Weights(open_toy(folder(study) / BASE))
    else:
        from metacog_pipeline.benchmarks.selfknowledge.training.causal.opening import open_model

        weights = Weights(open_model(_model(study), chosen.device, chosen.dtype).model)
    return StepResult(weights.digest(), {"weights": weights.size, "tensors": len(weights.shapes)})


def make_checkpoint(
    study: Study, done: Progress | None = None, tell: Callable[[Figures], None] | None = None
) -> StepResult:
    """Run what is missing of the training and return the last checkpoint; a run of other settings is made anew.

    An older run is set aside under a name with a number, never removed.
    """
    from metacog_pipeline.benchmarks.selfknowledge.training import curves

    there, (recipe, about) = folder(study) / RUN, recipe_of(study)
    made = evolve_in(study, there, recipe, about, done, tell)
    table = pl.read_parquet(there / curves.FILE)
    facts: Facts = {"generations": recipe.settings.generations, "checkpoint": str(made.checkpoint)}
    return StepResult(made.digest, {**facts, **_moved(table)}, table)


def evolve_in(
    study: Study,
    there: Path,
    recipe: ToyRecipe | CausalRecipe,
    about: Mapping[str, Any],
    done: Progress | None = None,
    tell: Callable[[Figures], None] | None = None,
) -> Trained:
    """Run what is missing of a run in a folder; one of other settings that is there is set aside."""
    from metacog_pipeline.benchmarks.selfknowledge.training.run import Plan, train

    chosen = section(study)
    plan = Plan(there, chosen.checkpoint_every, chosen.evaluate_every, about, patience=chosen.patience)
    engine = _engine(chosen, recipe, there)
    try:
        if _other_run(there, recipe.settings, about, engine.digest()):
            _set_aside(there)
        return train(recipe.settings, plan, engine, resume=True, done=done, tell=tell)
    finally:
        engine.close()


def _engine(chosen: TrainingSection, recipe: ToyRecipe | CausalRecipe, there: Path) -> Engine:
    """Return who does the work: one worker, or one per device, or as many as the section says."""
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.evolve import Means, open_worker_pool
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.recipe import CausalRecipe
    from metacog_pipeline.benchmarks.selfknowledge.training.engines.choice import devices_named, open_engine

    if not isinstance(recipe, CausalRecipe):
        return open_engine(recipe, max(1, chosen.workers), chosen.engine)
    devices = () if chosen.devices is None else devices_named(chosen.devices)
    recipe, means = Means(chosen.workers, chosen.engine, devices=devices).placed(recipe)
    return open_worker_pool(recipe, means, there)


def make_evaluation(study: Study) -> StepResult:
    """Ask base and trained model about the questions held out, and write the numbers with their intervals."""
    from metacog_pipeline.files import sha256_hex

    measured = _toy_numbers(study) if section(study).model is None else _causal_numbers(study)
    rows = [
        {
            "model": model,
            "measure": measure,
            "estimate": number.value,
            "low": number.low,
            "high": number.high,
            "n": number.n,
            "method": number.method,
            "status": number.status,
        }
        for model, numbers in measured.items()
        for measure, number in numbers.items()
    ]
    numeric = dict.fromkeys(("estimate", "low", "high"), pl.Float64)
    table = pl.DataFrame(rows, schema_overrides=numeric)
    with replacing(folder(study) / EVALUATION) as temporary:
        table.write_parquet(temporary)
    facts: Facts = {
        f"{measure}, {model}": round(number.value, 4)
        for model, numbers in measured.items()
        for measure, number in numbers.items()
        if number.value is not None
    }
    return StepResult(sha256_hex(table.write_csv())[:32], facts, table)


def recipe_of(study: Study) -> tuple[ToyRecipe | CausalRecipe, dict[str, Any]]:
    """Return how the study's model is opened and asked, and what a run of it depends on."""
    chosen = section(study)
    if chosen.model is None:
        from metacog_pipeline.benchmarks.selfknowledge.training.toy.recipe import ToyRecipe

        base = folder(study) / BASE
        return ToyRecipe(study.study.seed, base, settings(study), chosen.threads), {"world": study.study.seed}
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.evolve import about
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.questions import (
        answerable,
        load_questions,
        split,
    )
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.recipe import CausalRecipe

    found = tuple(answerable(load_questions(_beside(study, chosen.questions), chosen.language)))
    if chosen.held_out is None:
        training, held_out = split(found, chosen.held_out_share, study.study.seed)
    else:
        training = found
        held_out = tuple(load_questions(_beside(study, chosen.held_out), chosen.language))
    recipe = CausalRecipe(
        _model(study),
        training,
        held_out,
        _asking(chosen),
        settings(study),
        chosen.device,
        chosen.dtype,
        chosen.threads,
        chosen.trainee,
    )
    return recipe, about(recipe)


def _toy_numbers(study: Study) -> Mapping[str, Mapping[str, Estimate]]:
    from metacog_pipeline.benchmarks.selfknowledge.training.log import LAST
    from metacog_pipeline.benchmarks.selfknowledge.training.toy.asking import Questionnaire, measured
    from metacog_pipeline.benchmarks.selfknowledge.training.toy.recipe import open_toy
    from metacog_pipeline.benchmarks.selfknowledge.training.toy.world import build_world

    world = build_world(study.study.seed)
    people = Questionnaire(world, world.held_out)
    both = {"base": folder(study) / BASE, "trained": folder(study) / RUN / LAST}
    return {name: measured(people.answers(open_toy(where))) for name, where in both.items()}


def _causal_numbers(study: Study) -> Mapping[str, Mapping[str, Estimate]]:
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.evaluate import Setting, hear, measured
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.opening import open_model
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.recipe import CausalRecipe
    from metacog_pipeline.benchmarks.selfknowledge.training.log import LAST

    chosen, (recipe, _) = section(study), recipe_of(study)
    assert isinstance(recipe, CausalRecipe)
    setting: Setting = "threshold" if chosen.meta == "threshold" else "dual"
    both = {"base": recipe.folder, "trained": folder(study) / RUN / LAST}
    return {
        name: measured(
            hear(open_model(where, chosen.device, chosen.dtype), recipe.held_out, recipe.asking, setting)
        )
        for name, where in both.items()
    }


def _asking(chosen: TrainingSection) -> Asking:
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.interview import Asking

    return Asking(**{name: getattr(chosen, name) for name in _OF_ASKING})


def _model(study: Study) -> Path:
    chosen = section(study).model
    assert chosen is not None
    return (study.path.parent / chosen.expanduser()).resolve()


def _beside(study: Study, named: str) -> str:
    return named if named == "sample" else str(study.path.parent / Path(named).expanduser())


def _other_run(there: Path, wanted: Settings, about: Mapping[str, Any], base: str) -> bool:
    """Whether the folder holds a run that cannot be gone on with; a shorter one of constant step can be."""
    from dataclasses import asdict

    from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings
    from metacog_pipeline.benchmarks.selfknowledge.training.log import Log

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
