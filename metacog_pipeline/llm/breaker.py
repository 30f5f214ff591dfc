"""Stopping a model whose provider bills more than was asked for.

The budget holds because a request has a most it can be billed. A provider that bills more output than the request
allowed has shown that there is no such most, so nothing further is sent to that model: the answer is paid for and
kept, calls on their way are finished, and every other call is given up before it is sent.
"""

from __future__ import annotations

import logging
from datetime import datetime

from metacog_pipeline.llm import costs
from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.halt import Halt
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, ErrorKind, Usage, failed

# Some servers count the tokens of their template that end a turn or open a channel: a handful for each part of a reply.
TOLERATED_TOKENS = 32
TOLERATED_SHARE = 0.02  # of the limit: what a server generates before it looks at its count again
OVERBILLED = "overbilled"

_logger = logging.getLogger(__name__)


class Breaker:
    """Watches the bills of one model; ``halt`` gives up its calls that are not sent yet.

    ``overbilled`` is the first bill that was too high, in output tokens. It is kept with what is known of the model, so
    that other processes and later sessions do not ask either; a change to the model's row forgets it.
    """

    def __init__(self, spec: ModelSpec, halt: Halt) -> None:
        self.halt = halt
        self.overbilled: int | None = None
        self._spec = spec

    def note(self, request: ChatRequest, known: Capabilities, usage: Usage) -> None:
        """Look at the bill of one answer; the first that is too high stops the model."""
        billed = usage.output_tokens
        if billed is None or self.overbilled is not None or self._spec.free:
            return
        most = costs.output_token_bound(self._spec, request, known)
        if billed <= most + max(TOLERATED_TOKENS, most * TOLERATED_SHARE):
            return
        self.overbilled = billed
        _logger.warning(
            "model %s billed %s output tokens where the request allowed %s: it is not asked again",
            *(self._spec.name, f"{billed:,}", f"{most:,}"),
        )
        self.halt.throw()

    def refusal(self, known: Capabilities, now: datetime) -> Completion | None:
        """Return what a call to a stopped model ends with, without being sent; ``None`` while it is not stopped."""
        billed = self.overbilled or (None if self._spec.free else known.overbilled)
        if billed is None:
            return None
        room = self._spec.max_tokens + known.thinking_room(self._spec)
        message = (
            f"model {self._spec.name} billed {billed:,} output tokens, more than a request allowed (max_tokens and "
            f"room to think, {room:,} in its row): nothing more is sent to it, because no budget holds then; raise "
            "thinking_tokens or max_tokens in its row, or lower effort, and run again"
        )
        return failed(ErrorKind.FATAL, OVERBILLED, message, cost_usd=0.0, attempts=0, started_at=now)
