"""Simulated respondents for self-knowledge: observers with known accuracy, d′ of type 2 and criterion, who answer in text.

The model, per question and language. The answer is right with probability ``accuracy``, less by ``language_gap`` in
languages other than English; never where no answer is accepted. Asked whether it knows, the observer feels evidence
x ~ N(+d/2, 1) if its answer is right and N(-d/2, 1) if it is wrong, d = ``d_type2``, and says yes when x > -``yes_bias``.
So hit rate and false-alarm rate lie d apart in z, and log-probabilities, where asked for, give
D = sigmoid(s(x + yes_bias)), which passes one half where yes begins; the area under its ROC is Φ(d/√2). With leave to
abstain it answers when it would say yes.

So that questions are hard for everybody and repeated runs resemble each other, knowledge and evidence each mix three parts:
the question's (variance `COMMON`), the observer's own for it (`OWN`), and the rest, new in each run and step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from metacog_pipeline.benchmark.seeded_sample import uniforms
from metacog_pipeline.benchmarks.selfknowledge import untidy_replies
from metacog_pipeline.benchmarks.selfknowledge.items import Item
from metacog_pipeline.benchmarks.selfknowledge.prompts import (
    ABSTENTIONS,
    DIRECT,
    IDK,
    META,
    PLACE,
    YES_NO,
    Wording,
    load_wording,
)
from metacog_pipeline.benchmarks.selfknowledge.rules import inclusion
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, OneOf, Status, TokenLogprob

COMMON, OWN = 0.35, 0.35
_WEIGHTS = math.sqrt(COMMON), math.sqrt(OWN), math.sqrt(1 - COMMON - OWN)
_SHARPNESS = 1.5  # of D, per standard deviation of the evidence
_OFF_MENU = 0.02  # share of what a reply could begin with that is neither yes nor no
_NORMAL = NormalDist()
_TRIES = 8  # for a wrong answer that is not right by accident


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a request is about."""

    item: Item
    language: str
    step: str


@dataclass(frozen=True, slots=True)
class _State:
    """What the observer arrived at, and how it will word it: ``right``, evidence beyond its criterion, odds and ends."""

    right: bool
    beyond: float
    refuses: bool
    untidy: bool
    form: float


