"""What the bills of one model show: how far they pass what a request can be billed, and when that ends the asking.

The budget holds because a request has a most it can be billed. A bill above it is paid for and kept, and every later call
of the model sets aside as much more as the largest such bill took: somebody on the way adds to the prompts, or a server
counts a little beyond the limit. Where a bill passes it so far that there seems to be no such most, nothing further is
sent to the model: calls on their way are finished, and every other call is given up before it is sent.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import datetime

from metacog_pipeline.llm import costs
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.halt import Halt
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, ErrorKind, Usage, failed

# Some servers count the tokens of their template that end a turn or open a channel: a handful for each part of a reply.
TOLERATED_TOKENS = 32
TOLERATED_SHARE = 0.02  # of the limit: what a server generates before it looks at its count again
MOST_HIDDEN_TOKENS = 100_000  # beside a prompt; the longest system messages of proxies have a third
OVERBILLED = "overbilled"

_logger = logging.getLogger(__name__)


class Breaker:
    """Watches the bills of one model; ``halt`` gives up its calls that are not sent yet.

    What was seen is kept with what is known of the model, so that other processes and later sessions set aside enough, or
    do not ask either; a change to the model's row forgets it.
    """

    def __init__(self, spec: ModelSpec, halt: Halt) -> None:
        self.halt = halt
        self._spec = spec
        self._seen = NOTHING_KNOWN
        self._said = False

    def raised(self, known: Capabilities) -> Capabilities:
        """Return ``known`` with what the bills so far have shown."""
        seen = self._seen
        if seen is NOTHING_KNOWN:
            return known
        return replace(
            known,
            overbilled=seen.overbilled or known.overbilled,
            hidden_tokens=_most(seen.hidden_tokens, known.hidden_tokens),
            over_limit=_most(seen.over_limit, known.over_limit),
        )

    def note(self, request: ChatRequest, known: Capabilities, usage: Usage) -> bool:
        """Look at the bill of one answer; return whether what was ``known`` had set about enough aside for it."""
        if self._spec.free:
            return True
        sent, got = usage.input_tokens or 0, usage.output_tokens or 0
        most_in = costs.input_token_bound(self._spec, request)
        most_out = costs.output_token_bound(self._spec, request, known)
        if sent > most_in or got > most_out:
            self._beyond(request, known, (sent, most_in), (got, most_out))
        most_in += known.hidden_tokens or 0
        most_out += known.over_limit or 0
        return sent <= most_in + _tolerated(most_in) and got <= most_out + _tolerated(most_out)

    def refusal(self, known: Capabilities, now: datetime) -> Completion | None:
        """Return what a call to a stopped model ends with, without being sent; ``None`` while it is not stopped."""
        why = bill_problem(self._spec, self.raised(known))
        if why is None:
            return None
        message = f"model {self._spec.name} {why}"
        return failed(ErrorKind.FATAL, OVERBILLED, message, cost_usd=0.0, attempts=0, started_at=now)

    def _beyond(
        self, request: ChatRequest, known: Capabilities, sent: tuple[int, int], got: tuple[int, int]
    ) -> None:
        """Remember a bill above a bound (tokens billed, bound: of the prompt, of the answer); stop where there is none."""
        before = self.raised(known)
        now = replace(
            before,
            hidden_tokens=_most(self._hidden(request, *sent), before.hidden_tokens),
            over_limit=_most(max(0, got[0] - got[1]), before.over_limit),
            overbilled=before.overbilled or self._overbilled(*got),
        )
        if now != before:
            self._seen = now
            if bill_problem(self._spec, now) is not None and bill_problem(self._spec, before) is None:
                self.halt.throw()

    def _hidden(self, request: ChatRequest, billed: int, most: int) -> int | None:
        """Return the input tokens that were billed beside the prompt's likely ones, where it cannot be so many."""
        if billed <= most:
            return None
        if billed > most + _tolerated(most) and not self._said:
            self._said = True
            _logger.warning(
                "model %s billed %s input tokens for a prompt of at most %s: something on the way adds to prompts (a "
                "proxy's system message, a search); as much is set aside for each further call; ask the provider "
                "directly if this is not meant",
                *(self._spec.name, f"{billed:,}", f"{most:,}"),
            )
        return billed - costs.estimate_input_tokens(request)

    def _overbilled(self, billed: int, most: int) -> int | None:
        """Return the output tokens of a bill that shows no limit."""
        if billed <= most + _tolerated(most):
            return None
        _logger.warning(
            "model %s billed %s output tokens where the request allowed %s: it is not asked again",
            *(self._spec.name, f"{billed:,}", f"{most:,}"),
        )
        return billed


def bill_problem(spec: ModelSpec, known: Capabilities) -> str | None:
    """Return why ``spec`` is not asked again, and what to do, where a bill showed that a request has no most."""
    if spec.free:
        return None
    if known.overbilled is not None:
        return (
            f"billed {known.overbilled:,} output tokens once, more than the request allowed, and is not asked again, "
            "because no budget holds then: raise thinking_tokens or max_tokens of its row, or lower effort"
        )
    if (known.hidden_tokens or 0) > MOST_HIDDEN_TOKENS:
        return (
            f"billed {known.hidden_tokens:,} input tokens beside the prompt once, and is not asked again, because no "
            "budget holds then: ask the provider directly, or take out of base_url or extra_body of its row what adds them"
        )
    return None


def _tolerated(most: int) -> float:
    return max(TOLERATED_TOKENS, most * TOLERATED_SHARE)


def _most(one: int | None, other: int | None) -> int | None:
    return max(one or 0, other or 0) or None
