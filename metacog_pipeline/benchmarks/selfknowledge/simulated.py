"""Simulated respondents for self-knowledge: observers with known accuracy, type-2 d′ and criterion, who answer in text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Any

from metacog_pipeline.benchmark.item import mixed, uniforms
from metacog_pipeline.benchmarks.selfknowledge import prompts
from metacog_pipeline.benchmarks.selfknowledge.items import Item
from metacog_pipeline.benchmarks.selfknowledge.prompts import ABSTENTIONS, DIRECT, META, PLACE, YES_NO
from metacog_pipeline.benchmarks.selfknowledge.rules import inclusion
from metacog_pipeline.files import canonical_json, read_toml, sha256_hex, shipped
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, OneOf, Status, TokenLogprob

# D is sigmoid(s · evidence), so it passes one half where yes begins and the area under its ROC is Φ(d/√2).
_SHARPNESS = 1.5
# share of what a reply could begin with that is neither yes nor no
_OFF_MENU = 0.02
_NORMAL = NormalDist()
_TRIES = 8  # for a wrong answer that is not right by accident


@cache
def untidy() -> Mapping[str, Any]:
    """Return the ways to leave the asked form, by language."""
    return read_toml(shipped("data", "selfknowledge", "untidy_replies.toml"))


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a request is about, what the observer arrived at, and how it will word it."""

    item: Item
    language: str
    step: str
    right: bool
    beyond: float  # evidence beyond the criterion: above 0 it says yes
    refuses: bool
    untidy: bool
    form: float  # picks one of several wordings

    def one(self, forms: Sequence[str]) -> str:
        """Return one of several wordings."""
        return forms[int(self.form * len(forms))]


class SimulatedRespondent:
    """Answers requests about ``items`` as ``observer`` would; ``wording`` is the one their messages are made with."""

    def __init__(self, items: Sequence[Item], observer: ObserverSpec, wording: prompts.Wording) -> None:
        self.observer = observer
        self._known: dict[str, tuple[Item, str, str]] = {}
        self._answers: dict[str, list[str]] = {}
        for item in items:
            for language, question in item.questions:
                self._answers.setdefault(language, []).extend(item.accepted(language)[:1])
                for step in (each for code, each in wording.templates if code == language):
                    text = wording.template(language, step).replace(PLACE, question)
                    self._known.setdefault(text, (item, language, step))

    def knows(self, request: ChatRequest) -> bool:
        """Whether ``request`` is about one of the items."""
        return self._find(request) is not None

    def __call__(self, request: ChatRequest) -> str | Completion:
        """Return the answer to ``request``, with log-probabilities where a meta step asks for them."""
        found = self._find(request)
        if found is None:
            return ABSTENTIONS["en"]
        asked = self._arrived(*found, request.sampling.seed)
        if isinstance(request.constraint, OneOf):
            wanted, options = YES_NO[asked.language][0 if asked.beyond > 0 else 1], request.constraint.options
            text = wanted if wanted in options else next(iter(options), "")
        else:
            text = self._reply(asked)
        if asked.step != META or request.sampling.top_logprobs is None:
            return text
        return Completion(Status.OK, text, finish_reason="stop", logprobs=_logprobs(text, asked))

    def _find(self, request: ChatRequest) -> tuple[Item, str, str] | None:
        """Return item, language and step of the first user message."""
        text = next((message.content for message in request.messages if message.role == "user"), "")
        return self._known.get(text)

    def _arrived(self, item: Item, language: str, step: str, seed: int | None) -> _Asked:
        spec, key = self.observer, item.item_id
        # Whether it knows is one thing in all steps of a run; how that feels is new in each.
        mine = [spec.seed, key, language, seed]
        parts = ([key], mine[:2], mine, [*mine, step])
        common, own, knowing, call = (uniforms(canonical_json(each)) for each in parts)
        share = spec.accuracy * (1.0 if language == "en" else 1.0 - spec.language_gap)
        right = bool(item.accepted(language)) and _NORMAL.cdf(mixed(common[0], own[0], knowing[0])) < share
        evidence = (spec.d_type2 if right else -spec.d_type2) / 2 + mixed(common[1], own[1], call[1])
        how = (evidence + spec.yes_bias, call[2] < spec.refusal, call[3] < spec.untidiness, call[4])
        return _Asked(item, language, step, right, *how)

    def _reply(self, asked: _Asked) -> str:
        yes, words = asked.beyond > 0, untidy()[asked.language]
        if asked.refuses:
            return str(words["refusal"])
        if asked.step == META:
            forms = words["yes" if yes else "no"]
            tidy = YES_NO[asked.language][0 if yes else 1]
            return asked.one((*forms, *forms, *words["neither"])) if asked.untidy else tidy
        if asked.step != DIRECT and not yes:
            return asked.one(words["abstains"]) if asked.untidy else ABSTENTIONS[asked.language]
        answer = asked.item.accepted(asked.language)[0] if asked.right else self._wrong(asked)
        return asked.one(untidy()["answers"]).format(answer=answer) if asked.untidy else answer

    def _wrong(self, asked: _Asked) -> str:
        """Return the answer of another question which is not accepted here."""
        others = self._answers[asked.language]
        start = int(sha256_hex(canonical_json([self.observer.seed, asked.item.item_id, DIRECT])), 16)
        tried = (others[place % len(others)] for place in range(start, start + min(_TRIES, len(others))))
        accepted = asked.item.accepted(asked.language)
        return next((each for each in tried if each.strip() and not inclusion(each, accepted)), "?")


def _logprobs(text: str, asked: _Asked) -> tuple[TokenLogprob, ...]:
    """Return the log-probabilities of what comes before a reply's yes or no, that word, what comes after; or none."""
    menu = YES_NO[asked.language]
    said = menu[0 if asked.beyond > 0 else 1]
    before, found, after = text.rpartition("</think>")
    start = after.casefold().find(said.casefold())
    if start < 0:
        return ()
    before += found + after[:start]
    word, rest = after[start : start + len(said)], after[start + len(said) :]
    x = _SHARPNESS * asked.beyond
    logs = tuple(math.log1p(-_OFF_MENU) - _softplus(each) for each in (-x, x))
    listed = sorted(zip(menu, logs, strict=True), key=lambda pair: -pair[1])
    top = tuple((word if token == said else token, value) for token, value in listed)
    one = TokenLogprob(word, top[0][1], top)
    return tuple(TokenLogprob(x, -0.01) if isinstance(x, str) else x for x in (before, one, rest) if x)


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))
