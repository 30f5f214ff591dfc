"""A simulated respondent of known accuracy whose confidence follows being right as far as its metacognition goes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from metacog_pipeline.benchmark.item import uniforms
from metacog_pipeline.benchmarks.questions import prompts
from metacog_pipeline.benchmarks.questions.items import LETTERS
from metacog_pipeline.interchange.question import Question
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, Status, TokenLogprob


class SimulatedRespondent:
    """Finds question and way of asking by the text of the message. Deterministic in observer, question and seed."""

    def __init__(self, items: Sequence[Question], observer: ObserverSpec, words: prompts.Words) -> None:
        self._items, self._observer, self._words = {item.stem: item for item in items}, observer, words

    def knows(self, request: ChatRequest) -> bool:
        return self._find(request) is not None

    def _find(self, request: ChatRequest) -> Question | None:
        text = next((each.content for each in request.messages if each.role == "user"), "")
        return self._items.get(text.rpartition("\n\n")[0])

    def __call__(self, request: ChatRequest) -> str | Completion:
        """Return the answer to ``request``."""
        item, about = self._find(request), self._observer
        if item is None:
            return "Answer: unknown"
        draw = uniforms(f"{about.seed} {item.item_id}")
        own = uniforms(f"{request.sampling.seed} {item.item_id} {about.seed}")
        right = draw[0] < about.accuracy
        sure = 0.5 + about.metacognition * (0.35 if right else -0.35) * draw[1] + (draw[2] - 0.5) * 0.5
        sure = min(max(sure + about.overconfidence * (1 - sure) * 0.6, 0.02), 0.98)
        way = self._way(item, request.messages[-1].content)
        if way == prompts.P_TRUE:
            return _told("yes" if sure > 0.5 else "no", {"yes": sure, "no": 1 - sure})
        if own[3] < about.refusal:
            return Completion(Status.REFUSED, "I would rather not say.", finish_reason="content_filter")
        # Of samples as many agree as the respondent is sure: their share is its confidence.
        sampled = request.sampling.temperature is None and way == "answer_only"
        said = _answer(item, right and (not sampled or own[4] < sure), own[5])
        line = f"I would say **{said}**." if own[6] < about.untidiness else f"Answer: {said}"
        if way == "choice_logprob":
            others = [letter for letter in LETTERS[: len(item.options)] if letter != said]
            return _told(said, {said: sure, **{letter: (1 - sure) / len(others) for letter in others}})
        if way == "abstain_allowed" and sure <= 0.45:
            return "Answer: unknown"
        return f"{line}\nConfidence: {round(100 * sure)}%" if way == "verbal_percent" else line

    def _way(self, item: Question, text: str) -> str:
        """Return the condition whose words ``text`` ends with."""
        if text.endswith(self._words[prompts.P_TRUE].partition("{said}")[2]):
            return prompts.P_TRUE
        return next((name for name in self._words if prompts.first(item, name, self._words) == text), "")


def _answer(item: Question, right: bool, luck: float) -> str:
    if right or not item.answer:
        return item.answer or "unknown"
    if item.kind == "number":
        return f"{float(item.answer) + 1 + 2 * item.tolerance + int(3 * luck):g}"
    others = [letter for letter in LETTERS[: len(item.options)] if letter != item.answer]
    return others[int(luck * len(others))] if others else ("no idea", "nothing", "nobody")[int(3 * luck)]


def _told(said: str, chances: dict[str, float]) -> Completion:
    top = tuple((word, math.log(value)) for word, value in chances.items())
    logs = (TokenLogprob(said, math.log(chances[said]), top),)
    return Completion(Status.OK, said, finish_reason="stop", logprobs=logs)
