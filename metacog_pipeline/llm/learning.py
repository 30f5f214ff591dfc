"""What a model's replies teach of it, kept with the study and shared by all its benchmarks, judges and roles.

One record per model and address (see `llm.capabilities`). What only concerns delivery is given to the model, so that the
next call is worded by it; what is part of a request stands in the request alone.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any

from metacog_pipeline.home import Home
from metacog_pipeline.llm import capabilities, types
from metacog_pipeline.llm.capabilities import BILLS, NOT_SENT, NOTHING_KNOWN, Capabilities

#: Options that are part of a request, and so of an answer's identity; the others concern delivery.
SAMPLING = frozenset(NOT_SENT)

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Learnt:
    """What is known of one model; ``home`` None keeps nothing. ``trial`` is what calls are worded by while it is tried."""

    model: types.ChatModel | None = None
    home: Home | None = None
    name: str = ""
    request_digest: str = ""
    known: Capabilities = NOTHING_KNOWN
    trial: Capabilities | None = None

    @classmethod
    def of(cls, model: types.ChatModel, home: Home, name: str, request_digest: str) -> Learnt:
        """Return what is kept of ``model``, which words its calls by it from now on."""
        learnt = cls(model, home, name, request_digest)
        learnt.take(capabilities.load(home, name, request_digest) or NOTHING_KNOWN)
        return learnt

    def attempt(self, known: Capabilities | None) -> None:
        """Word the next calls by what is tried, until it is kept; None: by what is known again."""
        self.trial = known
        wording = known or self.known
        if self.model is not None and hasattr(self.model, "known"):
            self.model.known = replace(wording, refused=wording.refused - SAMPLING)

    def take(self, known: Capabilities) -> None:
        """Word the next calls by what was found out."""
        self.known = known
        self.attempt(None)

    def observe(self, request: types.ChatRequest, completion: types.Completion) -> None:
        """Learn from a reply; a call without one teaches nothing."""
        if completion.status is types.Status.FAILED:
            return
        before, thought = self.known, completion.usage.reasoning_tokens or 0
        thinks: dict[str, Any] = {
            "reasons": _reasons(before, request, completion),
            "reasoning_tokens": max(thought, before.reasoning_tokens or 0) or before.reasoning_tokens,
        }
        first_s = completion.latency_s if before.first_reply_s is None else before.first_reply_s
        self.known = replace(before, first_reply_s=first_s, **thinks)
        if (before.reasons, before.reasoning_tokens) != (*thinks.values(),):
            self.attempt(None if self.trial is None else replace(self.trial, **thinks))

    def save(self) -> None:
        """Keep what is known, with what another process has kept meanwhile; what cannot be written is learnt again."""
        bills = getattr(self.model, "known", self.known)
        self.known = known = replace(self.known, **{name: getattr(bills, name) for name in BILLS})
        if self.home is None or known == NOTHING_KNOWN:
            return
        kept = capabilities.load(self.home, self.name, self.request_digest) or NOTHING_KNOWN
        most: dict[str, Any] = {
            name: max(filter(None, (getattr(known, name), getattr(kept, name))), default=None)
            for name in ("reasoning_tokens", *BILLS)
        }
        together = replace(
            known,
            refused=known.refused | kept.refused,
            refused_modes=known.refused_modes | kept.refused_modes,
            # True for good, then False, then not known.
            reasons=known.reasons or kept.reasons or known.reasons,
            **most,
        )
        if together == kept:
            return
        try:
            capabilities.save(self.home, self.name, self.request_digest, together)
        except OSError as error:
            _logger.warning("model %s: what was learnt cannot be kept (%s)", self.name, error.strerror)


def _reasons(known: Capabilities, request: types.ChatRequest, completion: types.Completion) -> bool | None:
    """Return whether the model thinks before it answers, as far as its replies tell.

    One reply that thought says yes for good. A whole answer within what an answer may take says no for now, and an empty
    one that the limit cut says yes: something else took its tokens.
    """
    if known.reasons or completion.reasoning_text or completion.usage.reasoning_tokens:
        return True
    if completion.status is types.Status.TRUNCATED and not completion.text.strip():
        return True
    whole = completion.status is types.Status.OK and not completion.empty
    took, may = completion.usage.output_tokens, request.sampling.max_tokens
    return False if whole and took is not None and may is not None and took <= may else known.reasons
