"""Simulated respondents for signal detection: observers with known d′, M-ratio and criteria who answer in text.

The model, per item with label s. Evidence x ~ N(-d/2, 1) for S1 and N(+d/2, 1) for S2; the response is S2 when x > c.
Given label and response, confidence is that of the meta-d′ model (Maniscalco & Lau 2014) with meta-d′ m = M-ratio · d
and the criterion at the same relative place, m · c/d = M-ratio · c: evidence y ~ N(∓m/2, 1) on the side of the response,
rated 1 + the number of confidence criteria that lie between it and the criterion. So a fit of meta-d′ to many trials
gives back d, c, m and the criteria.

In the risk conditions c moves by ``risk_shift`` away from the punished answer: down where wrong S1 answers are punished,
up where wrong S2 answers are.

So that items are hard for everybody and repeated runs resemble each other, the noise of x and the place of y each mix
three parts: the item's (variance `COMMON`), the observer's own for that item (`OWN`), and the rest, new in each run and
condition. Over many items the mixture is the plain model; over runs of one item it is not.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from metacog_pipeline.benchmark.seeded_sample import uniforms
from metacog_pipeline.benchmarks.signaldetection.items import S1, S2, Item
from metacog_pipeline.benchmarks.signaldetection.prompts import CONFIDENCE, Wording, load_wording
from metacog_pipeline.files import canonical_json
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, JsonObject, OneOf

COMMON, OWN = 0.35, 0.35
_WEIGHTS = math.sqrt(COMMON), math.sqrt(OWN), math.sqrt(1 - COMMON - OWN)
# Sign of the move of c in each condition, in units of risk_shift.
_SHIFTS: Mapping[str, int] = {"risk_s1": -1, "risk_s2": +1}
_NORMAL = NormalDist()
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


@dataclass(frozen=True, slots=True)
class _State:
    """A decision, a rating from 1, and how they will be worded."""

    decision: int
    rating: int
    refuses: bool = False
    form: int | None = None


class SimulatedRespondent:
    """Answers requests about ``items`` as the observer ``observer`` would.

    Deterministic in the observer, the item, the condition and ``sampling.seed``. It finds item and condition by the
    text of the user message, so it answers the same in process and behind a server; ``wording`` must be the one the
    messages are made with (None: the shipped one). A message it does not know gets decision 0, confidence 1.
    """

    def __init__(self, items: Sequence[Item], observer: ObserverSpec, wording: Wording | None = None) -> None:
        self.observer = observer
        self._ratings = (wording := wording or load_wording()).ratings
        self._heads = [(f'{text}\n\n"', key) for key, text in wording.prompts.items()]
        self._items: dict[tuple[str, str], Item] = {}
        for item in items:
            self._items.setdefault((item.task, item.text), item)

    def knows(self, request: ChatRequest) -> bool:
        """Whether ``request`` is about one of the items."""
        return self._find(request) is not None

    def __call__(self, request: ChatRequest) -> str:
        """Return the text of the answer to ``request``, held to its constraint where it has one."""
        found = self._find(request)
        if found is None:
            state, rated = _State(S1, 1), True
        else:
            item, condition = found
            state, rated = self._state(item, condition, request.sampling.seed), condition == CONFIDENCE
        match request.constraint:
            case JsonObject() as wanted:
                return _json_object(wanted, state)
            case OneOf(options):
                fitting = (str(state.decision), str(state.rating), *options[:1])
                return next((option for option in fitting if option in options), "")
            case _:
                return self._reply(state, rated=rated)

    def _find(self, request: ChatRequest) -> tuple[Item, str] | None:
        """Return the item and the condition of the first user message."""
        text = next((message.content for message in request.messages if message.role == "user"), "")
        for head, (task, condition) in self._heads:
            if text.startswith(head) and text.endswith('"') and len(text) > len(head):
                item = self._items.get((task, text[len(head) : -1]))
                if item is not None:
                    return item, condition
        return None

    def _state(self, item: Item, condition: str, seed: int | None) -> _State:
        spec = self.observer
        key = [item.task, item.text]
        parts = (
            uniforms(canonical_json(key)),
            uniforms(canonical_json([spec.seed, key])),
            uniforms(canonical_json([spec.seed, key, condition, seed])),
        )
        noise, place = (_mixed([part[i] for part in parts]) for i in (0, 1))
        c = spec.criterion + _SHIFTS.get(condition, 0) * spec.risk_shift
        sign = 1 if item.stimulus == S2 else -1
        decision = S2 if sign * spec.d / 2 + noise > c else S1
        beyond = self._beyond(sign, decision, c, _NORMAL.cdf(place))
        rating = 1 + sum(beyond > criterion for criterion in spec.criteria)
        call = parts[2]
        form = int(call[4] * len(FORMS)) if call[3] < spec.untidiness else None
        return _State(decision, min(rating, self._ratings), call[2] < spec.refusal, form)

    def _beyond(self, sign: int, decision: int, c: float, rank: float) -> float:
        """Return how far beyond the criterion y lies on the side of the response.

        ``sign`` is that of the label, ``rank`` the uniform share of the mass on this side that lies further out.
        """
        meta_d = self.observer.m_ratio * self.observer.d
        side = 1 if decision == S2 else -1
        mean = side * (sign * meta_d / 2 - self.observer.m_ratio * c)  # from the criterion outwards
        outside = _NORMAL.cdf(mean) * rank
        return mean - _NORMAL.inv_cdf(min(max(outside, _SMALLEST), 1 - 1e-16))

    def _reply(self, state: _State, *, rated: bool) -> str:
        if state.refuses:
            return REFUSALS[state.rating % len(REFUSALS)]
        if state.form is not None:
            return FORMS[state.form][0 if rated else 1].format(
                decision=state.decision,
                other=1 - state.decision,
                rating=state.rating,
                percent=round(100 * state.rating / self._ratings),
            )
        rating = f',"confidence":{state.rating}' if rated else ""
        return f'{{"decision":"{state.decision}"{rating}}}'


def _json_object(wanted: JsonObject, state: _State) -> str:
    """Return an object with the properties of the schema in its order: decision and rating where they are admitted."""
    held: dict[str, object] = {}
    for name, rule in wanted.properties.items():
        fields: Mapping[str, object] = rule if isinstance(rule, Mapping) else {}
        number, admitted = state.rating if name == "confidence" else state.decision, fields.get("enum")
        held[name] = number if fields.get("type") in ("integer", "number") else str(number)
        if isinstance(admitted, list) and admitted and held[name] not in admitted:
            held[name] = admitted[0]
    return json.dumps(held or {"decision": str(state.decision), "confidence": state.rating})


def _mixed(parts: Sequence[float]) -> float:
    """Return a standard normal made of the three parts of the noise."""
    return sum(weight * _NORMAL.inv_cdf(u) for weight, u in zip(_WEIGHTS, parts, strict=True))
