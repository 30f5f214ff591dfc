"""The chain of a study's ``[training]``: base, taught, evolved, baselines, patched, measured; each step goes on where
it stopped.

::

    training/world-SEED/    model and questions of the small world, where the study names no model
    training/taught/        the base after supervised training on ``teach``
    training/run/           the evolution: log, curves, checkpoints; ``last`` leads to the newest, a model folder
    training/sft/, grpo/    baselines
    training/patching.*     d' and the rest with only the largest or smallest changes, as table and figure
    training/evaluation.*   every model on every question set
    training/study.toml     a study with every model as a row, where the study names a model

What was made under other settings is set aside under a name with a number, never removed.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.benchmarks.selfknowledge.training import grpo, sft, small
from metacog_pipeline.benchmarks.selfknowledge.training.causal import CausalRecipe, open_model, require_model
from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings
from metacog_pipeline.benchmarks.selfknowledge.training.figures import Generation, table_of
from metacog_pipeline.benchmarks.selfknowledge.training.interview import Asking, Interview, measured
from metacog_pipeline.benchmarks.selfknowledge.training.patching import Side, patch_each
from metacog_pipeline.benchmarks.selfknowledge.training.pictures import draw_patching
from metacog_pipeline.benchmarks.selfknowledge.training.questions import (
    Question,
    digest,
    load_questions,
    refuse_overlap,
    split,
)
from metacog_pipeline.benchmarks.selfknowledge.training.ray_engine import RayEngine
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import usual_alpha
from metacog_pipeline.benchmarks.selfknowledge.training.run import CURVES, LAST, Plan, other_run, train
from metacog_pipeline.benchmarks.selfknowledge.training.settings import TrainingSection
from metacog_pipeline.benchmarks.selfknowledge.training.weights import Weights, trainable
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Worker
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import canonical_json, replacing, sha256_hex, write_text
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.study import Study
from metacog_pipeline.study.new_file import toml_text

Progress = Callable[[int], None] | None
Tell = Callable[[Generation], None] | None
_ABOUT = "about.json"


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a step made: its digest, figures to show, and a table where there is one."""

    digest: str
    facts: dict[str, int | float | str]
    table: pl.DataFrame | None = None


