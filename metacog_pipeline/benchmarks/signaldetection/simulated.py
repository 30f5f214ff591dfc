"""Simulated respondents for signal detection: observers with known d′, M-ratio and criteria who answer in text.

Evidence x ~ N(-d/2, 1) for label S1 and N(+d/2, 1) for S2; the response is S2 when x > c. Given label and response,
confidence is that of the meta-d′ model (Maniscalco & Lau 2014) with meta-d′ m = M-ratio · d and the criterion at the same
relative place, M-ratio · c: evidence y ~ N(∓m/2, 1) on the side of the response, rated 1 + the number of confidence
criteria that lie between it and the criterion. So a fit of meta-d′ to many trials gives back d, c, m and the criteria.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from statistics import NormalDist

from metacog_pipeline.benchmark.item import mixed, uniforms
from metacog_pipeline.benchmarks.signaldetection.items import S1, S2, Item
from metacog_pipeline.benchmarks.signaldetection.prompts import CONFIDENCE, Wording, load_wording
from metacog_pipeline.files import canonical_json
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.llm.types import ChatRequest

# c moves by ``risk_shift`` away from the punished answer: down where wrong S1 answers are punished, up for wrong S2 ones.
_SHIFTS: Mapping[str, int] = {"risk_s1": -1, "risk_s2": +1}
_NORMAL = NormalDist()
# the quantile function takes no 0, which a far tail rounds to
_SMALLEST = 1e-300
# Replies that leave the asked form, (with confidence, without); some can be read. Fields: decision (0 or 1), other (the
# other one), rating (1-K), percent (up to 100).
FORMS = (
    ('```json\n{{\n  "decision": "{decision}",\n  "confidence": {rating}\n}}\n```',
     '```json\n{{"decision": "{decision}"}}\n```'),
    ('{{"decision": {decision}, "confidence": "{rating}"}}', '{{"decision": {decision}}}'),
    ('Here is my judgment: {{"confidence": {rating}, "decision": "{decision}"}}. I hope it helps.',
     'Here is my judgment: {{"decision": "{decision}"}}. I hope it helps.'),
    ('<think>At first {{"decision": "{other}"}} looks right.</think>\n{{"decision":"{decision}","confidence":{rating}}}',
     '<think>At first {{"decision": "{other}"}} looks right.</think>\n{{"decision":"{decision}"}}'),
    ('{{"decision": "{decision}", "confidence": {rating}.0}}', '{{"decision": {decision}.0}}'),
    ('{{"decision":"{decision}"}}', 'Decision: {decision}'),
    ('{{"decision":"{decision}","confidence":"{percent}%"}}', '{decision}'),
    ('{{"decision":"{decision}","confidence":{rating}', '{{"decision":"{decision}"'),
    ("{{'decision': '{decision}', 'confidence': {rating}}}", "{{'decision': '{decision}'}}"),
    ('{{"decision":"{decision}","confidence":{rating}}} or {{"decision":"{other}","confidence":1}}',
     '{{"decision":"{decision}"}} or {{"decision":"{other}"}}'),
    ('It could be either; I lean towards {decision}.', 'It could be either; I lean towards {decision}.'),
    ('', ''),
)  # fmt: skip
REFUSALS = (
    "I'm sorry, but I can't judge that.",
    "I am not able to help with that request.",
    "Sorry. As an assistant I do not take sides.",
)


class SimulatedRespondent:
    """Answers as the observer would. It finds item and condition by the text of the message, made with ``wording``."""

    def __init__(self, items: Sequence[Item], observer: ObserverSpec, wording: Wording | None = None) -> None:
        self.observer = observer
        self._ratings = (wording := wording or load_wording()).ratings
        self._heads = [(f'{text}\n\n"', key) for key, text in wording.prompts.items()]
        self._items: dict[tuple[str, str], Item] = {}
        for item in items:
            self._items.setdefault((item.task, item.text), item)

    def knows(self, request: ChatRequest) -> bool:
        return self._find(request) is not None

    def __call__(self, request: ChatRequest) -> str:
        """Return the text of the answer to ``request``; held to a schema it is never refused or out of form."""
        found = self._find(request)
        if found is None:
            return '{"decision":"0","confidence":1}'
        rated, seed, spec = found[1] == CONFIDENCE, request.sampling.seed, self.observer
        decision, rating, chance = self._arrived(*found, seed)
        if request.constraint is not None:
            return json.dumps({"decision": str(decision)} | ({"confidence": rating} if rated else {}))
        if chance[2] < spec.refusal:
            return REFUSALS[rating % len(REFUSALS)]
        if chance[3] < spec.untidiness:
            form = FORMS[int(chance[4] * len(FORMS))][0 if rated else 1]
            percent = round(100 * rating / self._ratings)
            return form.format(decision=decision, other=1 - decision, rating=rating, percent=percent)
        confidence = f',"confidence":{rating}' if rated else ""
        return f'{{"decision":"{decision}"{confidence}}}'

    def _find(self, request: ChatRequest) -> tuple[Item, str] | None:
        """Return the item and the condition of the first user message."""
        text = next((message.content for message in request.messages if message.role == "user"), "")
        for head, (task, condition) in self._heads:
            if text.startswith(head) and text.endswith('"') and len(text) > len(head):
                item = self._items.get((task, text[len(head) : -1]))
                if item is not None:
                    return item, condition
        return None

    def _arrived(self, item: Item, condition: str, seed: int | None) -> tuple[int, int, tuple[float, ...]]:
        """Return decision, rating, and the call's own random numbers."""
        spec, key = self.observer, [item.task, item.text]
        keys = (key, [spec.seed, key], [spec.seed, key, condition, seed])
        parts = [uniforms(canonical_json(each)) for each in keys]
        noise, place = (mixed(*(part[i] for part in parts)) for i in (0, 1))
        c = spec.criterion + _SHIFTS.get(condition, 0) * spec.risk_shift
        sign = 1 if item.stimulus == S2 else -1
        decision = S2 if sign * spec.d / 2 + noise > c else S1
        beyond = self._beyond(sign, decision, c, _NORMAL.cdf(place))
        rating = 1 + sum(beyond > criterion for criterion in spec.criteria)
        return decision, min(rating, self._ratings), parts[2]

    def _beyond(self, sign: int, decision: int, c: float, rank: float) -> float:
        """Return how far beyond the criterion y lies on the side of the response; ``rank``: the share that lies further."""
        meta_d = self.observer.m_ratio * self.observer.d
        side = 1 if decision == S2 else -1
        # from the criterion outwards
        mean = side * (sign * meta_d / 2 - self.observer.m_ratio * c)
        outside = _NORMAL.cdf(mean) * rank
        return mean - _NORMAL.inv_cdf(min(max(outside, _SMALLEST), 1 - 1e-16))
