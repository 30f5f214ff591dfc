"""Supervised training: learn answers, or learn to say yes exactly where the model's own answer is right.

``answers``: the direct question with one of its accepted answers; this teaches facts. ``meta``, the published
baseline after Kadavath et al. (2022): for each batch the current model's greedy direct answers say which meta answers
are right, so labels follow the model as it changes. The loss is on the answer and the end token; AdamW without weight
decay, linear warm-up over a tenth of the steps, then linear decay to zero, gradient norm clipped to 1. Weights of 16
bits are trained as float32 and rounded when saved: a step of 2e-5 is lost in bfloat16.

A tenth of the questions is the validation set of ``meta``. Training stops when its loss has not fallen for three
looks in a row, and the weights of the lowest loss are kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional

from metacog_pipeline.benchmarks.selfknowledge.prompts import DIRECT, META, YES_NO
from metacog_pipeline.benchmarks.selfknowledge.training.causal import save_model
from metacog_pipeline.benchmarks.selfknowledge.training.es import batch, hash63
from metacog_pipeline.benchmarks.selfknowledge.training.generation import padded
from metacog_pipeline.benchmarks.selfknowledge.training.interview import Asking, Interview
from metacog_pipeline.benchmarks.selfknowledge.training.questions import Question, split
from metacog_pipeline.errors import MetacogError, StudyError
from metacog_pipeline.files import making_folder, replacing
from metacog_pipeline.llm.local.loading import Loaded

_IGNORE, _WARM_UP = -100, 0.1
STATE, MODEL = "state.pt", "model"


@dataclass(frozen=True, slots=True)
class Tuning:
    """How a model is trained. ``look_every``: steps between looks at the validation set, which are also when state is
    saved."""

    kind: Literal["meta", "answers"]
    steps: int
    batch: int = 8
    rate: float = 2e-5  # the largest
    seed: int = 42
    look_every: int = 500
    patience: int = 3


def tune(
    loaded: Loaded,
    questions: Sequence[Question],
    asking: Asking,
    tuning: Tuning,
    folder: Path,
    done: Callable[[int], None] | None = None,
) -> Path:
    """Train an opened model and return the folder of the tuned one; a training cut short goes on from its last
    state."""
    if not (folder / MODEL).is_dir():
        _Tuner(loaded, questions, asking, tuning, folder / STATE).go(done or (lambda _: None))
        with making_folder(folder / MODEL) as temporary:
            save_model(loaded, temporary)
        (folder / STATE).unlink(missing_ok=True)
    return folder / MODEL


class _Tuner:
    def __init__(
        self, loaded: Loaded, questions: Sequence[Question], asking: Asking, tuning: Tuning, state: Path
    ) -> None:
        self.model: Any = loaded.model
        self.tuning, self.path, self.own_type = tuning, state, loaded.model.dtype
        if empty := [each.id for each in questions if not any(each.answers)]:
            raise StudyError(f"question {empty[0]} has no accepted answer to learn")
        learnt, validation = tuple(questions), tuple[Question, ...]()
        if tuning.kind == "meta":
            learnt, validation = split(questions, 0.1, tuning.seed)
        self.learnt, self.validation = (Interview(loaded, each, asking) for each in (learnt, validation))
        self.model.float()
        self.optimiser = torch.optim.AdamW(self.model.parameters(), lr=tuning.rate, weight_decay=0.0)
        self.losses: list[float] = []
        self.best: dict[str, Tensor] = {}

    def go(self, done: Callable[[int], None]) -> None:
        begin = self._resume()
        for step in range(begin, self.tuning.steps):
            if self._since_best() >= self.tuning.patience:
                break
            self._step(step)
            if (step + 1) % self.tuning.look_every == 0 or step + 1 == self.tuning.steps:
                self._look(step + 1)
            done(step + 1)
        if self.best:
            self.model.load_state_dict(self.best)
        self.model.to(self.own_type).eval()

    def _step(self, step: int) -> None:
        for group in self.optimiser.param_groups:
            group["lr"] = self.tuning.rate * share(step, self.tuning.steps)
        places = batch(self.tuning.seed, step, self.tuning.batch, len(self.learnt.questions))
        targets = self._targets(self.learnt, places, step)
        self.model.train()
        loss = self._loss(self.learnt, places, targets)
        if not torch.isfinite(loss):
            raise MetacogError(
                f"step {step + 1} of {self.tuning.steps}: the loss is no finite number; take a smaller rate than "
                f"{self.tuning.rate:g}"
            )
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.model.eval()

    @torch.no_grad()
    def _look(self, step: int) -> None:
        """Measure the validation loss, keep the best weights, save the state."""
        size = len(self.validation.questions)
        if size:
            parts = [range(k, min(k + self.tuning.batch, size)) for k in range(0, size, self.tuning.batch)]
            sums = [
                len(part)
                * float(self._loss(self.validation, part, self._targets(self.validation, part, step)))
                for part in parts
            ]
            self.losses.append(sum(sums) / size)
            if self._since_best() == 0:
                self.best = {name: each.clone() for name, each in self.model.state_dict().items()}
        state = {"step": step, "losses": self.losses, "best": self.best, "model": self.model.state_dict()}
        with replacing(self.path) as temporary:
            torch.save({**state, "optimiser": self.optimiser.state_dict()}, temporary)

    def _resume(self) -> int:
        if not self.path.is_file():
            return 0
        state = torch.load(self.path, map_location=self.model.device, weights_only=True)
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.losses, self.best = state["losses"], state["best"]
        return int(state["step"])

    def _since_best(self) -> int:
        """Return how many looks ago the validation loss was lowest for the first time."""
        return len(self.losses) - 1 - self.losses.index(min(self.losses)) if self.losses else 0

    def _targets(self, interview: Interview, places: Sequence[int], step: int) -> list[str]:
        if self.tuning.kind == "meta":
            yes, no = YES_NO[interview.asking.language]
            return [yes if right else no for right in interview.right(places)]
        found = []
        for place in places:
            accepted = [text for text in interview.questions[place].answers if text]
            found.append(accepted[hash63(b"alias", self.tuning.seed, step, place) % len(accepted)])
        return found

    def _loss(self, interview: Interview, places: Sequence[int], targets: Sequence[str]) -> Tensor:
        ids, mask, labels = rows(interview, META if self.tuning.kind == "meta" else DIRECT, places, targets)
        scores = self.model(input_ids=ids, attention_mask=mask, use_cache=False).logits
        return functional.cross_entropy(
            scores[:, :-1].flatten(0, 1).float(), labels[:, 1:].flatten(), ignore_index=_IGNORE
        )


def share(step: int, steps: int) -> float:
    """Return the share of the rate in a step (from 0): up linearly over the warm-up, then down to 0 at the end."""
    rising = math.floor(_WARM_UP * steps)
    return (step + 1) / rising if step < rising else (steps - step) / max(1, steps - rising)


def rows(
    interview: Interview, asked: str, places: Sequence[int], targets: Sequence[str]
) -> tuple[Tensor, Tensor, Tensor]:
    """Return token ids, attention mask and labels of a batch, filled up on the left, ``(batch, longest)`` each."""
    loaded = interview.loaded
    end = list(loaded.stop_ids[:1])
    answers = [[*loaded.tokenizer(text, add_special_tokens=False)["input_ids"], *end] for text in targets]
    whole = [
        [*interview.prompt(asked, place), *answer] for place, answer in zip(places, answers, strict=True)
    ]
    ids, mask = padded(loaded, whole)
    labels = torch.full_like(ids, _IGNORE)
    for row, answer in zip(labels, answers, strict=True):
        row[-len(answer) :] = torch.tensor(answer)
    return ids, mask, labels