class Chain:
    """The steps of one study. Everything that can be refused is refused when it is made, before anything is written."""

    def __init__(self, study: Study) -> None:
        if not isinstance(study.training, TrainingSection):
            raise StudyError(f"{study.path.name}: the study trains nothing; add a [training] section")
        self.study, self.section, self.seed = study, study.training, study.study.seed
        self.folder = study.home.training
        self.settings = self._settings()
        if self.section.grpo_steps:
            grpo.require()
        if self.section.model is not None:
            self.check()
            require_model(self.base)

    @property
    def base(self) -> Path:
        """The folder of the model before anything is taught."""
        if self.section.model is not None:
            return self.study.beside(self.section.model)
        return self.world / small.MODEL

    @property
    def world(self) -> Path:
        """The folder of the small world."""
        return self.folder / f"world-{self.seed}"

    @property
    def evolved_from(self) -> Path:
        """The folder of the model that evolves."""
        return self.folder / "taught" / sft.MODEL if self.section.teach else self.base

    def models(self) -> dict[str, Path]:
        """Return the folders of all models that are there, by the name of their row."""
        section = self.section
        named = {
            "base": (self.base, True),
            "taught": (self.folder / "taught" / sft.MODEL, section.teach),
            "evolved": (self.folder / "run" / LAST, True),
            "sft": (self.folder / "sft" / sft.MODEL, section.sft_steps),
            "grpo": (self.folder / "grpo" / "model", section.grpo_steps),
        }
        return {name: folder for name, (folder, wanted) in named.items() if wanted and folder.is_dir()}

    @cached_property
    def asking(self) -> Asking:
        """How models are asked."""
        return Asking(**{each.name: getattr(self.section, each.name) for each in fields(Asking)})

    @cached_property
    def recipe(self) -> CausalRecipe:
        """The model that evolves, its questions, and the settings of the run."""
        training, held_out = self._questions
        section = self.section
        named = {name: getattr(section, name) for name in ("device", "dtype", "threads", "trainee")}
        return CausalRecipe(self.evolved_from, training, held_out, self.asking, self.settings, **named)

    @cached_property
    def sets(self) -> dict[str, tuple[Question, ...]]:
        """The question sets that models are measured on."""
        found = {"held out": self._questions[1]}
        if self.section.teach:
            found["taught"] = self.taught
        if self.section.teach == "world":
            untaught = tuple(load_questions(self._beside(small.UNTAUGHT)))
            found |= {"not taught": untaught, "fictional": (*self.taught, *untaught)}
        for source in self.section.measure:
            found[Path(source).stem] = tuple(load_questions(self._beside(source), self.asking.language))
        return found

    @cached_property
    def taught(self) -> tuple[Question, ...]:
        """The questions that are taught before the evolution."""
        teach = self.section.teach or ""
        source = small.TEACH if teach == "world" else teach
        return tuple(
            each for each in load_questions(self._beside(source), self.asking.language) if each.answers
        )

    @property
    def teach_steps(self) -> int:
        """How many steps of teaching there are."""
        if not self.section.teach:
            return 0
        if self.section.teach == "world" and not self.base.is_dir():
            return self.section.teach_epochs * math.ceil(small.FICTIONAL // 2 / self.section.sft_batch)
        return self.section.teach_epochs * math.ceil(len(self.taught) / self.section.sft_batch)

    def check(self) -> None:
        """Read all questions and refuse held-out ones that are trained on."""
        self.recipe  # noqa: B018
        if not self.sets["held out"]:
            raise StudyError("held_out: no question; name another file")

    def make_base(self, done: Progress = None) -> StepResult:
        """Train the small model where the study names none and it is missing, or look at the model that is there."""
        if self.section.model is None:
            small.make_world(self.world, self.seed, done)
        self.check()
        weights = Weights(trainable(open_model(self.base, "cpu", self.section.dtype).model))
        return StepResult(weights.digest(), {"weights": weights.size, "tensors": len(weights.shapes)})

    def make_taught(self, done: Progress = None) -> StepResult:
        """Teach the base the questions of ``teach``."""
        if not self.section.teach:
            return StepResult("", {"asked for": "no: teach is left out"})
        section, steps = self.section, self.teach_steps
        tuning = sft.Tuning("answers", steps, section.sft_batch, section.teach_rate, self.seed)
        folder = self._tuned("taught", self.base, self.taught, tuning, done)
        return StepResult(self._digest(folder), {"questions": len(self.taught), "steps": steps})

    def make_checkpoint(self, done: Progress = None, tell: Tell = None) -> StepResult:
        """Make the generations that are missing."""
        run, section, recipe = self.folder / "run", self.section, self.recipe
        self._need(recipe.folder, "the model that evolves")
        engine = self.engine()
        try:
            if other_run(run, recipe.settings, recipe.about(), engine.digest()):
                _set_aside(run)
            plan = Plan(
                run, section.checkpoint_every, section.evaluate_every, section.patience, recipe.about()
            )
            last = train(recipe.settings, plan, engine, done, tell)
            found = engine.digest()
        finally:
            engine.close()
        table = pl.read_parquet(run / CURVES, glob=False)
        held = table.drop_nulls("held_out_n").select("held_out_d_type2", "held_out_accuracy")
        facts: dict[str, int | float | str] = {
            "generations": recipe.settings.generations,
            "checkpoint": str(last),
        }
        for label, row in zip(("base", "last"), held.rows()[:: max(1, len(held) - 1)], strict=False):
            named = zip(("d_type2", "accuracy"), row, strict=True)
            facts |= {f"{name}, {label}": round(value, 4) for name, value in named if value is not None}
        return StepResult(found, facts, table)

    def make_baselines(self, done: Progress = None) -> StepResult:
        """Train the supervised and the policy-gradient baseline, from the model that evolves."""
        section, questions = self.section, self._questions[0]
        made, folder = {}, self.evolved_from
        if section.sft_steps:
            tuning = sft.Tuning("meta", section.sft_steps, section.sft_batch, section.sft_rate, self.seed)
            made["sft"] = self._tuned("sft", folder, questions, tuning, done)
        if section.grpo_steps:
            self._place(
                "grpo", {"base": self._digest(folder), "steps": section.grpo_steps, "of": digest(questions)}
            )
            loaded, to = open_model(folder, section.device, section.dtype), self.folder / "grpo"
            made["grpo"] = grpo.grpo(loaded, questions, self.asking, section.grpo_steps, self.seed, to, done)
        digests = {name: self._digest(each) for name, each in made.items()}
        facts = digests or {"asked for": "no: sft_steps and grpo_steps are 0"}
        return StepResult(sha256_hex(canonical_json(digests))[:32], {**facts})

    def make_patching(self, done: Progress = None) -> StepResult:
        """Measure the model that evolved with only the largest or smallest of its changes, on held-out questions."""
        shares: list[tuple[Side, float]] = [("top", each / 100) for each in self.section.patch_top]
        shares += [("bottom", each / 100) for each in self.section.patch_bottom]
        if not shares:
            return StepResult("", {"asked for": "no: patch_top and patch_bottom are empty"})
        tuned = self.folder / "run" / LAST
        self._need(tuned, "the model that evolved")
        base, patched = (
            open_model(each, self.section.device, self.section.dtype) for each in (self.evolved_from, tuned)
        )
        interview, tables = Interview(patched, self.sets["held out"], self.asking), []
        for side, share, count in patch_each(base.model, patched.model, shares):
            about = {"side": side, "share": share, "weights": count}
            found = table_of({"": measured(interview.ask())}).drop("model")
            tables.append(
                found.select(*(pl.lit(value).alias(name) for name, value in about.items()), pl.all())
            )
            if done:
                done(len(tables))
        return self._written("patching", pl.concat(tables))

    def make_evaluation(self) -> StepResult:
        """Measure every model on every question set, and write the study in which each is a row."""
        tables = []
        for model, folder in self.models().items():
            loaded = open_model(folder, self.section.device, self.section.dtype)
            found = {name: self._measured(loaded, each) for name, each in self.sets.items()}
            tables.append(table_of(found, "questions").select(pl.lit(model).alias("model"), pl.all()))
        self._write_study()
        return self._written("evaluation", pl.concat(tables))

    def engine(self) -> Worker | RayEngine:
        """Return who evaluates the population."""
        section = self.section
        if section.engine == "ray":
            return RayEngine(self.recipe, section.workers, section.ray_address, section.gpus_per_worker)
        return Worker(self.recipe)

    @cached_property
    def _questions(self) -> tuple[tuple[Question, ...], tuple[Question, ...]]:
        """Questions to train on and held out; those without an answer are left out of training."""
        section, world = self.section, self.section.model is None
        source = self._beside(small.QUESTIONS if world else section.questions)
        found = tuple(q for q in load_questions(source, section.language) if q.answers)[: section.limit]
        if not found:
            raise StudyError(f"{source}: no question has an accepted answer; there is nothing to train on")
        named = small.HELD_OUT if world else section.held_out
        if named is None:
            return split(found, section.held_out_share, self.seed)
        held_out = tuple(load_questions(self._beside(named), section.language))
        refuse_overlap(held_out, found, named)
        return found, held_out

    def _settings(self) -> Settings:
        given = {name: getattr(self.section, name) for name in Settings.model_fields if name != "seed"}
        given["alpha"] = self.section.alpha or usual_alpha(self.section.reward)
        try:
            return Settings(**given, seed=self.seed)
        except ValueError as error:
            raise StudyError(
                f"{self.study.path.name}: training: {str(error).splitlines()[-2].strip()}"
            ) from None

    def _measured(self, loaded: Any, questions: tuple[Question, ...]) -> Mapping[str, Estimate]:
        return measured(Interview(loaded, questions, self.asking).ask())

    def _tuned(
        self, name: str, base: Path, questions: tuple[Question, ...], tuning: sft.Tuning, done: Progress
    ) -> Path:
        self._need(base, "the model that is trained")
        about = {"base": self._digest(base), "of": digest(questions), "tuning": str(tuning)}
        folder = self._place(name, {**about, "asking": str(self.asking)})
        loaded = open_model(base, self.section.device, self.section.dtype)
        return sft.tune(loaded, questions, self.asking, tuning, folder, done)

    def _place(self, name: str, about: Mapping[str, Any]) -> Path:
        """Return the folder of a step; one that was made under other settings is set aside."""
        folder, text = self.folder / name, json.dumps(about, indent=2) + "\n"
        if folder.is_dir() and not ((folder / _ABOUT).is_file() and (folder / _ABOUT).read_text() == text):
            _set_aside(folder)
        write_text(folder / _ABOUT, text)
        return folder

    def _written(self, name: str, table: pl.DataFrame) -> StepResult:
        with replacing(self.folder / f"{name}.parquet") as temporary:
            table.write_parquet(temporary)
        if name == "patching":
            draw_patching(self.folder / "patching.svg", table)
        d = table.filter(pl.col("measure") == "d_type2").drop_nulls("estimate")
        labels = [name for name in ("model", "questions", "side", "share") if name in d.columns]
        facts: dict[str, int | float | str] = {
            f"d_type2, {', '.join(str(row[label]) for label in labels)}": round(row["estimate"], 4)
            for row in d.iter_rows(named=True)
        }
        return StepResult(sha256_hex(table.write_csv())[:32], facts, table)

    def _write_study(self) -> None:
        """Write a study file with every model as a row, asked the benchmark of this study."""
        own = self.study.benchmarks.get("selfknowledge")
        settings = {} if own is None else own.model_dump(mode="json", exclude_defaults=True)
        for name in settings.keys() & {"wording", "questions"}:
            settings[name] = (
                settings[name]
                if settings[name] == "reference"
                else str(self.study.beside(Path(settings[name])))
            )
        # nothing but its own world is known to the small one
        if self.section.model is None:
            settings = {"dataset": "own", "questions": self._beside(small.HELD_OUT), "idk": False}
        device, dtype = self.section.device.partition(":")[0], self.section.dtype
        # By the threshold a model is held to yes or no: asked freely the small one gives a city as often.
        mode = "choice" if self.section.meta == "threshold" else "auto"
        same = {"provider": "transformers", "device": device, "dtype": dtype, "answer_mode": mode}
        models = [{"name": name, "model": str(folder), **same} for name, folder in self.models().items()]
        study = {"name": f"{self.study.study.name}-trained", "seed": self.seed}
        whole = {"study": study, "benchmarks": {"selfknowledge": settings}, "models": models}
        write_text(self.folder / "study.toml", toml_text(whole))

    def _digest(self, folder: Path) -> str:
        return Weights(trainable(open_model(folder, "cpu", self.section.dtype).model)).digest()

    def _need(self, folder: Path, what: str) -> None:
        if not folder.is_dir():
            raise StudyError(f"{folder}: {what} is not there; run the steps before this one")

    def _beside(self, named: str) -> str:
        if self.section.model is None and named in small.FILES:
            return str(self.world / named)
        return named if named == "sample" else str(self.study.beside(Path(named)))


def _set_aside(folder: Path) -> None:
    number = 1
    while (aside := folder.with_name(f"{folder.name}-{number}")).exists():
        number += 1
    shutil.move(folder, aside)
