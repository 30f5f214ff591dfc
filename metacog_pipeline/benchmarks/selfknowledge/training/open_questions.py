"""Three questions the published work leaves open, each answered from the study's ``[training]`` by one command.

Patch curve: is "few weights carry the change" an effect, or the rounding of bfloat16? A run in each type, and what is left
of each when only the largest changes are kept. Ablations: every reward and supervised baseline, over seeds.
Generalisation: base and trained model on every question set and language that the study has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
from scipy.special import stdtrit

from metacog_pipeline.benchmark.item_files import items_path, read_rows
from metacog_pipeline.benchmarks.selfknowledge.items import BENCHMARK, LANGUAGES, Item
from metacog_pipeline.benchmarks.selfknowledge.training import stage
from metacog_pipeline.benchmarks.selfknowledge.training.causal.evaluate import hear, measured
from metacog_pipeline.benchmarks.selfknowledge.training.causal.interview import Interview
from metacog_pipeline.benchmarks.selfknowledge.training.causal.patch import patch_each
from metacog_pipeline.benchmarks.selfknowledge.training.causal.questions import Question, load_questions
from metacog_pipeline.benchmarks.selfknowledge.training.causal.recipe import CausalRecipe
from metacog_pipeline.benchmarks.selfknowledge.training.causal.sft import Tuning, tune
from metacog_pipeline.benchmarks.selfknowledge.training.log import LAST
from metacog_pipeline.benchmarks.selfknowledge.training.toy import demo
from metacog_pipeline.benchmarks.selfknowledge.training.toy.base import train_meta
from metacog_pipeline.benchmarks.selfknowledge.training.toy.recipe import ToyRecipe, open_toy
from metacog_pipeline.benchmarks.selfknowledge.training.toy.world import build_world
from metacog_pipeline.benchmarks.selfknowledge.training.weights import trainable
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import replacing
from metacog_pipeline.llm.local.loading import Loaded
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.study import Study

FOLDER = "open"
REWARDS = ("joint", "direct", "meta", "dprime")
TYPES = ("float32", "bfloat16")
RATIOS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
TOY_STEPS = 60
Done = Callable[[int], None] | None
Estimates = Mapping[str, Estimate]


def patch_curve(study: Study, done: Done = None) -> pl.DataFrame:
    """Return d′ and accuracy with only the largest changes kept, for a run in float32 and one in bfloat16.

    ``changed`` is the share of weights that differ from the base at all: in bfloat16 a step below half a unit in the last
    place changes nothing that the model sees, although the float32 master has it.
    """
    rows, (recipe, about) = [], stage.recipe_of(study)
    for place, dtype in enumerate(TYPES):
        one = replace(recipe, dtype=dtype)
        trained = _evolved(study, one, {**about, "dtype": dtype}, f"patch-{dtype}")
        for ratio, count, changed, found in _patched(one, trained):
            about_it = {"dtype": dtype, "share": ratio, "weights": count, "changed": changed}
            rows += [{**about_it, **_cells(measure, each)} for measure, each in found.items()]
        if done:
            done(place + 1)
    return _kept(study, "patch_curve", pl.DataFrame(rows, infer_schema_length=None))


def ablations(study: Study, seeds: int, steps: int = 1000, done: Done = None) -> pl.DataFrame:
    """Return every measure of the base, of each reward and of the supervised baselines, a mean over seeds.

    A seed is one of noise, batches and baseline, and in the toy one of the world too. Intervals are Student's over the
    seeds; a measure undefined under a seed is left out of them, and the status says so.
    """
    made: dict[str, list[Estimates]] = {}
    for number in range(seeds):
        seed = study.study.seed + number
        for name, found in _ablated(study, seed, steps):
            made.setdefault(name, []).append(found)
        if done:
            done(number + 1)
    rows = [
        {"model": name, "measure": measure, **over_seeds([each.get(measure) for each in found])}
        for name, found in made.items()
        for measure in found[0]
    ]
    return _kept(study, "ablations", pl.DataFrame(rows, infer_schema_length=None))


def generalisation(study: Study, done: Done = None) -> pl.DataFrame:
    """Return the measures of base and trained model on each question set and language that was not trained on."""
    recipe = _with_question_sets(study)
    trained = stage.folder(study) / stage.RUN / LAST
    if not trained.exists():
        stage.make_checkpoint(study)
    sets, rows = _question_sets(study, {each.text for each in recipe.training}), []
    for place, (model, where) in enumerate({"base": recipe.folder, "trained": trained}.items()):
        loaded = stage.opened(recipe, where)
        for (dataset, language), asked in sets.items():
            asking = replace(recipe.asking, language=language)
            found = measured(hear(loaded, asked, asking, stage.setting(recipe)))
            about = {"questions": dataset, "language": language, "model": model}
            rows += [{**about, **_cells(measure, each)} for measure, each in found.items()]
        if done:
            done(place + 1)
    return _kept(study, "generalisation", pl.DataFrame(rows, infer_schema_length=None))


def check_asked(study: Study, asked: Mapping[str, bool]) -> None:
    """Raise `StudyError` where a question cannot be answered, before anything is trained for it."""
    if asked["generalisation"]:
        _with_question_sets(study)


def _with_question_sets(study: Study) -> CausalRecipe:
    recipe, _ = stage.recipe_of(study)
    if isinstance(recipe, CausalRecipe):
        return recipe
    raise StudyError("[training] has no model: the invented people of the toy have no other question sets")


def over_seeds(found: Sequence[Estimate | None]) -> dict[str, Any]:
    """Return mean, Student's 95 % interval and number of the values that are defined, and what became of the rest."""
    values = [each.value for each in found if each is not None and each.value is not None]
    missing = len(found) - len(values)
    status = "ok" if not missing else f"undefined under {missing} of {len(found)} seeds"
    if not values:
        return {"estimate": None, "low": None, "high": None, "seeds": 0, "status": status}
    n, mean = len(values), sum(values) / len(values)
    if n == 1:
        return {"estimate": mean, "low": None, "high": None, "seeds": 1, "status": "one seed"}
    sd = math.sqrt(sum((value - mean) ** 2 for value in values) / (n - 1))
    half = float(stdtrit(n - 1, 0.975)) * sd / math.sqrt(n)
    return {"estimate": mean, "low": mean - half, "high": mean + half, "seeds": n, "status": status}


