"""What a model at its address was found to accept and to do: learnt once, kept in the study's home."""

from __future__ import annotations

import dataclasses
import json
import logging
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from metacog_pipeline.files import write_text
from metacog_pipeline.home import Home
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatModel, ChatRequest, Completion, Sampling, Status

#: What may be thought where nothing is known yet: a limit costs nothing by itself. Less than 16,384 with the answer, the
#: most that many models without reasoning take, so that they are not refused for it.
AMPLE_THINKING_TOKENS = 15_360
# where a provider takes no such limit
MODEST_THINKING_TOKENS = 4_096
# the next question may need more thinking than the hardest so far
TIMES_THE_MOST_SEEN = 4
#: Options that are part of a request, and so of an answer's identity; the others concern delivery.
SAMPLING = frozenset({"temperature", "seed", "top_logprobs"})
# what only bills teach
BILLS = ("overbilled", "hidden_tokens")
Limit = Literal["max_tokens", "max_completion_tokens"]
Count = Annotated[int, Field(ge=0)]

_logger = logging.getLogger(__name__)


# Kept for each model, shared by all benchmarks, judges and roles of a study, and forgotten when the model's
# row of the study changes what is asked.
@dataclass(frozen=True, slots=True)
class Capabilities:
    """What is known of one model at one address; ``None`` or empty: not known yet."""

    # the name it takes a limit of tokens by
    limit_field: Limit | None = None
    # options it does not take: temperature, stream, thinking_room, …
    refused: frozenset[str] = frozenset()
    # answer modes it does not take
    refused_modes: frozenset[str] = frozenset()
    # whether it thinks before it answers
    reasons: bool | None = None
    # the most thought before one answer
    reasoning_tokens: Count | None = None
    # tokens of a bill that shows no limit: it is not asked again
    overbilled: Count | None = None
    # the most input billed on top of a prompt: reserved for each call
    hidden_tokens: Count | None = None

    def thinking_room(self, spec: ModelSpec) -> int:
        """Return how many tokens ``spec`` may think before it answers, on top of those of the answer itself."""
        if spec.thinking_tokens is not None:
            return spec.thinking_tokens
        if self.reasons is False or "thinking_room" in self.refused:
            return 0
        if "ample_room" in self.refused:
            return MODEST_THINKING_TOKENS
        return max(AMPLE_THINKING_TOKENS, TIMES_THE_MOST_SEEN * (self.reasoning_tokens or 0))

    def token_limit(self, spec: ModelSpec, request: ChatRequest) -> int | None:
        """Return the limit on generated tokens, answer and thinking, that a call is sent with; ``None``: without one."""
        # Every wire format sends it and the budget bounds a call by it, so the two cannot differ.
        limit = request.sampling.max_tokens
        return None if limit is None else limit + self.thinking_room(spec)

    def accepted(self, sampling: Sampling) -> Sampling:
        """Return ``sampling`` without what the model refuses; the limit on tokens is `token_limit`'s."""
        left_out: dict[str, Any] = dict.fromkeys(SAMPLING & self.refused)
        return replace(sampling, **left_out) if left_out else sampling

    def streams(self, spec: ModelSpec) -> bool:
        """Return whether a reply to ``spec`` is asked for as a stream."""
        return spec.stream is not False and spec.lane == "online" and "stream" not in self.refused

    def together(self, kept: Capabilities) -> Capabilities:
        """Return what is known with what another process has ``kept``."""
        return replace(
            self.raised(kept, "reasoning_tokens", *BILLS),
            refused=self.refused | kept.refused,
            refused_modes=self.refused_modes | kept.refused_modes,
            # True for good, then False, then not known
            reasons=self.reasons or kept.reasons or self.reasons,
        )

    def raised(self, seen: Capabilities, *counts: str) -> Capabilities:
        """Return what is known with the larger ``counts`` of ``seen``."""
        found = ((name, getattr(self, name), getattr(seen, name)) for name in counts)
        larger: dict[str, Any] = {name: new for name, own, new in found if (new or 0) > (own or 0)}
        return replace(self, **larger) if larger else self

    def shows_reasoning(self, spec: ModelSpec) -> bool:
        """Return whether to ask for a view of the thinking: only where there is some, for others may refuse the option."""
        thinks = self.reasons or spec.effort not in (None, "none") or bool(spec.thinking_tokens)
        return thinks and "reasoning_summary" not in self.refused


