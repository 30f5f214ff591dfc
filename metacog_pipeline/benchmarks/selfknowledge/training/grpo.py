"""A policy-gradient baseline: GRPO by the package trl, with the joint reward split over its two questions.

A reply to the direct question earns 1 where it is right; one to the meta question earns 1 where its yes or no agrees
with whether the current model's own greedy answer is right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmarks.selfknowledge.prompts import DIRECT, META
from metacog_pipeline.benchmarks.selfknowledge.read import matches, says_known
from metacog_pipeline.benchmarks.selfknowledge.training.causal import save_model
from metacog_pipeline.benchmarks.selfknowledge.training.interview import Asking, Interview
from metacog_pipeline.benchmarks.selfknowledge.training.questions import Question
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import making_folder
from metacog_pipeline.llm.local.loading import Loaded


def require() -> None:
    """Raise `StudyError` where trl is not installed."""
    if find_spec("trl") is None or find_spec("datasets") is None:
        raise StudyError(
            "grpo_steps: needs the packages trl and datasets; install them, or leave grpo_steps out"
        )


def grpo(
    loaded: Loaded,
    questions: Sequence[Question],
    asking: Asking,
    steps: int,
    seed: int,
    folder: Path,
    done: Callable[[int], None] | None = None,
) -> Path:
    """Train an opened model and return the folder of the tuned one."""
    require()
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl import GRPOTrainer

    if (folder / "model").is_dir():
        return folder / "model"
    interview = Interview(loaded, questions, asking)

    class Told(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if done:
                done(state.global_step)

    data = [
        {"prompt": loaded.tokenizer.decode(interview.prompt(step, k)), "asked": step, "place": k}
        for k in range(len(questions))
        for step in (DIRECT, META)
    ]
    GRPOTrainer(
        model=loaded.model,
        reward_funcs=_reward(interview),
        args=_config(folder / "trl", loaded, asking, steps, seed),
        train_dataset=Dataset.from_list(data),
        processing_class=loaded.tokenizer,
        callbacks=[Told()],
    ).train()
    loaded.model.eval()
    with making_folder(folder / "model") as temporary:
        save_model(loaded, temporary)
    return folder / "model"


def _reward(interview: Interview) -> Callable[..., list[float]]:
    """Return the reward of replies; ``asked`` and ``place`` are columns of the data."""
    model, asking, questions = interview.loaded.model, interview.asking, interview.questions

    def reward(completions: list[str], asked: list[str], place: list[int], **_: Any) -> list[float]:
        model.eval()
        right = dict(zip(place, interview.right(place), strict=True))
        model.train()
        return [
            float(
                matches(text, questions[k].answers, asking.matching)
                if step == DIRECT
                else says_known(text, asking.language, asking.yes_no) == right[k]
            )
            for text, step, k in zip(completions, asked, place, strict=True)
        ]

    return reward


def _config(folder: Path, loaded: Loaded, asking: Asking, steps: int, seed: int) -> Any:
    from trl import GRPOConfig

    return GRPOConfig(
        output_dir=str(folder),
        max_steps=steps,
        per_device_train_batch_size=16,
        num_generations=8,
        max_completion_length=asking.max_tokens,
        seed=seed,
        save_strategy="no",
        report_to=[],
        use_cpu=loaded.device == "cpu",
        disable_tqdm=True,
    )