def _evolved(study: Study, recipe: stage.Recipe, about: Mapping[str, Any], name: str) -> Path:
    """Return the trained model of a run of its own; what is there already is gone on with."""
    there = stage.folder(study) / FOLDER / name
    return stage.evolve_in(study, there, recipe, about).checkpoint


def _patched(recipe: stage.Recipe, trained: Path) -> Iterator[tuple[float, int, float, Estimates]]:
    """Yield share, weights, share of weights that changed at all, and measures, for each share of the largest changes."""
    base, tuned = (stage.opened(recipe, where) for where in (recipe.folder, trained))
    one, other = (each.model if isinstance(each, Loaded) else each for each in (base, tuned))
    before, after = trainable(one), trainable(other)
    total = sum(each.numel() for each in before.values())
    changed = sum(int((before[name] != after[name]).sum()) for name in before) / total
    for ratio, count in patch_each(one, other, RATIOS, "top"):
        yield ratio, count, changed, stage.numbers(recipe, tuned)


def _ablated(study: Study, seed: int, steps: int) -> Iterator[tuple[str, Estimates]]:
    recipe, about = stage.recipe_of(study)
    if isinstance(recipe, ToyRecipe):
        home, about = stage.folder(study) / FOLDER / f"world-{seed}", {"world": seed}
        demo.make_base(home, seed)
        recipe = replace(recipe, world_seed=seed, folder=home)
    yield "base", stage.numbers(recipe, stage.opened(recipe, recipe.folder))
    for reward in REWARDS:
        other: stage.Recipe = replace(recipe, settings=replace(recipe.settings, reward=reward, seed=seed))
        trained = _evolved(study, other, about, f"{reward}-{seed}")
        yield reward, stage.numbers(recipe, stage.opened(recipe, trained))
    if isinstance(recipe, ToyRecipe):
        tuned = train_meta(open_toy(recipe.folder), build_world(seed), seed, TOY_STEPS)
        yield f"sft meta, {TOY_STEPS} steps", stage.numbers(recipe, tuned)
        return
    for kind in ("meta", "answers"):
        loaded = stage.opened(recipe, recipe.folder)
        tune(Interview(loaded, recipe.training, recipe.asking), Tuning(kind=kind, steps=steps, seed=seed))
        yield f"sft {kind}, {steps} steps", stage.numbers(recipe, loaded)


def _question_sets(study: Study, trained: set[str]) -> dict[tuple[str, str], list[Question]]:
    """Return the study's questions by set and language, those that were trained on left out; else the shipped facts."""
    path = items_path(study.home, BENCHMARK)
    found: dict[tuple[str, str], list[Question]] = {}
    for language in LANGUAGES:
        if path.is_file():
            for item in read_rows(path, Item):
                if (text := item.question(language)) is not None and text not in trained:
                    asked = Question(item.item_id, text, item.accepted(language))
                    found.setdefault((item.dataset, language), []).append(asked)
        else:
            asked_all = [each for each in load_questions("sample", language) if each.text not in trained]
            found["sample", language] = asked_all
    return {key: asked for key, asked in found.items() if asked}


def _cells(measure: str, found: Estimate) -> dict[str, Any]:
    return {"measure": measure, "estimate": found.value} | {
        name: getattr(found, name) for name in ("low", "high", "n", "status")
    }


def _kept(study: Study, name: str, table: pl.DataFrame) -> pl.DataFrame:
    """Write a table beside its runs, and return it."""
    table = table.with_columns(pl.col("estimate", "low", "high").cast(pl.Float64))
    with replacing(stage.folder(study) / f"{name}.parquet") as temporary:
        table.write_parquet(temporary)
    return table
