"""Both questions put to a model: the answer itself, and, in a context of its own, whether it knows it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import torch

from metacog_pipeline.benchmarks.selfknowledge.prompts import DIRECT, META, PLACE, YES_NO, load_wording
from metacog_pipeline.benchmarks.selfknowledge.read import matches, says_known
from metacog_pipeline.benchmarks.selfknowledge.settings import Rule, YesNoRule
from metacog_pipeline.benchmarks.selfknowledge.training import figures, generation
from metacog_pipeline.benchmarks.selfknowledge.training.questions import Question
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import Counts, outcome
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.local.generation import prompt_ids
from metacog_pipeline.llm.local.loading import Loaded
from metacog_pipeline.llm.types import ChatRequest, Message, Sampling
from metacog_pipeline.stats.auroc import auroc
from metacog_pipeline.stats.estimate import Estimate

Answering = Callable[[Loaded, Sequence[generation.Tokens], int, int], list[str]]
Language = Literal["en", "zh", "ko", "es"]


@dataclass(frozen=True, slots=True)
class Asking:
    """How a model is asked and read.

    ``matching`` and ``yes_no`` are rules of the self-knowledge benchmark; a meta answer that says neither counts as no.
    ``meta = "threshold"`` takes yes where the score of the yes word after the prompt is above that of the no word:
    one pass, no generation. ``meta_chat`` off sends the meta prompt without the chat template, as the authors' code
    does.
    """

    language: Language = "en"
    matching: Rule = "inclusion"
    yes_no: YesNoRule = "default"
    meta: Literal["text", "threshold"] = "text"
    meta_chat: bool = True
    max_tokens: int = 32  # of an answer
    rows: int = 64  # prompts at once


class Heard(NamedTuple):
    """One question answered. ``certainty`` is D = sigmoid(score of yes - score of no), where it was asked for."""

    direct: str
    meta: str
    correct: bool
    yes: bool
    # whether the meta answer says yes or no at all
    valid: bool = True
    certainty: float | None = None


class Interview:
    """Asks a model about a fixed list of questions; prompts are made once."""

    def __init__(
        self,
        loaded: Loaded,
        questions: Sequence[Question],
        asking: Asking | None = None,
        generate: Answering = generation.answers,
    ) -> None:
        self.loaded, self.questions, self.asking = loaded, tuple(questions), asking or Asking()
        self._generate, self._wording = generate, load_wording()
        self._plain = replace(loaded, tokenizer=_without_template(loaded))
        self._prompts: dict[tuple[str, int], list[int]] = {}
        self._tokens = (
            yes_no_tokens(loaded, self.asking.language) if self.asking.meta == "threshold" else None
        )

    def counts(self, positions: Sequence[int]) -> Counts:
        """Return the counts over the questions at ``positions``."""
        heard = self.ask(positions)
        return outcome(*([getattr(each, name) for each in heard] for name in ("correct", "yes", "valid")))

    @torch.no_grad()
    def ask(self, positions: Sequence[int] | None = None) -> list[Heard]:
        """Return what was heard; about all questions without ``positions``."""
        places = range(len(self.questions)) if positions is None else positions
        if not len(places):
            return []
        direct = self._answers(DIRECT, places)
        if self._tokens is None:
            return [
                self._read(*each) for each in zip(places, direct, self._answers(META, places), strict=True)
            ]
        prompts = [self.prompt(META, place) for place in places]
        scores = generation.next_scores(self.loaded, prompts, self._tokens, self.asking.rows)
        leads = (scores[:, 0] - scores[:, 1]).sigmoid().tolist()
        return [
            Heard(said, "yes" if sure > 0.5 else "no", self._right(place, said), sure > 0.5, True, sure)
            for place, said, sure in zip(places, direct, leads, strict=True)
        ]

    @torch.no_grad()
    def right(self, positions: Sequence[int]) -> list[bool]:
        """Return whether the direct answers are right; no meta question is asked."""
        said = self._answers(DIRECT, positions)
        return [self._right(place, text) for place, text in zip(positions, said, strict=True)]

    def prompt(self, step: str, place: int) -> list[int]:
        """Return the tokens of a step of the question at ``place``."""
        if (step, place) not in self._prompts:
            question = self.questions[place]
            text = self._wording.template(self.asking.language, step).replace(PLACE, question.text)
            asked = self._plain if step == META and not self.asking.meta_chat else self.loaded
            found = prompt_ids(asked, ChatRequest((Message("user", text),), Sampling()))
            context = self.loaded.context or 1 << 30
            if len(found) + self.asking.max_tokens > context:
                raise StudyError(
                    f"question {question.id}: the prompt has {len(found)} tokens and leaves no room for "
                    f"{self.asking.max_tokens} more in the {context} this model takes"
                )
            self._prompts[step, place] = found
        return self._prompts[step, place]

    def _answers(self, step: str, places: Sequence[int]) -> list[str]:
        prompts = [self.prompt(step, place) for place in places]
        return self._generate(self.loaded, prompts, self.asking.max_tokens, self.asking.rows)

    def _right(self, place: int, said: str) -> bool:
        return matches(said, self.questions[place].answers, self.asking.matching)

    def _read(self, place: int, direct: str, meta: str) -> Heard:
        said = says_known(meta, self.asking.language, self.asking.yes_no)
        return Heard(direct, meta, self._right(place, direct), said == 1, said is not None)


def measured(heard: Sequence[Heard]) -> dict[str, Estimate]:
    """Return d'type2 (log-linear), the area under the type-2 ROC of D where it was asked for, and the shares."""
    right = [each.correct for each in heard]
    found = figures.estimates(outcome(right, [each.yes for each in heard]))
    sure = [each.certainty for each in heard if each.certainty is not None]
    if sure and len(sure) == len(heard):
        found["auroc2"] = auroc(np.array(sure), np.array(right, dtype=np.int64))
    return found


def yes_no_tokens(loaded: Loaded, language: str) -> tuple[int, int]:
    """Return the single tokens of the yes and the no word."""
    yes, no = (loaded.tokenizer(word, add_special_tokens=False)["input_ids"] for word in YES_NO[language])
    for word, tokens in zip(YES_NO[language], (yes, no), strict=True):
        if len(tokens) != 1:
            raise StudyError(
                f'"{word}" is {len(tokens)} tokens for this model, not one: certainty cannot be read from one '
                'place; use meta = "text"'
            )
    return int(yes[0]), int(no[0])


def _without_template(loaded: Loaded) -> object:
    plain = copy.copy(loaded.tokenizer)
    plain.chat_template = None
    return plain