NOTHING_KNOWN = Capabilities()


def load(home: Home, model: str, request_digest: str) -> Capabilities | None:
    """Return what is known of ``model``; None where nothing can be read, or where it would be asked otherwise now."""
    try:
        kept = json.loads((home.capabilities / f"{model}.json").read_text("utf-8"))
        if kept["asked_as"] != request_digest:
            return None
        return TypeAdapter(Capabilities).validate_json(json.dumps(kept["capabilities"]), strict=True)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def save(home: Home, model: str, request_digest: str, known: Capabilities) -> None:
    """Keep what is ``known`` of ``model``."""
    fields = dataclasses.asdict(known)
    fields |= {name: sorted(fields[name]) for name in ("refused", "refused_modes")}
    home.capabilities.mkdir(parents=True, exist_ok=True)
    path = home.capabilities / f"{model}.json"
    write_text(path, json.dumps({"asked_as": request_digest, "capabilities": fields}, indent=1) + "\n")


@dataclass(slots=True)
class Learnt:
    """What the replies of one model have taught. What only concerns delivery is given to the model, for its next calls."""

    model: ChatModel | None = None
    home: Home | None = None  # None keeps nothing
    name: str = ""
    request_digest: str = ""
    known: Capabilities = NOTHING_KNOWN
    # what calls are worded by while it is tried
    trial: Capabilities | None = None

    @classmethod
    def of(cls, model: ChatModel, home: Home, name: str, request_digest: str) -> Learnt:
        """Return what is kept of ``model``, which words its calls by it from now on."""
        learnt = cls(model, home, name, request_digest)
        learnt.take(load(home, name, request_digest) or NOTHING_KNOWN)
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

    def observe(self, request: ChatRequest, completion: Completion) -> None:
        """Learn from a reply; a call without one teaches nothing."""
        if completion.status is Status.FAILED:
            return
        before, thought = self.known, completion.usage.reasoning_tokens or 0
        thinks: dict[str, Any] = {
            "reasons": _reasons(before, request, completion),
            "reasoning_tokens": max(thought, before.reasoning_tokens or 0) or before.reasoning_tokens,
        }
        self.known = replace(before, **thinks)
        if (before.reasons, before.reasoning_tokens) != (*thinks.values(),):
            self.attempt(None if self.trial is None else replace(self.trial, **thinks))

    def save(self) -> None:
        """Keep what is known; what cannot be written is learnt again."""
        bills = getattr(self.model, "known", self.known)
        self.known = replace(self.known, **{name: getattr(bills, name) for name in BILLS})
        if self.home is None or self.known == NOTHING_KNOWN:
            return
        kept = load(self.home, self.name, self.request_digest) or NOTHING_KNOWN
        together = self.known.together(kept)
        try:
            if together != kept:
                save(self.home, self.name, self.request_digest, together)
        except OSError as error:
            _logger.warning("model %s: what was learnt cannot be kept (%s)", self.name, error.strerror)


def _reasons(known: Capabilities, request: ChatRequest, completion: Completion) -> bool | None:
    """Return whether the model thinks before it answers: one reply that thought says yes for good."""
    if known.reasons or completion.reasoning_text or completion.usage.reasoning_tokens:
        return True
    if completion.status is Status.TRUNCATED and not completion.text.strip():
        return True  # something else took its tokens
    whole = completion.status is Status.OK and not completion.empty
    took, may = completion.usage.output_tokens, request.sampling.max_tokens
    return False if whole and took is not None and may is not None and took <= may else known.reasons
