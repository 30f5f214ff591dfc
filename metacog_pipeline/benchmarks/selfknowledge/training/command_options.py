"""Options the training commands share: which model, which questions, how they are asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metacog_pipeline.errors import StudyError

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.interview import Asking
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.questions import Question

Option = Callable[[Any], Any]
FOLDER = click.Path(path_type=Path)
folder_option = click.option(
    "--model", "folder", type=FOLDER, required=True, help="Folder of a causal language model."
)
NEEDED = ("torch", "transformers", "safetensors")


class Number(click.FloatRange):
    """A number of a range; NaN, which is not below or above anything, is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; fail where it is outside or none."""
        found: float = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail(f"{value!r} is not a valid number", param, ctx)
        return found


ASKING = (
    click.option("--language", type=click.Choice(("en", "zh", "ko", "es")), default="en"),
    click.option(
        "--matching",
        type=click.Choice(("inclusion", "normalized_inclusion", "exact_match", "token_boundary")),
        default="inclusion",
        help="When a direct answer is right.",
    ),
    click.option(
        "--yes-no",
        "yes_no",
        type=click.Choice(("default", "reference", "strict")),
        default="default",
        help="How a meta answer is read.",
    ),
    click.option(
        "--meta",
        type=click.Choice(("text", "threshold")),
        default="text",
        help="Read the meta answer as text, or compare the scores of the yes and no tokens.",
    ),
    click.option(
        "--meta-chat/--no-meta-chat",
        default=True,
        help="Put the meta question through the chat template, like the direct one.",
    ),
    click.option("--max-tokens", type=click.IntRange(1), default=32, help="Of an answer."),
    click.option("--rows", type=click.IntRange(1), default=64, help="Prompts at once."),
)
MODEL = (
    click.option("--device", default="cpu", help="cpu, cuda, cuda:1, …"),
    click.option(
        "--dtype",
        type=click.Choice(("auto", "float32", "bfloat16", "float16")),
        default="auto",
        help="Of the weights; auto: as in the folder.",
    ),
    click.option("--threads", type=click.IntRange(1), default=1, help="Of each worker."),
)
QUESTIONS = (
    click.option(
        "--questions",
        required=True,
        help="sample, a study's items (.parquet), or JSON Lines with question and answers.",
    ),
    click.option("--limit", type=click.IntRange(2), help="Take the first so many questions."),
)
HELD_OUT = (
    click.option("--held-out", "held_out", help="Questions to evaluate on, given like --questions."),
    click.option(
        "--held-out-share",
        type=Number(0, 1, min_open=True, max_open=True),
        default=0.3,
        help="Without --held-out: share of the questions kept for evaluation.",
    ),
)


def need_torch() -> None:
    """Say what to install where the extra is missing. Raises StudyError when one of its packages is not there."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise StudyError(
            f"training needs {', '.join(missing)}: install the extra `train`, metacog-pipeline[train]"
        )


def options(*groups: Sequence[Option]) -> Option:
    """Return a decorator that adds groups of options to a command, shown in their order."""
    wanted = [option for group in groups for option in group]

    def add(command: Any) -> Any:
        for option in reversed(wanted):
            command = option(command)
        return command

    return add


def asking_from(given: dict[str, Any]) -> Asking:
    """Take the options `ASKING` out of ``given``."""
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.interview import Asking

    return Asking(**{each.name: given.pop(each.name) for each in fields(Asking)})


def questions_from(
    given: dict[str, Any], language: str, seed: int
) -> tuple[tuple[Question, ...], tuple[Question, ...]]:
    """Take questions to train on and held out from the options; those without an answer are left out of training."""
    from metacog_pipeline.benchmarks.selfknowledge.training.causal import questions

    held_out, share = given.pop("held_out"), given.pop("held_out_share")
    found = tuple(questions.answerable(one_set(given, language)))
    if not found:
        raise StudyError("no question has an accepted answer; there is nothing to train on")
    if held_out is None:
        return questions.split(found, share, seed)
    return found, questions.apart(questions.load_questions(held_out, language), found, held_out)


def one_set(given: dict[str, Any], language: str) -> list[Question]:
    """Take the questions of `QUESTIONS` out of ``given``."""
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.questions import load_questions

    return load_questions(given.pop("questions"), language)[: given.pop("limit")]
