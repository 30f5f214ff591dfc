"""Both questions put to a model: the answer itself, and, in a context of its own, whether it knows it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from metacog_pipeline.benchmarks.selfknowledge.prompts import (
    DIRECT,
    IDK,
    META,
    YES_NO,
    Wording,
    load_wording,
)
from metacog_pipeline.benchmarks.selfknowledge.read import abstains, matches, says_known
from metacog_pipeline.benchmarks.selfknowledge.rules import Rule, YesNoRule
from metacog_pipeline.benchmarks.selfknowledge.training.causal import generation
from metacog_pipeline.benchmarks.selfknowledge.training.causal.opening import context_of, yes_no_tokens
from metacog_pipeline.benchmarks.selfknowledge.training.causal.questions import Question
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.local.generation import prompt_ids
from metacog_pipeline.llm.local.loading import Loaded
from metacog_pipeline.llm.types import ChatRequest, Message, Sampling

MetaRule = Literal["text", "threshold"]
Answering = Callable[[Loaded, Sequence[generation.Tokens], int, int], list[str]]


@dataclass(frozen=True, slots=True)
class Asking:
    """How a model is asked and read."""

    language: str = "en"  # ``en``, ``zh``, ``ko`` or ``es``
    # matching, yes_no: rules of the self-knowledge benchmark. A meta answer that says neither counts as no
    matching: Rule = "inclusion"
    yes_no: YesNoRule = "default"
    # ``text``: the meta answer is generated and read. ``threshold``: yes where the score of the yes word is above
    # that of the no word after the prompt; one pass, no generation
    meta: MetaRule = "text"
    # whether the meta prompt goes through the chat template like the direct one; off, it is sent as plain text, as by
    # the authors' code
    meta_chat: bool = True
    max_tokens: int = 32  # of an answer
    rows: int = 64  # prompts at once

    def __post_init__(self) -> None:
        if self.language not in YES_NO:
            raise StudyError(f'language "{self.language}" is none of {", ".join(YES_NO)}')
        if self.max_tokens < 1 or self.rows < 1:
            raise StudyError("max_tokens and rows must be 1 or more")


@dataclass(frozen=True, slots=True)
class Heard:
    """One question answered.

    ``certainty`` is D = sigmoid(score of yes - score of no), where it was asked for; ``valid`` whether the meta answer says
    yes or no at all.
    """

    direct: str
    meta: str
    correct: bool
    yes: bool
    valid: bool = True
    certainty: float | None = None


class Interview:
    """Asks a model about a fixed list of questions; prompts are made once.

    Raises StudyError when a prompt leaves no room for an answer, or the threshold rule finds no tokens.
    """

    def __init__(
        self,
        loaded: Loaded,
        questions: Sequence[Question],
        asking: Asking | None = None,
        wording: Wording | None = None,
        answers: Answering = generation.answers,
    ) -> None:
        self._generate = answers
        self.loaded, self.questions, self.asking = loaded, tuple(questions), asking or Asking()
        self._wording = wording or load_wording()
        self._plain = replace(loaded, tokenizer=_without_template(loaded))
        self._prompts: dict[tuple[str, int], list[int]] = {}
        self._tokens = self._words() if self.asking.meta == "threshold" else None

    def __call__(self, model: nn.Module, positions: Sequence[int]) -> tuple[NDArray[np.bool_], ...]:
        """Return (correct, yes, readable) of the questions at ``positions``; ``model`` is the one of the interview."""
        heard = self.ask(positions)
        return tuple(
            np.array([getattr(each, name) for each in heard], dtype=bool)
            for name in ("correct", "yes", "valid")
        )

    @torch.no_grad()
    def ask(self, positions: Sequence[int] | None = None, *, certainty: bool = False) -> list[Heard]:
        """Return what was heard; about all questions without ``positions``."""
        places = range(len(self.questions)) if positions is None else positions
        if not len(places):
            return []
        direct = self._answers(DIRECT, places)
        meta = [""] * len(direct) if self._tokens else self._answers(META, places)
        lead: list[float | None] = [None] * len(direct)
        if self._tokens or certainty:
            lead = [*self._lead(places)]
        return [
            self._heard(self.questions[place], *said)
            for place, said in zip(places, zip(direct, meta, lead, strict=True), strict=True)
        ]

    @torch.no_grad()
    def right(self, positions: Sequence[int]) -> list[bool]:
        """Return whether the direct answers are right; no meta question is asked."""
        said = self._answers(DIRECT, positions)
        return [
            matches(text, self.questions[place].answers, self.asking.matching)
            for place, text in zip(positions, said, strict=True)
        ]

    @torch.no_grad()
    def ask_idk(self) -> list[Heard]:
        """Return what was heard where "I don't know" is offered: ``yes`` means that an answer was given (English only)."""
        places = range(len(self.questions))
        return [
            Heard(
                said,
                "no" if abstained else "yes",
                matches(said, question.answers, self.asking.matching),
                not abstained,
            )
            for question, said in zip(self.questions, self._answers(IDK, places), strict=True)
            for abstained in (abstains(said, question.answers, self.asking.yes_no),)
        ]

    def prompt(self, step: str, place: int) -> list[int]:
        """Return the tokens of a step of the question at ``place``."""
        if (step, place) not in self._prompts:
            text = self._wording.text(self.questions[place].text, self.asking.language, step)
            asked = self._plain if step == META and not self.asking.meta_chat else self.loaded
            found = prompt_ids(asked, ChatRequest((Message("user", text),), Sampling()))
            if len(found) + self.asking.max_tokens > context_of(self.loaded):
                raise StudyError(
                    f"question {self.questions[place].id}: the prompt has {len(found)} tokens and leaves no room for "
                    f"{self.asking.max_tokens} more in the {context_of(self.loaded)} this model takes"
                )
            self._prompts[step, place] = found
        return self._prompts[step, place]

    def _answers(self, step: str, places: Sequence[int]) -> list[str]:
        prompts = [self.prompt(step, place) for place in places]
        return self._generate(self.loaded, prompts, self.asking.max_tokens, self.asking.rows)

    def _lead(self, places: Sequence[int]) -> list[float]:
        prompts = [self.prompt(META, place) for place in places]
        scores = generation.next_scores(self.loaded, prompts, self._tokens or self._words(), self.asking.rows)
        lead: list[float] = (scores[:, 0] - scores[:, 1]).tolist()
        return lead

    def _words(self) -> tuple[int, int]:
        return yes_no_tokens(self.loaded, YES_NO[self.asking.language])

    def _heard(self, question: Question, direct: str, meta: str, lead: float | None) -> Heard:
        right = matches(direct, question.answers, self.asking.matching)
        sure = None if lead is None else float(torch.sigmoid(torch.tensor(lead)))
        if self._tokens:
            assert lead is not None
            return Heard(direct, "yes" if lead > 0 else "no", right, lead > 0, certainty=sure)
        said = says_known(meta, self.asking.language, self.asking.yes_no)
        return Heard(direct, meta, right, said == 1, said is not None, sure)


def _without_template(loaded: Loaded) -> object:
    plain = copy.copy(loaded.tokenizer)
    plain.chat_template = None
    return plain
