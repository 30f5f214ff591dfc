"""Supervised baselines: learn answers, or learn to say yes exactly where the model's own answer is right.

``meta``: for each batch the current model's greedy direct answers say which meta answers are right; the labels follow the
model as it changes. ``answers``: the direct question with one of the accepted answers. AdamW without weight decay, linear
warm-up then linear decay to zero, gradient norm clipped to 1. Weights of 16 bits are trained as float32 and rounded when
they are saved: a step of 2e-5 is lost in bfloat16.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional

from metacog_pipeline.benchmarks.selfknowledge.prompts import DIRECT, META, YES_NO
from metacog_pipeline.benchmarks.selfknowledge.training.causal.generation import filler
from metacog_pipeline.benchmarks.selfknowledge.training.causal.interview import Interview
from metacog_pipeline.benchmarks.selfknowledge.training.seeds import batch, hash64
from metacog_pipeline.errors import MetacogError, StudyError

Kind = Literal["meta", "answers"]
LossOn = Literal["answer", "all"]
_IGNORE = -100
#: Both ends included; a step of AdamW is about as long as the rate.
_ALLOWED = {"steps": (1, 10**9), "batch": (1, 10**6), "rate": (1e-12, 1), "warm_up": (0, 1)}


@dataclass(frozen=True, slots=True)
class Tuning:
    """How a baseline is trained."""

    kind: Kind = "meta"
    # steps, batch: gradient steps, questions of each
    steps: int = 1000
    batch: int = 8
    rate: float = 2e-5  # largest learning rate
    warm_up: float = 0.1  # share of the steps over which the rate rises
    # ``answer``: the target and the end token. ``all``: the prompt too, as in the authors' code
    loss_on: LossOn = "answer"
    seed: int = 42  # of the order of questions and the choice among accepted answers

    def __post_init__(self) -> None:
        for name, (least, most) in _ALLOWED.items():
            if not least <= getattr(self, name) <= most:  # NaN is not
                option = name.replace("_", "-")
                raise StudyError(
                    f"--{option} {getattr(self, name)}: a number from {least:,} to {most:,} needed"
                )


def tune(interview: Interview, tuning: Tuning, done: Callable[[int], None] | None = None) -> list[float]:
    """Train the model of the interview in place and return the loss of each step."""
    model: Any = interview.loaded.model
    kept = model.dtype
    model.float()
    optimiser = torch.optim.AdamW(model.parameters(), lr=tuning.rate, weight_decay=0.0)
    losses: list[float] = []
    for step in range(tuning.steps):
        for group in optimiser.param_groups:
            group["lr"] = tuning.rate * share(step, tuning.steps, tuning.warm_up)
        places = batch(tuning.seed, step, tuning.batch, len(interview.questions)).tolist()
        ids, mask, labels = rows(interview, places, tuning, step)
        model.train()
        scores = model(input_ids=ids, attention_mask=mask, use_cache=False).logits
        loss = functional.cross_entropy(
            scores[:, :-1].flatten(0, 1).float(), labels[:, 1:].flatten(), ignore_index=_IGNORE
        )
        if not torch.isfinite(loss):
            where = f"step {step + 1} of {tuning.steps}"
            raise MetacogError(
                f"{where}: the loss is no finite number; take a smaller --rate than {tuning.rate:g}"
            )
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        model.eval()
        losses.append(float(loss.detach()))
        if done:
            done(step + 1)
    model.to(kept)
    return losses


def share(step: int, steps: int, warm_up: float) -> float:
    """Return the share of the rate in a step (from 0): up linearly over the warm-up, then down to 0 at the end."""
    rising = int(warm_up * steps)
    if step < rising:
        return (step + 1) / rising
    return (steps - step) / max(1, steps - rising)


def rows(
    interview: Interview, places: Sequence[int], tuning: Tuning, step: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return token ids, attention mask and labels of a batch, filled up on the left, ``(batch, longest)`` each."""
    loaded = interview.loaded
    asked = META if tuning.kind == "meta" else DIRECT
    targets = (
        _words(interview, places) if tuning.kind == "meta" else _accepted(interview, places, tuning, step)
    )
    stop = list(loaded.stop_ids[:1])
    prompts = [interview.prompt(asked, place) for place in places]
    answers = [[*loaded.tokenizer(text, add_special_tokens=False)["input_ids"], *stop] for text in targets]
    learnt = [
        [*(prompt if tuning.loss_on == "all" else [_IGNORE] * len(prompt)), *answer]
        for prompt, answer in zip(prompts, answers, strict=True)
    ]
    whole = [[*prompt, *answer] for prompt, answer in zip(prompts, answers, strict=True)]
    longest = max(map(len, whole))

    def filled(lists: Sequence[Sequence[int]], value: int) -> Tensor:
        return torch.tensor(
            [[value] * (longest - len(each)) + list(each) for each in lists], device=loaded.device
        )

    mask = filled([[1] * len(each) for each in whole], 0)
    return filled(whole, filler(loaded)), mask, filled(learnt, _IGNORE)


def _words(interview: Interview, places: Sequence[int]) -> list[str]:
    """Return the meta answer that is right for the model as it is now."""
    yes, no = YES_NO[interview.asking.language]
    return [yes if right else no for right in interview.right(places)]


def _accepted(interview: Interview, places: Sequence[int], tuning: Tuning, step: int) -> list[str]:
    """Return one accepted answer of each question, drawn by seed, step and question."""
    found = []
    for place in places:
        accepted = [text for text in interview.questions[place].answers if text]
        if not accepted:
            raise StudyError(f"question {interview.questions[place].id} has no accepted answer to learn")
        found.append(accepted[hash64(b"alias", tuning.seed, step, place) % len(accepted)])
    return found