class SimulatedRespondent:
    """Answers requests about ``items`` as the observer ``observer`` would.

    Deterministic in the observer, the question, the step and ``sampling.seed``. It finds question and step by the text of
    the user message, so it answers the same in process and behind a server; ``wording`` must be the one the messages are
    made with (None: the shipped one). A message it does not know gets "I don't know".
    """

    def __init__(self, items: Sequence[Item], observer: ObserverSpec, wording: Wording | None = None) -> None:
        self.observer = observer
        templates = (wording or load_wording()).templates
        self._frames = [(*text.split(PLACE), *key) for key, text in templates.items()]
        self._items: dict[tuple[str, str], Item] = {}
        self._answers: dict[str, list[str]] = {}
        for item in items:
            for language, question in item.questions:
                self._items.setdefault((language, question), item)
                self._answers.setdefault(language, []).extend(item.accepted(language)[:1])

    def knows(self, request: ChatRequest) -> bool:
        """Whether ``request`` is about one of the items."""
        return self._find(request) is not None

    def __call__(self, request: ChatRequest) -> str | Completion:
        """Return the answer to ``request``, with log-probabilities where a meta step asks for them."""
        asked = self._find(request)
        if asked is None:
            return ABSTENTIONS["en"]
        state = self._state(asked, request.sampling.seed)
        if isinstance(request.constraint, OneOf):
            text = _one_of(request.constraint.options, asked, state)
        else:
            text = self._reply(asked, state)
        if asked.step != META or request.sampling.top_logprobs is None:
            return text
        return Completion(
            Status.OK, text, finish_reason="stop", logprobs=_logprobs(text, asked.language, state)
        )

    def _find(self, request: ChatRequest) -> _Asked | None:
        """Return question and step of the first user message."""
        text = next((message.content for message in request.messages if message.role == "user"), "")
        for head, tail, language, step in self._frames:
            if text.startswith(head) and text.endswith(tail) and len(text) >= len(head) + len(tail):
                item = self._items.get((language, text[len(head) : len(text) - len(tail)]))
                if item is not None:
                    return _Asked(item, language, step)
        return None

    def _state(self, asked: _Asked, seed: int | None) -> _State:
        spec = self.observer
        key = asked.item.item_id
        common, own = uniforms(canonical_json([key])), uniforms(canonical_json([spec.seed, key]))
        # Whether it knows is one thing in all steps of a run; how that feels is new in each.
        knowing = uniforms(canonical_json([spec.seed, key, asked.language, seed]))
        call = uniforms(canonical_json([spec.seed, key, asked.language, seed, asked.step]))
        share = spec.accuracy * (1.0 if asked.language == "en" else 1.0 - spec.language_gap)
        right = (
            asked.item.answerable(asked.language)
            and _NORMAL.cdf(_mixed(common[0], own[0], knowing[0])) < share
        )
        evidence = (spec.d_type2 if right else -spec.d_type2) / 2 + _mixed(common[1], own[1], call[1])
        return _State(
            right, evidence + spec.yes_bias, call[2] < spec.refusal, call[3] < spec.untidiness, call[4]
        )

    def _reply(self, asked: _Asked, state: _State) -> str:
        if state.refuses:
            return untidy_replies.REFUSALS[asked.language]
        if asked.step == META:
            return _meta_reply(asked.language, state)
        if asked.step == IDK and state.beyond <= 0:
            untidy = untidy_replies.ABSTENTIONS[asked.language]
            return _one(untidy, state.form) if state.untidy else ABSTENTIONS[asked.language]
        answer = self._answer(asked, state)
        return _one(untidy_replies.ANSWERS, state.form).format(answer=answer) if state.untidy else answer

    def _answer(self, asked: _Asked, state: _State) -> str:
        """Return the first accepted answer, or that of another question which is not accepted here."""
        accepted = asked.item.accepted(asked.language)
        if state.right:
            return accepted[0]
        others = self._answers[asked.language]
        start = int(sha256_hex(canonical_json([self.observer.seed, asked.item.item_id, DIRECT])), 16)
        for place in range(start, start + min(_TRIES, len(others))):
            other = others[place % len(others)]
            if other.strip() and not inclusion(other, accepted):
                return other
        return "?"


def _meta_reply(language: str, state: _State) -> str:
    yes = state.beyond > 0
    if not state.untidy:
        return YES_NO[language][0 if yes else 1]
    forms = (untidy_replies.YES if yes else untidy_replies.NO)[language]
    return _one((*forms, *forms, *untidy_replies.NEITHER[language]), state.form)


def _one_of(options: Sequence[str], asked: _Asked, state: _State) -> str:
    """Return the option that is the yes or the no word, else the first."""
    wanted = YES_NO[asked.language][0 if state.beyond > 0 else 1]
    return wanted if wanted in options else next(iter(options), "")


def _logprobs(text: str, language: str, state: _State) -> tuple[TokenLogprob, ...]:
    """Return the log-probabilities of ``text`` in tokens: what comes before its yes or no, that word, what comes after.

    None for a text without the word.
    """
    menu = YES_NO[language]
    said = menu[0 if state.beyond > 0 else 1]
    before, found, after = text.rpartition("</think>")
    start = after.casefold().find(said.casefold())
    if start < 0:
        return ()
    before += found + after[:start]
    word, rest = after[start : start + len(said)], after[start + len(said) :]
    x = _SHARPNESS * state.beyond
    logs = (-_softplus(-x) + math.log1p(-_OFF_MENU), -_softplus(x) + math.log1p(-_OFF_MENU))
    own = logs[0 if state.beyond > 0 else 1]
    listed = sorted(zip(menu, logs, strict=True), key=lambda pair: -pair[1])
    top = tuple((word if token == said else token, value) for token, value in listed)
    tokens = [TokenLogprob(word, own, top)]
    if before:
        tokens.insert(0, TokenLogprob(before, -0.01))
    if rest:
        tokens.append(TokenLogprob(rest, -0.01))
    return tuple(tokens)


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def _one(forms: Sequence[str], place: float) -> str:
    return forms[int(place * len(forms))]


def _mixed(*parts: float) -> float:
    """Return a standard normal made of the three parts of the noise."""
    return sum(weight * _NORMAL.inv_cdf(u) for weight, u in zip(_WEIGHTS, parts, strict=True))
