"""What a model is found to accept and to do while it is asked: learnt from its replies, kept with the study.

One record per model and address, shared by all benchmarks, judges and roles of a study (see `llm.capabilities`). What only
concerns delivery is told to the model, so that the next call is worded by it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from metacog_pipeline.home import Home
from metacog_pipeline.llm import capabilities, types
from metacog_pipeline.llm.capabilities import BILLS, NOTHING_KNOWN, Capabilities

#: Options that are part of a request, and so of an answer's identity; the others only concern delivery.
SAMPLING = frozenset({"temperature", "seed", "top_logprobs", "stop"})
ANNOUNCED = ("requests_per_minute", "tokens_per_minute")  # limits a provider names in its replies

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Learnt:
    """What is known of one model; ``home`` None keeps nothing. ``trial`` is what calls are worded by while it is tried."""

    model: types.ChatModel | None = None
    home: Home | None = None
    name: str = ""
    asked_as: str = ""
    known: Capabilities = NOTHING_KNOWN
    trial: Capabilities | None = None
    output_tokens: int = 0
    reasoning_tokens: int = 0

    @classmethod
    def of(cls, model: types.ChatModel, home: Home, name: str, asked_as: str) -> Learnt:
        """Return what is kept of ``model``, and tell it."""
        known = capabilities.load(home, name, asked_as) or NOTHING_KNOWN
        learnt = cls(model, home, name, asked_as, known)
        learnt.tell(known)
        return learnt

    def tell(self, known: Capabilities) -> None:
        """Word the next calls by ``known``. What is part of a request stands in the request alone."""
        if self.model is not None and hasattr(self.model, "known"):
            self.model.known = replace(known, refused=known.refused - SAMPLING)

    def attempt(self, known: Capabilities | None) -> None:
        """Word the next calls by what is tried, until it is kept; None: by what is known again."""
        self.trial = known
        self.tell(known or self.known)

    def take(self, known: Capabilities) -> None:
        """Word the next calls by what was found out without a call; a reply decides whether it is kept."""
        self.known = known
        self.attempt(None)

    def keep_found(self, known: Capabilities) -> None:
        """Keep what was found out by trying."""
        self.take(known)
        self.save()

    def observe(self, request: types.ChatRequest, completion: types.Completion) -> None:
        """Learn from a reply; a call without one teaches nothing."""
        if completion.status is types.Status.FAILED:
            return
        known, usage = self.known, completion.usage
        thought = usage.reasoning_tokens or 0
        self.output_tokens += usage.output_tokens or 0
        self.reasoning_tokens += thought
        seen: dict[str, Any] = {
            "reasons": _reasons(known, request, completion),
            "reasoning_tokens": max(thought, known.reasoning_tokens or 0) or known.reasoning_tokens,
            "reasoning_share": _share(self.reasoning_tokens, self.output_tokens, known.reasoning_share),
            "first_reply_s": completion.latency_s if known.first_reply_s is None else known.first_reply_s,
            "service_tier": completion.service_tier or known.service_tier,
        }
        changed = {name: value for name, value in seen.items() if value != getattr(known, name)}
        if not changed:
            return
        self.known = replace(known, **changed)
        if (known.reasons, known.reasoning_tokens) != (self.known.reasons, self.known.reasoning_tokens):
            now = self.known if self.trial is None else self.trial
            self.tell(replace(now, reasons=self.known.reasons, reasoning_tokens=self.known.reasoning_tokens))

    def save(self) -> None:
        """Keep what is known; where it cannot be written it is learnt again by the next session."""
        limits = getattr(self.model, "announced_limits", None)
        if isinstance(limits, Mapping):
            self.known = replace(
                self.known, **{name: limits[name] for name in ANNOUNCED if isinstance(limits.get(name), int)}
            )
        bills = getattr(self.model, "known", self.known)
        self.known = replace(self.known, **{name: getattr(bills, name) for name in BILLS})
        # What an address says of itself, be it in refusals, is nothing known of a model.
        of_address: dict[str, Any] = dict.fromkeys((*ANNOUNCED, "server", "context"))
        if self.home is None or replace(self.known, **of_address) == NOTHING_KNOWN:
            return
        kept = capabilities.load(self.home, self.name, self.asked_as)
        if kept == self.known:
            return
        try:
            capabilities.save(self.home, self.name, self.asked_as, _with_others(self.known, kept))
        except OSError as error:
            _logger.warning("model %s: what was learnt cannot be kept (%s)", self.name, error.strerror)


def _reasons(known: Capabilities, request: types.ChatRequest, completion: types.Completion) -> bool | None:
    """Return whether the model thinks before it answers, as far as its replies tell.

    One reply that thought says yes for good. A whole answer within what an answer may take says no for now, and an empty
    one that the limit cut says yes: something else took its tokens.
    """
    if known.reasons or completion.reasoning_text or completion.usage.reasoning_tokens:
        return True
    whole = completion.status is types.Status.OK and not completion.empty
    if completion.status is types.Status.TRUNCATED and not completion.text.strip():
        return True
    took, may = completion.usage.output_tokens, request.sampling.max_tokens
    if whole and took is not None and may is not None and took <= may:
        return False
    return known.reasons


def _share(reasoning: int, output: int, before: float | None) -> float | None:
    return min(reasoning / output, 1.0) if output else before


def _with_others(known: Capabilities, kept: Capabilities | None) -> Capabilities:
    """Return ``known`` with what another process has kept of the same model meanwhile."""
    if kept is None:
        return known
    most = max(known.reasoning_tokens or 0, kept.reasoning_tokens or 0)
    return replace(
        known,
        refused=known.refused | kept.refused,
        refused_modes=known.refused_modes | kept.refused_modes,
        reasons=known.reasons or kept.reasons,
        reasoning_tokens=most if known.reasoning_tokens is not None else kept.reasoning_tokens,
        overbilled=known.overbilled or kept.overbilled,
        hidden_tokens=max(known.hidden_tokens or 0, kept.hidden_tokens or 0) or None,
        over_limit=max(known.over_limit or 0, kept.over_limit or 0) or None,
        first_reply_s=kept.first_reply_s if kept.first_reply_s is not None else known.first_reply_s,
    )
