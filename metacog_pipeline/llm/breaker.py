"""What the bills of one model show: how far they pass what a request can be billed, and when that ends the asking.

The budget holds because a request has a most it can be billed, and is charged no more. Where somebody on the way adds to
prompts (a proxy's system message, a search), every later call sets aside as much more as the largest such bill took. Where
a bill shows that there is no such most, nothing further is sent to the model: calls on their way are finished. What was
seen is kept with what is known of the model, until its row changes.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import datetime
from typing import Any

from metacog_pipeline.llm import costs
from metacog_pipeline.llm.capabilities import BILLS, NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.halt import Halt
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, ErrorKind, Usage, failed

MOST_HIDDEN_TOKENS = 100_000  # beside a prompt; the longest system messages of proxies have a third
OVERBILLED = "overbilled"

_logger = logging.getLogger(__name__)


class Breaker:
    """Watches the bills of one model; ``halt`` gives up its calls that are not sent yet."""

    def __init__(self, spec: ModelSpec, halt: Halt) -> None:
        self._spec, self._halt = spec, halt
        self._seen = NOTHING_KNOWN

    def raised(self, known: Capabilities) -> Capabilities:
        """Return ``known`` with what the bills so far have shown."""
        if self._seen is NOTHING_KNOWN:
            return known
        most: dict[str, Any] = {
            name: max(getattr(self._seen, name) or 0, getattr(known, name) or 0) or None for name in BILLS
        }
        return replace(known, **most)

    def note(self, request: ChatRequest, known: Capabilities, usage: Usage) -> None:
        """Look at the bill of one answer; ``known`` is what its request was bounded by."""
        sent, got = usage.input_tokens or 0, usage.output_tokens or 0
        most_in = costs.input_token_bound(self._spec, request)
        most_out = costs.output_token_bound(self._spec, request, known)
        if self._spec.free or (sent <= most_in and got <= most_out):
            return
        before, name = self.raised(known), self._spec.name
        hidden = sent - costs.estimate_input_tokens(request)
        too_much = got if costs.beyond(got, most_out) else sent if hidden > MOST_HIDDEN_TOKENS else None
        if too_much is not None:
            self._seen = replace(before, overbilled=too_much)
            _logger.warning("model %s %s", name, bill_problem(self._spec, self._seen))
            self._halt.throw()
        elif sent > most_in and hidden > (before.hidden_tokens or 0):
            self._seen = replace(before, hidden_tokens=hidden)
            if costs.beyond(sent, most_in) and not before.hidden_tokens:
                _logger.warning(
                    "model %s billed %s input tokens for a prompt of at most %s: something on the way adds to prompts (a "
                    "proxy's system message, a search); as much is set aside for each further call; ask the provider "
                    "directly if this is not meant",
                    *(name, f"{sent:,}", f"{most_in:,}"),
                )

    def refusal(self, known: Capabilities, now: datetime) -> Completion | None:
        """Return what a call to a stopped model ends with, without being sent; ``None`` while it is not stopped."""
        why = bill_problem(self._spec, self.raised(known))
        if why is None:
            return None
        message = f"model {self._spec.name} {why}"
        return failed(ErrorKind.FATAL, OVERBILLED, message, cost_usd=0.0, attempts=0, started_at=now)


def bill_problem(spec: ModelSpec, known: Capabilities) -> str | None:
    """Return why ``spec`` is not asked again, and what to do, where a bill showed that a request has no most."""
    if spec.free or known.overbilled is None:
        return None
    return (
        f"billed {known.overbilled:,} tokens once, more than the request allowed, and is not asked again, because no "
        "budget holds then: raise thinking_tokens or max_tokens of its row, lower effort, or ask the provider directly"
    )
